"""Starting and stopping a server with pages, and connections that hold on to it."""

from __future__ import annotations

import asyncio
import socket
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import websockets
from tests.server.harness import serving
from tests.web.sockets import close_code, closed_with

from happycity.runtime import http, program
from happycity.runtime.http import BoundedProtocol
from happycity_server.frontends import FrontEndError
from happycity_server.process.listening import ListenError
from happycity_web import serve


async def test_open_pages_do_not_hold_the_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "STOP_SECONDS", 60)
    loop = asyncio.get_running_loop()
    async with serving(folder, web="127.0.0.1:0") as (server, _):
        assert server.web is not None
        pages = [await websockets.connect(server.web.replace("http", "ws")) for _ in range(20)]
        for page in pages:
            await page.recv()
        stopping = loop.time()
    assert loop.time() - stopping < serve.STOP_SECONDS
    for page in pages:
        assert await close_code(page) == 1012


async def test_taken_address_is_named(folder: Path) -> None:
    """If another program has the port, the server doesn't start and says so."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(FrontEndError, match=f"^web: {address} can't be listened on: .*; choose another"):
            async with serving(folder, web=address):
                pass


async def test_missing_packages_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the server says what is missing and how to get it."""

    def installed(name: str) -> str:
        if name == "starlette":
            raise metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(program, "version", installed)
    with pytest.raises(FrontEndError, match=r"starlette missing.*pip install 'happycity\[web\]'"):
        async with serving(folder, web="127.0.0.1:0"):
            pass


async def test_pages_for_other_machines_need_tokens_and_tls(folder: Path) -> None:
    with pytest.raises(ListenError, match=r"^web: 0.0.0.0:0 can be reached from other machines"):
        async with serving(folder, web="0.0.0.0:0"):
            pass


async def test_own_name_is_known(folder: Path) -> None:
    """The name that a proxy passes on is served if the server is given it."""
    async with serving(folder, web="127.0.0.1:0", web_name="Arena.example.org") as (server, _):
        assert server.web is not None
        async with httpx.AsyncClient(timeout=60, base_url=server.web) as client:
            assert (await client.get("/", headers={"host": "arena.example.org"})).status_code == 200


_SLOW = {
    "nothing": b"",
    "half a request line": b"GET / HT",
    "headers without an end": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n",
    "a form without its body": b"POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ntok",
}


async def _opened(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = urlsplit(url)
    return await asyncio.open_connection(address.hostname, address.port)


@pytest.mark.parametrize("sent", _SLOW.values(), ids=_SLOW.keys())
async def test_a_request_that_never_ends_is_dropped(
    sent: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection ends when its request takes too long, also if a byte comes now and then."""
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.5)
    async with serving(folder, web="127.0.0.1:0") as (server, _):
        assert server.web is not None
        reader, writer = await _opened(server.web)
        writer.write(sent)
        async with asyncio.timeout(30):
            answer = await reader.read()
        assert answer == b"" or b" 408 " in answer.partition(b"\r\n")[0]
        writer.close()


async def test_a_request_in_time_is_answered_and_the_connection_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser may pause between its requests for as long as it wants: nothing ends the connection then."""
    made: list[BoundedProtocol] = []
    connect = BoundedProtocol.connection_made

    def noted(protocol: BoundedProtocol, transport: asyncio.Transport) -> None:
        made.append(protocol)
        connect(protocol, transport)

    monkeypatch.setattr(BoundedProtocol, "connection_made", noted)
    async with serving(folder, web="127.0.0.1:0") as (server, _), asyncio.timeout(60):
        assert server.web is not None
        reader, writer = await _opened(server.web)
        for _ in range(2):
            writer.write(b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            assert [protocol._deadline for protocol in made] == [None]
        writer.close()


async def test_more_connections_than_there_is_room_for_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection too many gets status 503 and is closed, and those before it stay."""
    monkeypatch.setattr("happycity_web.serve.SPARE_CONNECTIONS", 1)
    async with serving(folder, web="127.0.0.1:0", web_viewers=2) as (server, _):
        assert server.web is not None
        held = [await websockets.connect(server.web.replace("http", "ws")) for _ in range(2)]
        waiting = await _opened(server.web)
        waiting[1].write(b"GET /")
        reader, writer = await _opened(server.web)
        async with asyncio.timeout(30):
            assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        writer.close()
        for socket in held:
            assert await socket.recv()
            await socket.close()
        waiting[1].close()


async def test_more_pages_than_may_be_open_are_refused(folder: Path) -> None:
    """A socket beyond the maximum is closed with the status of too many; one that leaves makes room."""
    async with serving(folder, web="127.0.0.1:0", web_viewers=1) as (server, _):
        assert server.web is not None
        async with websockets.connect(server.web.replace("http", "ws")) as held:
            assert await held.recv()
            assert await closed_with(server.web) == 4429
        async with asyncio.timeout(30):
            while await closed_with(server.web):
                continue
