"""HTTP by uvicorn, in the event loop of a program, with the limits on connections that uvicorn lacks.

Of the extras `web` and `mcp`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""How long a request line with its headers, and then the body, may take to arrive."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 5\r\n"
    b"connection: close\r\n\r\n"
    b"This server has as many connections as it takes; try again later.\n"
)
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"The request took too long to arrive.\n"
)


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for each request, and a maximum of connections.

    uvicorn's own time limit holds between requests only, and its limit of connections for requests that have
    arrived: by sending a byte now and then, a stranger could hold as many as the system has.
    """

    connections_per_address: int | None = None
    """Connections that may be open from one address; None: as many as from all."""

    _deadline: asyncio.TimerHandle | None = None
    _is_upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, or refuse the connection."""
        super().connection_made(transport)
        if self._is_full():
            transport.write(_FULL)
            transport.close()
        else:
            self._set_deadline()

    def _is_full(self) -> bool:
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            return True
        if self.connections_per_address is None or self.client is None:
            return False
        clients = [getattr(connection, "client", None) for connection in self.connections]
        own: int = sum(client is not None and client[0] == self.client[0] for client in clients)
        return own > self.connections_per_address

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._end_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the deadline of a request of which a part is still missing stays where it is."""
        super().data_received(data)
        is_waiting = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_waiting and not self._is_upgraded and not self.transport.is_closing():
            self._set_deadline()
        else:
            self._end_deadline()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to a WebSocket, which notices a silent peer by its pings."""
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)

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
async def http_served(config: uvicorn.Config, listener: socket.socket) -> AsyncIterator[None]:
    """Serve an application on a socket that listens, while the context lasts."""
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
