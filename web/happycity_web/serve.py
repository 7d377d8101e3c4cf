"""Serves the pages in the game server's own event loop, by uvicorn."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from happycity_server.frontends import Arena, Site
from happycity_web.app import application
from happycity_web.connections import SPARE_CONNECTIONS, BoundedProtocol

STOP_SECONDS = 1
"""How long open pages may take to be closed when the server stops."""
KEEP_ALIVE_SECONDS = 15
"""How long a connection may stay open without a request."""
HEADER_BYTES = 16 * 1024
"""The largest request line with headers."""
MESSAGE_BYTES = 1024
"""The largest message that a page may send over its WebSocket; pages send none."""


class _Server(uvicorn.Server):
    """A server that leaves signals to the game server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def front_end(arena: Arena, site: Site, listener: socket.socket) -> AsyncIterator[None]:
    """Serve the pages of an arena on a socket that listens, while the context lasts."""
    config = _config(arena, site)
    config.load()
    config.ssl = None if site.tls is None else _renewable(site.tls)
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


def _renewable(tls: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Return a context that takes for each connection the certificate which there is when it begins."""

    def renew(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = tls()

    context = tls()
    context.sni_callback = renew
    return context


def _config(arena: Arena, site: Site) -> uvicorn.Config:
    return uvicorn.Config(
        application(arena, site),
        http=BoundedProtocol,
        ws="websockets-sansio",
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
