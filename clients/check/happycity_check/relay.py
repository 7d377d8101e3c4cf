"""A TCP relay between bot and scripted server, so that connections can be cut as a network does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from happycity import HappyCityError


class ListenError(HappyCityError):
    """The address can't be listened on."""


class _End(asyncio.Protocol):
    """One side of a relayed connection: what arrives here leaves there."""

    transport: asyncio.Transport

    def __init__(self, other: _End | None = None) -> None:
        self.other = other

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.write(data)

    def connection_lost(self, _error: Exception | None) -> None:
        if self.other is not None:
            self.other.transport.close()

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.transport.resume_reading()


class _Accepted(_End):
    """The bot's side. What it says before there is a way on is kept."""

    def __init__(self, relay: Relay) -> None:
        super().__init__()
        self._relay = relay
        self._kept: list[bytes] = []
        self._dialling: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._relay.ends.add(self)
        self._dialling = asyncio.create_task(self._dial())

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            self._kept.append(data)
        else:
            super().data_received(data)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._relay.ends.discard(self)

    async def _dial(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, other = await loop.create_connection(lambda: _End(self), *self._relay.target)
        except OSError:
            self.transport.abort()
            return
        if self.transport.is_closing():
            other.transport.abort()
            return
        other.transport.writelines(self._kept)
        self.other = other


class Relay:
    """Passes connections on to `target` until they are cut."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.ends: set[_Accepted] = set()
        self.address = ""
        """Where it listens, host:port."""

    def cut(self) -> None:
        """Break all connections off, without a word to either side."""
        for end in self.ends:
            end.transport.abort()
            if end.other is not None:
                end.other.transport.abort()

    @classmethod
    @asynccontextmanager
    async def listening(cls, listen: str, target: tuple[str, int]) -> AsyncIterator[Relay]:
        """Relay connections from `listen` (host:port) to `target`.

        Raises:
            ListenError: the address can't be listened on.
        """
        relay = cls(target)
        host, _, port = listen.rpartition(":")
        if not host or not port.isdecimal() or int(port) >= 1 << 16:
            raise ListenError(f"--listen: {listen!r} is not host:port, such as 127.0.0.1:50052")
        try:
            server = await asyncio.get_running_loop().create_server(
                lambda: _Accepted(relay), host.strip("[]"), int(port)
            )
        except OSError as error:
            raise ListenError(f"--listen: {listen} can't be listened on: {error.strerror or error}") from None
        try:
            relay.address = f"{host}:{server.sockets[0].getsockname()[1]}"
            yield relay
        finally:
            server.close()
            relay.cut()
            await server.wait_closed()
