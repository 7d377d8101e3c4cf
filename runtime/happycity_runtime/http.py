"""HTTP by uvicorn, in the event loop of a program, with the limits on connections that uvicorn lacks.

Of the extras `web` and `mcp`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import h11
import uvicorn
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

from happycity.errors import HappyCityError
from happycity_runtime.addresses import TrustedProxies, network_of
from happycity_runtime.event_loop import end_tasks, spawn
from happycity_runtime.fair_share import FairShare

REQUEST_SECONDS = 10.0
"""How long a request line with its headers, and then the body, may take to arrive."""
MAX_LINES = 100
"""The most lines that a request may have before its body, and the most chunks of a body."""
ACCEPT_SECONDS = 1.0
"""Time until the next connection is accepted where one can't be, as too many files are open."""
UNREAD_SECONDS = 20.0
"""How long a client may take to read what is sent, also over a connection that is being closed."""
_FULL_RESPONSE = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 5\r\n"
    b"connection: close\r\n\r\n"
    b"This server has as many connections as it takes; try again later.\n"
)
_TIMEOUT_RESPONSE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"The request took too long to arrive.\n"
)


_FAILURES = logging.getLogger("uvicorn.failures")
_FAILURES.setLevel(logging.ERROR)  # else clients that send what is no HTTP would fill the log


class _BoundedBuffer(ReceiveBuffer):
    """What arrives of a request, with a maximum of lines: h11 works long on each, and on all at once."""

    _lines = 0

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines before a body, or after it, once they are all there."""
        lines = super().maybe_extract_lines()
        if lines is not None:
            self._lines = 0
            self._count(len(lines))
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        """Return the line before a chunk."""
        line = super().maybe_extract_next_line()
        if line is not None:
            self._count(1)
        return line

    def _count(self, lines: int) -> None:
        self._lines += lines
        if self._lines > MAX_LINES:
            raise h11.RemoteProtocolError("too many lines")


class ReadInTime:
    """A part of uvicorn's protocols: ends the connection of a client that doesn't read what is sent."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _unread: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """Begin to wait until all that was sent is read, which the transport tells as it has no buffer."""
        super().pause_writing()  # type: ignore[misc]  # of the protocol
        self._unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait for nothing any more."""
        super().resume_writing()  # type: ignore[misc]
        if self._unread is not None:
            self._unread.cancel()


class _Place:
    """One of the connections that a server may have, and of whom it is."""

    def __init__(self, places: FairShare[_Place], end: Callable[[], object]) -> None:
        self.end = end
        """Ends the connection at once."""
        self._places: FairShare[_Place] | None = places

    def take(self, owner: Hashable) -> None:
        """Be of an owner from now on; where there are too many, end the connection that has to leave."""
        leaving = None if self._places is None else self._places.take(owner, self)
        if leaving is not None:
            with suppress(OSError):
                leaving.end()

    def leave(self) -> None:
        """Be of none any more, as the connection has ended."""
        if self._places is not None:
            self._places.leave(self)
            self._places = None


class BoundedProtocol(ReadInTime, H11Protocol):
    """HTTP/1.1 with a deadline for each request, and bounds on its lines and on connections.

    uvicorn's own time limit holds between requests only, and its limit of connections for requests that have
    arrived: by sending a byte now and then, a stranger could hold as many as the system has.
    """

    _deadline: asyncio.TimerHandle | None = None
    _is_upgraded = False

    def __init__(self, *args: Any, place: _Place, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger = _FAILURES
        self._place = place
        self._received = self.conn._receive_buffer = _BoundedBuffer()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(1)  # with 0, asyncio would pause where nothing waits
        self._place.end = transport.abort
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._end_deadline()
        self._place.leave()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; where a response has begun already, there can't be another one."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the deadline of a request of which a part is still missing stays where it is."""
        super().data_received(data)
        is_waiting = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_waiting and not self._is_upgraded and not self.transport.is_closing():
            self._set_deadline()
        else:
            self._end_deadline()

    def on_response_complete(self) -> None:
        """Wait for the next request; close the connection where it came before this answer."""
        if self._received:  # browsers send one request after the other
            self.transport.close()
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to a WebSocket, which notices a silent peer by its pings."""
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)
        socket: Any = self.transport.get_protocol()
        socket.on_lost = self._place.leave

    def _set_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._expire)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.IDLE:  # nothing of a response was sent
            self.transport.write(_TIMEOUT_RESPONSE)
        self.transport.close()


class _Server(uvicorn.Server):
    """A server that knows from whom a connection is before anything is done for it."""

    def __init__(self, config: uvicorn.Config, limits: HttpLimits) -> None:
        super().__init__(config)
        self._limits = limits
        self._places = FairShare[_Place](limits.connections)
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections on the sockets."""
        await super().startup([])
        for listener in sockets or []:
            listener.setblocking(False)  # noqa: FBT003 - it takes nothing else
            listener.listen(self.config.backlog)
            spawn(self._accept(listener), self._tasks)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and let the connections end."""
        await end_tasks(*self._tasks)
        await super().shutdown(sockets)

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, (address, *_) = await asyncio.get_running_loop().sock_accept(listener)
            except OSError:  # too many files are open
                await asyncio.sleep(ACCEPT_SECONDS)
            else:
                spawn(self._begin(connection, address), self._tasks)

    async def _begin(self, connection: socket.socket, address: str) -> None:
        """Give a connection a place, perhaps that of another one, and begin to serve it."""
        is_proxy = address in self._limits.proxies
        place = _Place(self._places, partial(self._refuse, connection))
        # A proxy's connection is of the client for whom it asks, which nobody knows yet.
        place.take(place if is_proxy else network_of(address))
        place.end = partial(connection.shutdown, socket.SHUT_RDWR)
        protocol = partial(
            BoundedProtocol,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state | {_Place.__name__: place},
            place=place,
        )
        loop, tls, admit = asyncio.get_running_loop(), self.config.ssl, self._limits.admit
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                if tls is not None and admit is not None and not is_proxy:
                    await admit(address)
                await loop.connect_accepted_socket(protocol, connection, ssl=tls)
        except BaseException as error:
            place.leave()
            connection.close()
            if not isinstance(error, OSError | HappyCityError):
                raise

    def _refuse(self, connection: socket.socket) -> None:
        """End a connection for which there is no place."""
        if self.config.ssl is None:
            connection.send(_FULL_RESPONSE)
        connection.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """How many connections a server has, and with whom."""

    connections: int
    """The most that are open at once."""
    proxies: TrustedProxies
    """Those that name the addresses of their clients."""
    admit: Callable[[str], Awaitable[object]] | None = None
    """Called with the address of who begins an encrypted connection, which is expensive; a HappyCityError
    refuses it."""


@asynccontextmanager
async def http_served(
    config: uvicorn.Config, listener: socket.socket, limits: HttpLimits
) -> AsyncIterator[None]:
    """Serve an application on a socket that listens, while the context lasts.

    The class for WebSockets, if there is one, has `on_lost`, which it calls when its connection has ended.
    """
    if not config.loaded:
        config.load()
    config.loaded_app = _WithClientAddress(config.loaded_app, limits.proxies)
    server = _Server(config, limits)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


class _WithClientAddress:
    """Tells an application the address of the client for whom a trusted proxy asks."""

    def __init__(self, app: Any, proxies: TrustedProxies) -> None:
        self._app, self._proxies = app, proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("client"):
            address, port = scope["client"]
            headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
            client = self._proxies.client(address, headers)
            scope["client"] = client, port
            if client != address:
                scope["state"][_Place.__name__].take(network_of(client))
        await self._app(scope, receive, send)
