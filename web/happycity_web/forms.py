"""Forms that browsers send."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_FORM_BYTES = 1024
"""The largest form that is read."""


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; of several of the same name the first.

    Raises:
        HTTPException: the form is too long.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(413, "the form is too long")
    fields = parse_qs(body.decode(errors="replace"))
    return {name: values[0] for name, values in fields.items()}
