"""How a page is answered: as HTML, as JSON, and over a socket as it changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from happycity_server.access.roles import principal
from happycity_web.cache import Kind
from happycity_web.query import Query
from happycity_web.render import Page, Reader, language_of
from happycity_web.watch import Feeds, pack, packed_response, while_connected

MakePage = Callable[[Feeds, Request, Any], Awaitable[Page]]
"""Makes a page by what its address asks for, a `Query`."""
Answer = Callable[[Feeds, Request], Awaitable[Response]]
"""Answers a request whose caller was admitted."""
Follow = Callable[[Feeds, WebSocket], Awaitable[None]]
"""Sends what changes over the socket of a caller who was admitted."""
_HTML = Kind[bytes]("pages", kept=32)
"""Of pages that change no more, by page, address and language: the page, compressed."""


def page_json(query: type[Query], make: MakePage) -> Answer:
    """Return what answers with the values of a page."""

    async def answer(feeds: Feeds, request: Request) -> Response:
        page = await make(feeds, request, query.of(request.query_params))
        return packed_response(request, await feeds.in_thread(pack, page.json), "application/json")

    return answer


def page_html(query: type[Query], make: MakePage, *, media_type: str = "text/html") -> Answer:
    """Return what answers with a page as its template has it."""

    async def answer(feeds: Feeds, request: Request) -> Response:
        page = await make(feeds, request, query.of(request.query_params))
        reader = Reader.of(request)

        async def html() -> bytes:
            return await feeds.in_thread(pack, lambda: page.html(reader))

        if page.key is None:
            return packed_response(request, await html(), media_type)
        key = page.key, reader.language.code, reader.origin, reader.path
        return packed_response(request, await feeds.cache.get(_HTML, key, html), media_type)

    return answer


def page_changes(query: type[Query], make: MakePage) -> Follow:
    """Return what sends the parts of a page that change, until nothing changes any more.

    A viewer that reads slowly gets the latest state of what it missed, and nothing between.
    """

    async def follow(feeds: Feeds, socket: WebSocket) -> None:
        request = Request({**socket.scope, "type": "http", "method": "GET"})
        asked, caller = query.of(socket.query_params), principal()
        # Callers who may see different things share no page; what the address says besides is ignored.
        who = caller.own_bot, caller.roles
        what = make, tuple(sorted(socket.path_params.items())), asked
        key = who, language_of(socket).code, what

        async def send_parts() -> None:
            version = 0
            async with feeds.live_page(key, lambda: make(feeds, request, asked), Reader.of(socket)) as page:
                async for _ in page.changes.values():
                    message, version = page.message(version), page.changes.version
                    await socket.send_text(message)

        await while_connected(socket, send_parts(), feeds)

    return follow
