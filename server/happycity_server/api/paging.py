"""What calls that list things share: sizes and tokens of pages, and filters.

What reads a field of a request refuses what may not be asked for with an ApiError.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from google.protobuf.message import Message

from happycity import ConfigError
from happycity.match import check_bot_spelling
from happycity.wire.enums import enum_member
from happycity_server.errors import ApiError, invalid, within
from happycity_tournament.games import LARGEST_ID

DEFAULT_PAGE = 50
MAX_PAGE = 200
PAGE_BYTES = 1024 * 1024
"""A page of large entries ends with the entry that exceeds this: gRPC clients refuse messages of over 4 MB
by default."""

_Member = TypeVar("_Member", bound=Enum)
_T = TypeVar("_T")


def page_size(requested: int) -> int:
    """Return the number of entries of a page; ApiError if it is negative."""
    if requested < 0:
        raise invalid("page_size", f"{requested} is less than 0")
    return min(requested or DEFAULT_PAGE, MAX_PAGE)


def required_enum(request: Message, name: str, kind: type[_Member]) -> _Member:
    """Return the member of `kind` in a field of a request, which must be there."""
    enum, number = request.DESCRIPTOR.fields_by_name[name].enum_type, getattr(request, name)
    member = enum_member(enum, kind, number)
    if member is None:
        raise invalid(name, f"{number} is unspecified or unknown")
    return member


def page_token(position: object) -> str:
    """Return the token of the page that begins after an entry of a list, by the entry's id or name."""
    return base64.urlsafe_b64encode(str(position).encode()).decode()


def position_of(token: str) -> str:
    """Return the id or name after which a page begins; "" for the first page."""
    try:
        position = base64.b64decode(token, altchars=b"-_", validate=True).decode()
        return position and check_bot_spelling(position)  # ids look like names too
    except (ValueError, ConfigError):
        raise _foreign_token() from None


def before_id_of(token: str) -> int | None:
    """Return the id below which a page begins; None for the first page."""
    if not (position := position_of(token)):
        return None
    is_id = position.isascii() and position.isdigit() and len(position) <= len(str(LARGEST_ID))
    if not is_id or not 0 < int(position) <= LARGEST_ID:
        raise _foreign_token()
    return int(position)


def _foreign_token() -> ApiError:
    return invalid("page_token", "it is not from an earlier response")


class ListRequest:
    """What a request asks for that lists entries by pages, newest first: the page, and which entries.

    A filter is None if its field is absent.
    """

    def __init__(self, request: Any) -> None:
        """Read the fields `page_size` and `page_token` of a request."""
        self._request = request
        self.size = page_size(request.page_size)
        self.before_id = before_id_of(request.page_token)
        """The id below which the page begins; None for the first page."""

    def bot(self) -> str | None:
        """Return the bot whose entries are asked for; an empty name is as good as none."""
        with within("bot"):
            return check_bot_spelling(self._request.bot) if self._request.bot else None

    def number(self, name: str) -> int | None:
        """Return the number in a field."""
        return getattr(self._request, name) if self._request.HasField(name) else None

    def member(self, name: str, kind: type[_Member]) -> _Member | None:
        """Return the member of an enum in a field."""
        return required_enum(self._request, name, kind) if self._request.HasField(name) else None

    @property
    def limit(self) -> int:
        """The number of entries to look for: one more than the page has, to know of a next page."""
        return self.size + 1

    def cut(self, by_id: Mapping[int, _T], *, rest: int = 0) -> tuple[list[_T], str]:
        """Return the newest entries, as many as the page has, and the token of a next page, else "".

        Below the id `rest` nothing was looked for; 0: all was.
        """
        ids = sorted(by_id, reverse=True)
        token = page_token(ids[self.size - 1]) if len(ids) > self.size else page_token(rest) if rest else ""
        return [by_id[entry_id] for entry_id in ids[: self.size]], token
