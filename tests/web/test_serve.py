"""Starting and stopping a server with pages."""

from __future__ import annotations

import asyncio
import socket
from importlib import metadata
from pathlib import Path

import httpx
import pytest
import websockets
from tests.server.harness import serving
from tests.web.sockets import close_code

from happycity.runtime import program
from happycity_server.frontends import FrontEndError
from happycity_server.process.listening import ListenError
from happycity_web import serve


async def test_open_pages_do_not_hold_the_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server doesn't wait for open pages when it stops, and tells them that it restarts."""
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


async def test_server_without_pages_has_none(folder: Path) -> None:
    """Pages are served only if they are asked for."""
    async with serving(folder) as (server, _):
        assert server.web is None


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
    """An address that other machines reach needs what gRPC needs there too."""
    with pytest.raises(ListenError, match=r"^web: 0.0.0.0:0 can be reached from other machines"):
        async with serving(folder, web="0.0.0.0:0"):
            pass


async def test_own_name_is_known(folder: Path) -> None:
    """The name that a proxy passes on is served if the server is given it."""
    async with serving(folder, web="127.0.0.1:0", web_name="Arena.example.org") as (server, _):
        assert server.web is not None
        async with httpx.AsyncClient(timeout=60, base_url=server.web) as client:
            assert (await client.get("/", headers={"host": "arena.example.org"})).status_code == 200
