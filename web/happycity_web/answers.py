"""How requests are answered: by pages as HTML, as JSON, and over a socket as they change, and by forms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from happycity import ConfigError
from happycity_server.access.roles import principal
from happycity_server.errors import ApiError, Reason
from happycity_web.cache import Kind
from happycity_web.query import Query
from happycity_web.render import Page, Reader, language_of, offers_of, page_response
from happycity_web.watch import Feeds, pack, packed_response, while_connected

MakePage = Callable[[Feeds, Request, Any], Awaitable[Page]]
"""Makes a page by what its address asks for, a `Query`."""
Answer = Callable[[Feeds, Request], Awaitable[Response]]
"""Answers a request whose caller was admitted."""
Follow = Callable[[Feeds, WebSocket], Awaitable[None]]
"""Sends what changes over the socket of a caller who was admitted."""
Fields = Mapping[str, str]
"""The fields of a form by their names."""
ShowForm = Callable[[Feeds, Request, Fields, str], Awaitable[Page]]
"""Makes the page with a form by its fields, and what is wrong with them; "" at first."""
Submit = Callable[[Feeds, Request, Fields], Awaitable[Response]]
"""Does what a form asks for."""

MAX_FORM_BYTES = 1024
"""The largest form that is read where no other limit is named."""
_NOT_OF_THE_FORM = (Reason.UNAUTHENTICATED, Reason.WRONG_ROLE, Reason.RATE_LIMITED, Reason.NO_LADDER)
"""Reasons that no change of the form's fields removes, so that it isn't shown again."""
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
        key = page.key, reader.language.code, reader.address, *offers_of(request).values()
        return packed_response(request, await feeds.cache.get(_HTML, key, html), media_type)

    return answer


def page_changes(query: type[Query], make: MakePage) -> Follow:
    """Return what sends the parts of a page that change, until nothing changes any more.

    A viewer that reads slowly gets the latest state of what it missed, and nothing between.
    """

    async def follow(feeds: Feeds, socket: WebSocket) -> None:
        request = Request({**socket.scope, "type": "http", "method": "GET"})
        chosen, caller = query.of(socket.query_params), principal()
        # Callers who may see different things share no page; what the address says besides is ignored.
        who = caller.own_bot, caller.roles
        what = make, tuple(sorted(socket.path_params.items())), chosen
        key = who, language_of(socket).code, what

        async def send_parts() -> None:
            version = 0
            async with feeds.live_page(key, lambda: make(feeds, request, chosen), Reader.of(socket)) as page:
                async for _ in page.changes.values():
                    message, version = page.message(version), page.changes.version
                    await socket.send_text(message)

        await while_connected(socket, send_parts(), feeds)

    return follow


def form(show: ShowForm, submit: Submit, *, most: int = MAX_FORM_BYTES) -> Answer:
    """Return what shows a form of at most some bytes, and does what it asks for.

    If that can't be done, the form is shown again with what is wrong.
    """

    async def answer(feeds: Feeds, request: Request) -> Response:
        if request.method != "POST":
            return page_response(request, await show(feeds, request, {}, ""))
        fields = await read_form(request, most=most)
        try:
            return await submit(feeds, request, fields)
        except (ConfigError, ApiError) as error:
            if isinstance(error, ApiError) and error.reason in _NOT_OF_THE_FORM:
                raise
            return page_response(request, await show(feeds, request, fields, str(error)), 400)

    return answer


async def read_form(request: Request, *, most: int = MAX_FORM_BYTES) -> dict[str, str]:
    """Return the fields of a form of at most some bytes; of several of the same name the first.

    Raises:
        HTTPException: the form is too long.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise HTTPException(413, "the form is too long")
    fields = parse_qs(body.decode(errors="replace"))
    return {name: values[0] for name, values in fields.items()}
