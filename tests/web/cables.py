"""A connection that can be cut: a TCP relay between a browser and a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Cable:
    def __init__(self, target: str) -> None:
        self.url = ""
        """Where it listens."""
        self._target = target
        self._ends: set[asyncio.StreamWriter] = set()

    @classmethod
    @asynccontextmanager
    async def to(cls, url: str) -> AsyncIterator[Cable]:
        """Listen on a free port for what goes to a server's pages."""
        cable = cls(url.removeprefix("http://"))
        server = await asyncio.start_server(cable._pass_on, "127.0.0.1", 0)
        async with server:
            cable.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield cable
            cable.cut()

    def cut(self) -> None:
        """Break all connections off, without a word to either side's program."""
        for end in self._ends:
            end.transport.abort()

    async def _pass_on(self, browser: asyncio.StreamReader, to_browser: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(*self._target.split(":"))
        ends = {to_browser, to_server}
        self._ends |= ends
        try:
            await asyncio.wait(
                {
                    asyncio.create_task(_copy(browser, to_server)),
                    asyncio.create_task(_copy(server, to_browser)),
                },
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            self._ends -= ends
            for end in ends:
                end.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
