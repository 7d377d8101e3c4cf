"""HTTP by uvicorn, in the event loop of a program, with the limits on connections that uvicorn lacks.

Of the extras `web` and `mcp`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import h11
import uvicorn
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

from happycity.runtime.addresses import TrustedProxies, network_of
from happycity.runtime.fair_share import FairShare

REQUEST_SECONDS = 10.0
"""How long a request line with its headers, and then the body, may take to arrive."""
MAX_LINES = 100
"""The most lines that a request may have before its body, and the most chunks of a body."""
UNREAD_SECONDS = 30.0
"""How long a client may take to read what is sent, also over a connection that is being closed."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 5\r\n"
    b"connection: close\r\n\r\n"
    b"This server has as many connections as it takes; try again later.\n"
)
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"The request took too long to arrive.\n"
)


_FAILURES = logging.getLogger("uvicorn.failures")
_FAILURES.setLevel(logging.ERROR)  # else whoever sends what is no HTTP would fill the log


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


class BoundedProtocol(ReadInTime, H11Protocol):
    """HTTP/1.1 with a deadline for each request, and bounds on its lines and on connections.

    uvicorn's own time limit holds between requests only, and its limit of connections for requests that have
    arrived: by sending a byte now and then, a stranger could hold as many as the system has.
    """

    _deadline: asyncio.TimerHandle | None = None
    _is_upgraded = False

    def __init__(
        self, *args: Any, places: FairShare[asyncio.Transport], proxies: TrustedProxies, **options: Any
    ) -> None:
        """Take one of the server's `places`; all connections of an address are of one owner."""
        super().__init__(*args, **options)
        self.logger = _FAILURES
        self._places, self._proxies = places, proxies
        self._received = self.conn._receive_buffer = _BoundedBuffer()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; if there are too many connections, close this or another one."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)
        self._set_deadline()
        address = self.client[0] if self.client else ""
        # A proxy's connections are those of many clients.
        owner = transport if address in self._proxies else network_of(address)
        leaving = self._places.take(owner, transport)
        if leaving is transport:
            transport.write(_FULL)
            transport.close()
        elif leaving is not None:
            leaving.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._end_deadline()
        self._places.leave(self.transport)
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
        socket.on_lost = partial(self._places.leave, self.transport)

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
            self.transport.write(_LATE)
        self.transport.close()


class _Server(uvicorn.Server):
    """A server that leaves signals to the program."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def http_served(
    config: uvicorn.Config, listener: socket.socket, *, connections: int, proxies: TrustedProxies
) -> AsyncIterator[None]:
    """Serve an application on a socket that listens, while the context lasts.

    At most some `connections` are open at once. Applications are told the addresses of clients that `proxies`
    name. A class for WebSockets has `on_lost`, which it calls when its connection has ended.
    """
    if not config.loaded:
        config.load()
    places = FairShare[asyncio.Transport](connections)
    config.http_protocol_class = partial(BoundedProtocol, places=places, proxies=proxies)  # type: ignore[assignment]
    config.loaded_app = _Addressed(config.loaded_app, proxies)
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


class _Addressed:
    """Tells an application the address of the client for whom a trusted proxy asks."""

    def __init__(self, app: Any, proxies: TrustedProxies) -> None:
        self._app, self._proxies = app, proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("client"):
            address, port = scope["client"]
            headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
            scope["client"] = self._proxies.client(address, headers), port
        await self._app(scope, receive, send)
