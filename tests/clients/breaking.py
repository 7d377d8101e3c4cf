"""A network that breaks connections off: a TCP relay between a bot and its server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple


class Break(NamedTuple):
    """Where a connection breaks off: after so many bytes of one side, in the middle of a message or not."""

    of_server: bool
    bytes: int


class Relay:
    """Passes connections on, and breaks the first ones off: one for each of `breaks`, in their order."""

    def __init__(self, target: str, breaks: Sequence[Break]) -> None:
        self.address = ""
        """Where it listens, host:port."""
        self.made = 0
        """How many connections it has broken off."""
        self._target = target
        self._breaks = iter(breaks)

    @classmethod
    @asynccontextmanager
    async def listening(cls, target: str, breaks: Sequence[Break]) -> AsyncIterator[Relay]:
        """Listen on a free port for what goes to `target` (host:port)."""
        relay = cls(target, breaks)
        server = await asyncio.start_server(relay._pass_on, "127.0.0.1", 0)
        async with server:
            host, port = server.sockets[0].getsockname()
            relay.address = f"{host}:{port}"
            yield relay

    async def _pass_on(self, bot: asyncio.StreamReader, to_bot: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(*self._target.split(":"))
        breaking = next(self._breaks, None)
        of_bot = of_server = None
        if breaking is not None:
            of_bot, of_server = (None, breaking.bytes) if breaking.of_server else (breaking.bytes, None)
        ways = {
            asyncio.create_task(self._copy(bot, to_server, of_bot)),
            asyncio.create_task(self._copy(server, to_bot, of_server)),
        }
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for writer in (to_bot, to_server):
            writer.transport.abort()

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None
    ) -> None:
        """Pass one side's bytes on, until it ends, or until there were so many."""
        passed = 0
        while most is None or passed < most:
            data = await reader.read(65536 if most is None else most - passed)
            if not data:
                return
            writer.write(data)
            await writer.drain()
            passed += len(data)
        self.made += 1
