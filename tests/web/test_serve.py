"""Starting and stopping a server with pages, and connections that hold on to it."""

import asyncio
import socket
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from structlog.testing import capture_logs
from tests.server.harness import pages
from tests.waiting import LIMIT
from tests.web.floods import upgrade
from tests.web.sockets import close_code, closed_with, socket_of
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.server import ServerState

from happycity import ConfigError
from happycity_runtime import http
from happycity_runtime.http import BoundedProtocol
from happycity_server.errors import ListenError
from happycity_web import serve


@pytest.mark.level(2)
async def test_open_pages_do_not_hold_the_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "STOP_SECONDS", 2 * LIMIT)
    async with asyncio.timeout(None) as stopping, pages(folder) as url:
        opened = [await socket_of(url) for _ in range(20)]
        for page in opened:
            await page.recv()
        stopping.reschedule(asyncio.get_running_loop().time() + LIMIT)
    for page in opened:
        assert await close_code(page) == 1012


async def test_taken_address_is_named(folder: Path) -> None:
    """If another program has the port, the server doesn't start and says so."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ListenError, match=f"^web: {address} can't be listened on: .*; choose another"):
            async with pages(folder, web=address):
                pass


async def test_missing_packages_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the server says what is missing and how to get it."""

    def installed(name: str) -> str:
        if name == "starlette":
            raise metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(metadata, "version", installed)
    with pytest.raises(ConfigError, match=r"starlette missing.*pip install '/.*\[web\]'"):
        async with pages(folder):
            pass


async def test_pages_for_other_machines_need_tokens_and_tls(folder: Path) -> None:
    with pytest.raises(ListenError, match=r"^web: 0.0.0.0:0 can be reached from other machines"):
        async with pages(folder, web="0.0.0.0:0"):
            pass


async def test_own_name_is_known(folder: Path) -> None:
    """The name that a proxy passes on is served if the server is given it."""
    async with pages(folder, web_name="Arena.example.org") as url, httpx.AsyncClient(timeout=LIMIT) as client:
        assert (await client.get(url, headers={"host": "arena.example.org"})).status_code == 200


async def _opened(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = urlsplit(url)
    return await asyncio.open_connection(address.hostname, address.port)


async def test_requests_that_never_end_are_dropped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection ends when its request takes too long, also if a byte comes now and then."""
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.5)
    async with pages(folder) as url:
        connections = []
        for sent in (
            b"",
            b"GET / HT",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n",
            b"POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ntok",
        ):
            connections.append(await _opened(url))
            connections[-1][1].write(sent)
        for reader, writer in connections:
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
    async with pages(folder) as url:
        reader, writer = await _opened(url)
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
    async with pages(folder, web_viewers=2) as url:
        held = [await socket_of(url) for _ in range(2)]
        waiting = await _opened(url)
        waiting[1].write(b"GET /")
        reader, writer = await _opened(url)
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        writer.close()
        for socket in held:
            assert await socket.recv()
            await socket.close()
        waiting[1].close()


async def test_more_pages_than_may_be_open_are_refused(folder: Path) -> None:
    """A socket beyond the maximum is closed with the status of too many; one that leaves makes room."""
    async with pages(folder, web_viewers=1) as url:
        async with socket_of(url) as held:
            assert await held.recv()
            assert await closed_with(url) == 4429
        while await closed_with(url):
            continue


@pytest.mark.parametrize("path", ["/play/1", "/tournaments/1"])
async def test_what_a_client_sends_after_the_end_is_ignored(
    folder: Path, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """A text that isn't one, over a socket that the server has closed, is no failure of the server."""
    text, close = b"\x81\x81\0\0\0\0\xff", b"\x88\x82\0\0\0\0\x03\xe8"
    async with pages(folder) as url:
        reader, writer = await _opened(url)
        writer.write(upgrade(path))
        await reader.readuntil(b"\x88\x02\x11")  # the code begins with 17: it is 4404 or 4500
        writer.write(text + close)
        await reader.read()
        writer.close()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_nothing_is_sent_over_a_socket_that_was_closed() -> None:
    """Who vanishes and answers no ping is closed by uvicorn; what the page sends then finds no client."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        """Answer nothing."""

    config = uvicorn.Config(app, log_config=None)
    page = serve.PageSocket(config, ServerState(), {})
    page.close_sent = True
    for message in ({"type": "websocket.send", "text": "1"}, {"type": "websocket.close", "code": 4403}):
        with pytest.raises(ClientDisconnected):
            await page.send(message)


@pytest.mark.parametrize("path", ["/bots/nobody", "/hosted"])
async def test_the_socket_of_a_page_that_is_not_there_is_closed_as_such(folder: Path, path: str) -> None:
    """It is no failure of the server, whose log a stranger could fill with tracebacks."""
    with capture_logs() as lines:
        async with pages(folder) as url:
            assert await closed_with(f"{url}{path}") == 4404
    assert not [line for line in lines if line["log_level"] == "error"]
