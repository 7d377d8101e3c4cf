"""Pages of lists: their sizes, and the opaque tokens that name where the next one begins."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import TypeVar

from happycity import ConfigError
from happycity.match import check_bot_name
from happycity_server.errors import ApiError, Reason
from happycity_tournament.storage.schema import LARGEST_ID

DEFAULT_PAGE = 50
MAX_PAGE = 200
PAGE_BYTES = 1024 * 1024
"""A page of large entries ends with the entry that exceeds this: gRPC clients refuse messages of over 4 MB
by default."""

_T = TypeVar("_T")


def page_size(requested: int) -> int:
    """Return the number of entries of a page.

    Raises:
        ApiError: it is negative.
    """
    if requested < 0:
        raise ApiError(Reason.INVALID_FIELD, f"page_size: {requested} is less than 0")
    return min(requested or DEFAULT_PAGE, MAX_PAGE)


def page_token(before_id: int) -> str:
    """Return the token of the page that begins below an id."""
    return base64.urlsafe_b64encode(before_id.to_bytes(8, "big")).decode()


def before_id_of(token: str) -> int | None:
    """Return the id below which a page begins; None for the first page.

    Raises:
        ApiError: the token is not from an earlier response.
    """
    if not token:
        return None
    try:
        before_id = int.from_bytes(base64.b64decode(token, altchars=b"-_", validate=True), "big")
    except (ValueError, binascii.Error):
        before_id = 0
    if not 0 < before_id <= LARGEST_ID or page_token(before_id) != token:
        raise ApiError(Reason.INVALID_FIELD, "page_token: it is not from an earlier response")
    return before_id


def name_after_of(token: str) -> str:
    """Return the name after which a page begins; "" for the first page.

    Raises:
        ApiError: the token is not from an earlier response.
    """
    try:
        name = base64.b64decode(token, altchars=b"-_", validate=True).decode()
        if name:
            check_bot_name(name)
    except (ValueError, binascii.Error, ConfigError):
        raise ApiError(Reason.INVALID_FIELD, "page_token: it is not from an earlier response") from None
    return name


def cut_names(names: Iterable[str], size: int) -> tuple[list[str], str]:
    """Return the first names, as many as a page has, and the token of the next page if there are more."""
    page = sorted(names)[: size + 1]
    token = base64.urlsafe_b64encode(page[size - 1].encode()).decode() if len(page) > size else ""
    return page[:size], token


def cut_page(by_id: Mapping[int, _T], size: int) -> tuple[list[_T], str]:
    """Return the newest entries, as many as a page has, and the token of the next page if there are more."""
    ids = sorted(by_id, reverse=True)
    token = page_token(ids[size - 1]) if len(ids) > size else ""
    return [by_id[entry_id] for entry_id in ids[:size]], token
