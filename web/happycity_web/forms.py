"""Forms: what their fields have, and the page of one that is shown again as something in it is wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from happycity import ConfigError
from happycity_server.errors import ApiError, Reason
from happycity_web.render import Page, page_response

MAX_FORM_BYTES = 1024
"""The largest form that is read where no other limit is named."""
_NOT_OF_THE_FORM = (Reason.UNAUTHENTICATED, Reason.WRONG_ROLE, Reason.RATE_LIMITED, Reason.NO_LADDER)
"""Why a form is refused whatever its fields have: nothing in it can be changed for the better."""

Fields = Mapping[str, str]
"""The fields of a form by their names."""


async def submitted(
    request: Request,
    act: Callable[[Fields], Awaitable[Response]],
    show: Callable[[Fields, str], Awaitable[Page]],
    *,
    most: int = MAX_FORM_BYTES,
) -> Response:
    """Do what a form asks for; if that can't be done, show the page with the form again, and what is wrong.

    `show` returns that page, by the fields and the problem. The form may have `most` bytes.
    """
    fields = await read_form(request, most=most)
    try:
        return await act(fields)
    except (ConfigError, ApiError) as error:
        if isinstance(error, ApiError) and error.reason in _NOT_OF_THE_FORM:
            raise
        return page_response(request, await show(fields, str(error)), 400)


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
