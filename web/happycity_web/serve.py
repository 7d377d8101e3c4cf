"""Serves the pages in the game server's own event loop, by uvicorn."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from happycity.runtime.http import BoundedProtocol, http_served
from happycity_server.frontends import Arena, Site
from happycity_web.app import application
from happycity_web.watch import Feeds

STOP_SECONDS = 1
"""How long open pages may take to be closed when the server stops."""
SPARE_CONNECTIONS = 128
"""Connections beyond the open pages that may be open; further ones get 503 and are closed."""
KEEP_ALIVE_SECONDS = 15
"""How long a connection may stay open without a request."""
HEADER_BYTES = 16 * 1024
"""The largest request line with headers."""
MESSAGE_BYTES = 1024
"""The largest message that a page may send over its WebSocket; pages send none."""


@asynccontextmanager
async def front_end(arena: Arena, site: Site, listener: socket.socket) -> AsyncIterator[None]:
    """Serve the pages of an arena on a socket that listens, while the context lasts."""
    feeds = Feeds(arena)
    config = _config(feeds, site)
    config.load()
    config.ssl = None if site.tls is None else _renewable(site.tls)
    try:
        async with http_served(config, listener):
            yield
    finally:
        feeds.close()


class PageSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose memory is freed at its end, and that any bytes may be sent to."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of what would be freed only when garbage is collected, as it refers to itself."""
        super().connection_lost(exc)
        self.conn.parser.close()

    def send_receive_event_to_app(self) -> None:
        """Pass on a message; what is not UTF-8 closes the connection, without a line in the log."""
        try:
            b"".join(self.frames).decode()
        except UnicodeDecodeError:
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
        http=BoundedProtocol,
        ws=PageSocket,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # limits go by the address that is really connected
        h11_max_incomplete_event_size=HEADER_BYTES,
        limit_concurrency=site.viewers + SPARE_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws_max_size=MESSAGE_BYTES,
        ws_max_queue=1,
        ws_per_message_deflate=False,  # it would cost each viewer 300 kB
    )
