"""Serves the pages in the game server's own event loop, by uvicorn."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from happycity_server.frontends import Arena, FrontEndError, Place
from happycity_web.app import application

STOP_SECONDS = 1
"""How long open pages may take to be closed when the server stops."""
KEEP_ALIVE_SECONDS = 15
"""How long a connection may stay open without a request."""
HEADER_BYTES = 16 * 1024
"""The largest request line with headers."""
MESSAGE_BYTES = 1024
"""The largest message that a page may send over its WebSocket; pages send none."""
MAX_CONNECTIONS = 4096
"""Connections beyond it are answered with 503."""
BACKLOG = 512


class _Server(uvicorn.Server):
    """A server that leaves signals to the game server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@asynccontextmanager
async def pages_served(arena: Arena, place: Place) -> AsyncIterator[str]:
    """Serve the pages of an arena while the context lasts; yield their address.

    Raises:
        FrontEndError: the address can't be listened on, or the certificate can't be used.
    """
    listener = _listener(place)
    with listener:
        server = _Server(_config(arena, place))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        port = listener.getsockname()[1]
        host = f"[{place.host}]" if ":" in place.host else place.host
        try:
            yield f"{'https' if place.certificate else 'http'}://{host}:{port}"
        finally:
            server.should_exit = True
            await serving


def _config(arena: Arena, place: Place) -> uvicorn.Config:
    certificate, key = place.certificate or (None, None)
    return uvicorn.Config(
        application(arena, place),
        http="h11",
        ws="websockets-sansio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # limits go by the address that is really connected
        ssl_certfile=certificate,
        ssl_keyfile=key,
        h11_max_incomplete_event_size=HEADER_BYTES,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws_max_size=MESSAGE_BYTES,
        ws_max_queue=1,
        ws_per_message_deflate=False,  # it would cost each viewer 300 kB
    )


def _listener(place: Place) -> socket.socket:
    """Return a socket that listens at once, so that an address that is taken is noticed."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((place.host, place.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise FrontEndError(
            f"web: {place.host}:{place.port} can't be listened on: {error.strerror or error}; "
            "choose another address, or port 0 for any free one"
        ) from None
    return listener
