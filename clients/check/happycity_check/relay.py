"""A TCP relay between bot and scripted server, so that connections can be cut as a network does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from happycity import ConfigError
from happycity_runtime.event_loop import running

_CHUNK = 1 << 18


class Relay:
    """Passes connections on to `target` until they are cut."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.address = ""
        """Where it listens, host:port."""
        self._target = target
        # The bot's side of each connection, and the server's.
        self._connections: dict[asyncio.StreamWriter, asyncio.StreamWriter | None] = {}
        self._budget: int | None = None  # the bytes that the server may still send; None: any number
        self._spent = asyncio.Event()
        self._listener: asyncio.Server | None = None

    def carries(self, peer: str) -> bool:
        """Return whether a connection that the server knows as `peer` still stands."""
        ends = [end for end in self._connections.values() if end is not None]
        return any(peer.endswith(f":{end.get_extra_info('sockname')[1]}") for end in ends)

    def cut(self) -> None:
        """Break all connections off, without a word to either side."""
        while self._connections:
            for end in self._connections.popitem():
                if end is not None:
                    end.transport.abort()

    async def cut_after(self, count: int) -> None:
        """Close all connections when the server has sent this many bytes, 0: when one is made."""
        self._spent.clear()
        self._budget = count
        try:
            await self._spent.wait()
        finally:
            self._budget = None

    def close(self) -> None:
        """Break all connections off, and accept no more."""
        if self._listener is not None:
            self._listener.close()
        self.cut()

    async def _accept(self, bot: asyncio.StreamReader, to_bot: asyncio.StreamWriter) -> None:
        """Pass one connection on until either side ends it."""
        self._connections[to_bot] = None
        self._spend(b"")
        with suppress(OSError):
            server, to_server = await asyncio.open_connection(*self._target)
            if to_bot not in self._connections:  # it was cut meanwhile
                to_server.transport.abort()
                return
            self._connections[to_bot] = to_server
            ways = (self._copy(bot, to_server), self._copy(server, to_bot, counted=True))
            async with running(*ways) as tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            to_server.close()
        to_bot.close()
        self._connections.pop(to_bot, None)

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool = False
    ) -> None:
        while data := await reader.read(_CHUNK):
            writer.write(self._spend(data) if counted else data)
            await writer.drain()

    def _spend(self, data: bytes) -> bytes:
        """Return what the budget allows of the server's bytes; when it is spent, close all connections."""
        if self._budget is None:
            return data
        allowed = data[: self._budget]
        self._budget -= len(allowed)
        if not self._budget:
            self._budget = None
            self._spent.set()
            asyncio.get_running_loop().call_soon(self._close_all)
        return allowed

    def _close_all(self) -> None:
        while self._connections:
            self._connections.popitem()[0].close()

    @classmethod
    @asynccontextmanager
    async def listening(cls, listen: str, target: tuple[str, int]) -> AsyncIterator[Relay]:
        """Relay connections from `listen` (host:port, or unix:path) to `target`.

        ConfigError if the address can't be listened on.
        """
        relay = cls(target)
        host, _, port = listen.rpartition(":")
        is_socket = listen.startswith("unix:")
        if is_socket:
            starting = asyncio.start_unix_server(relay._accept, port)
        elif not host or not port.isdecimal() or int(port) >= 1 << 16:
            raise ConfigError(f"--listen: {listen!r} is not host:port, such as 127.0.0.1:50052")
        else:
            starting = asyncio.start_server(relay._accept, host.strip("[]"), int(port))
        try:
            relay._listener = await starting
        except OSError as error:
            raise ConfigError(f"--listen: {listen} can't be listened on: {error.strerror or error}") from None
        try:
            relay.address = listen if is_socket else f"{host}:{relay._listener.sockets[0].getsockname()[1]}"
            yield relay
        finally:
            relay.close()
