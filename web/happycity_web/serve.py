"""Serves the pages in the game server's own event loop, by uvicorn."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from happycity_runtime.http import HttpLimits, ReadInTime, http_served
from happycity_server.access.gate import RateLimits
from happycity_server.errors import ApiError
from happycity_server.frontends import Arena, Site
from happycity_web.app import application
from happycity_web.watch import Feeds

STOP_SECONDS = 2
"""How long open pages may take to be closed when the server stops."""
SPARE_CONNECTIONS = 128
"""Connections beyond the open pages that may be open; further ones get 503 and are closed."""
KEEP_ALIVE_SECONDS = 15
"""How long a connection may stay open without a request."""
HEADER_BYTES = 16 * 1024
"""The largest request line with headers."""
MESSAGE_BYTES = 1024
"""The largest message that a page may send over its WebSocket."""
FRAMES_AT_ONCE = 64
"""Frames that a page may send over its WebSocket at once; with more, it is cut off."""
FRAMES_PER_SECOND = 8.0
"""Frames that it may send on the whole, answers to pings among them."""
_PART_BYTES = 6 * FRAMES_AT_ONCE
"""Of what has arrived, so much is read as has no more frames: each has 6 bytes or more."""


@asynccontextmanager
async def front_end(arena: Arena, site: Site, listener: socket.socket) -> AsyncIterator[None]:
    """Serve the pages of an arena on a socket that listens, while the context lasts."""
    feeds = Feeds(arena)
    config = _config(feeds, site)
    config.load()
    config.ssl = None if site.tls is None else _renewable(site.tls)
    try:
        limits = HttpLimits(
            connections=site.viewers + SPARE_CONNECTIONS, proxies=arena.gate.proxies, admit=arena.gate.connect
        )
        async with http_served(config, listener, limits):
            yield
    finally:
        feeds.close()


class PageSocket(ReadInTime, WebSocketsSansIOProtocol):
    """A WebSocket whose memory is freed at its end, and that takes any bytes, but not many frames."""

    on_lost: Callable[[], None]
    """Called when the connection has ended."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rate = RateLimits(rate=FRAMES_PER_SECOND, burst=FRAMES_AT_ONCE, clock=self.loop.time)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of what would be freed only when garbage is collected, as it refers to itself."""
        super().connection_lost(exc)
        self.conn.parser.close()
        self.on_lost()

    def data_received(self, data: bytes) -> None:
        """Take bytes, little by little: many frames can come at once, also after the socket was closed."""
        for start in range(0, len(data), _PART_BYTES):
            if not self.transport.is_closing():
                super().data_received(data[start : start + _PART_BYTES])

    def handle_events(self) -> None:
        """Pass frames on; cut the connection off at one too many."""
        try:
            self._rate.take("", len(self.conn.events))
        except ApiError:
            self.transport.abort()
        else:
            super().handle_events()

    async def send(self, message: Any) -> None:
        """Send a message; ClientDisconnected if uvicorn has closed the socket, as its client vanished."""
        await self.writable.wait()
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)

    def send_receive_event_to_app(self) -> None:
        """Pass on a message; what is not UTF-8 closes the connection, without a line in the log."""
        try:
            b"".join(self.frames).decode()
        except UnicodeDecodeError:
            if not self.close_sent:
                self.conn.send_close(1007)
                self.handle_parser_exception()
        else:
            super().send_receive_event_to_app()


def _renewable(tls: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Return a context that takes for each connection the certificate which there is when it begins."""

    def renew(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = tls()

    context = tls()
    context.sni_callback = renew
    return context


def _config(feeds: Feeds, site: Site) -> uvicorn.Config:
    return uvicorn.Config(
        application(feeds, site),
        ws=PageSocket,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `http_served` does that
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws_max_size=MESSAGE_BYTES,
        ws_max_queue=1,
        ws_per_message_deflate=False,  # it would cost each viewer 300 kB
    )
