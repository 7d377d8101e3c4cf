"""Connections that can't be held without a request: deadlines and numbers that uvicorn has none of."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""How long a request line with its headers, and then the body, may take to arrive."""
SPARE_CONNECTIONS = 128
"""Connections beyond the open pages that may be open; further ones get 503 and are closed."""

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

    _deadline: asyncio.TimerHandle | None = None
    _is_upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, or refuse the connection."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.write(_FULL)
            transport.close()
        else:
            self._set_deadline()

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
