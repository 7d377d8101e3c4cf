"""Pages of lists: their sizes, and the opaque tokens that name where the next one begins."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from google.protobuf.message import Message

from happycity import ConfigError
from happycity.match import check_bot_name
from happycity_server.errors import ApiError, Reason, within
from happycity_tournament.games import LARGEST_ID

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


class ListQuery:
    """A page of a list that a request asks for, newest entries first, and what leaves others out."""

    def __init__(self, request: Message, **decoders: Callable[[Any], Any]) -> None:
        """Read a request that has the fields `page_size` and `page_token`; its other fields are filters.

        Args:
            request: what is asked for.
            decoders: how the value of a filter is read, by its field; other values are taken as they are.

        Raises:
            ApiError, ConfigError: a field is wrong; the text names it.
        """
        # Absent fields are not among these; an empty text is as good as none.
        fields = {field.name: value for field, value in request.ListFields() if value != ""}
        self.size = page_size(fields.pop("page_size", 0))
        self.before_id = before_id_of(fields.pop("page_token", ""))
        """The id below which the page begins; None for the first page."""
        if "bot" in fields:
            with within("bot"):
                check_bot_name(fields["bot"])
        self.filters = {name: decoders.get(name, _as_is)(value) for name, value in fields.items()}
        """The values of the filters, by field."""

    @property
    def limit(self) -> int:
        """The number of entries to look for: one more than the page has, to know of a next page."""
        return self.size + 1

    def cut(self, by_id: Mapping[int, _T]) -> tuple[list[_T], str]:
        """Return the newest entries, as many as the page has, and the token of a next page, else ""."""
        ids = sorted(by_id, reverse=True)
        token = page_token(ids[self.size - 1]) if len(ids) > self.size else ""
        return [by_id[entry_id] for entry_id in ids[: self.size]], token


def _as_is(value: Any) -> Any:
    return value
