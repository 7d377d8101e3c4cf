"""What calls that list things share: sizes and tokens of pages, filters, and how entries are written.

What reads a field of a request refuses what may not be asked for with an ApiError.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from happycity import ConfigError
from happycity.match import check_bot_spelling
from happycity_server.errors import ApiError, invalid, within
from happycity_tournament.games import LARGEST_ID
from happycity_tournament.wire import timestamp

DEFAULT_PAGE = 50
MAX_PAGE = 200
PAGE_BYTES = 1024 * 1024
"""A page of large entries ends with the entry that exceeds this: gRPC clients refuse messages of over 4 MB
by default."""

_M = TypeVar("_M", bound=Message)
_T = TypeVar("_T")


def page_size(requested: int) -> int:
    """Return the number of entries of a page; ApiError if it is negative."""
    if requested < 0:
        raise invalid("page_size", f"{requested} is less than 0")
    return min(requested or DEFAULT_PAGE, MAX_PAGE)


def entry_of(numbers: Mapping[_T, int], number: int, field: str) -> _T:
    """Return what an enum value of a request stands for."""
    for entry, value in numbers.items():
        if value == number:
            return entry
    raise invalid(field, f"{number} is unspecified or unknown")


def message_of(kind: type[_M], entry: object, **own: Any) -> _M:
    """Write the fields of a message that an entry has by the same names; `own` are others, or differ.

    An `Enum` becomes the value of its own name; None and empty texts are left out.
    """
    for name, field in kind.DESCRIPTOR.fields_by_name.items():
        if name not in own and (value := getattr(entry, name, None)) not in (None, ""):
            if isinstance(value, Enum) and field.enum_type is not None:
                prefix = field.enum_type.values[0].name.removesuffix("UNSPECIFIED")
                value = f"{prefix}{value.name}"
            own[name] = value
    return kind(**own)


def timestamp_or_none(moment: float | None) -> Timestamp | None:
    """Write a moment, Unix time in seconds, if there is one."""
    return None if moment is None else timestamp(moment)


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
                check_bot_spelling(fields["bot"])
        self.filters = {
            name: decoders[name](value) if name in decoders else value for name, value in fields.items()
        }
        """The values of the filters, by field."""

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
