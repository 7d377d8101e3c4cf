"""A connection that can be cut, or be dead without anybody noticing: a TCP relay before a server."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress


class Cable:
    def __init__(self, targets: Iterable[str]) -> None:
        self.address = ""
        """Where it listens."""
        self._targets = deque(target.rsplit(":", 1) for target in targets)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ends: list[asyncio.StreamWriter] = []
        self._alive = asyncio.Event()
        self._alive.set()

    @classmethod
    @asynccontextmanager
    async def to(cls, *addresses: str) -> AsyncIterator[Cable]:
        """Relay connections to some servers in turn, those left out that don't listen."""
        cable = cls(addresses)
        server = await asyncio.start_server(cable._plug, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        cable.address = f"{host}:{port}"
        try:
            yield cable
        finally:
            cable.cut()
            server.close()

    def cut(self) -> None:
        """Break all connections off, without a word to the programs on either side."""
        for end in self._ends:
            end.transport.abort()
        for task in self._tasks:
            task.cancel()
        self._ends.clear()
        self._tasks.clear()

    def die(self) -> None:
        """Carry nothing from now on, without ending the connections."""
        self._alive.clear()

    async def _plug(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await self._next_connection()
        self._ends += [writer, far_writer]
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            self._tasks.add(asyncio.create_task(self._carry(source, sink)))

    async def _next_connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for _ in range(len(self._targets) - 1):
            self._targets.rotate()
            with suppress(ConnectionError):
                return await asyncio.open_connection(*self._targets[0])
        self._targets.rotate()
        return await asyncio.open_connection(*self._targets[0])

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                await self._alive.wait()
                sink.write(data)
                await sink.drain()
        sink.close()
