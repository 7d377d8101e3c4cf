"""What calls that list things share: sizes and tokens of pages, and filters.

What reads a field of a request refuses what may not be asked for with an ApiError.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar

from google.protobuf.message import Message

from happycity.match import check_bot_spelling
from happycity.wire.enums import enum_member
from happycity_server.errors import ApiError, invalid, within
from happycity_tournament.games import LARGEST_ID

DEFAULT_PAGE = 50
MAX_PAGE = 200
PAGE_BYTES = 1024 * 1024
"""A page of large entries ends with the entry that exceeds this: gRPC clients refuse messages of over 4 MB
by default."""

_HASH_BYTES = 9
_MAX_TOKEN = 1000
"""Characters of the longest token: those of an odd result have three names."""
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


class PageTokens:
    """Makes and reads the page tokens of one list: of a method with its filters.

    A token has where the page before ended, behind a hash of the request's type and of its filters. So a
    token of another list is noticed, nothing is kept, and a server that has started again reads those of the
    one before.
    """

    def __init__(self, request: Any) -> None:
        """Make tokens for the pages after the one that a request asks for."""
        filters = type(request)()
        filters.CopyFrom(request)
        for name in ("page_size", "page_token"):
            filters.ClearField(name)
        filters.DiscardUnknownFields()
        asked = request.DESCRIPTOR.full_name.encode() + b" " + filters.SerializeToString(deterministic=True)
        self._list = hashlib.sha256(asked).digest()[:_HASH_BYTES]

    def token(self, *position: object) -> str:
        """Return the token of the page that begins after an entry, by values that say where that is."""
        return base64.urlsafe_b64encode(self._list + json.dumps(position).encode()).decode()

    def position(self, token: str) -> list[Any]:
        """Return the values of which a token was made, [] for the first page.

        ApiError if the token is of another list.
        """
        if not token:
            return []
        try:
            if len(token) > _MAX_TOKEN:
                raise ValueError
            content = base64.b64decode(token, altchars=b"-_", validate=True)
            if content[:_HASH_BYTES] != self._list:
                raise ValueError
            position = json.loads(content[_HASH_BYTES:])
        except (ValueError, RecursionError):
            raise _foreign_token() from None
        if not isinstance(position, list) or not position:
            raise _foreign_token()
        return position


def _foreign_token() -> ApiError:
    return invalid(
        "page_token", "it is not from a response of this method to a request with the same filters"
    )


class ListRequest:
    """What a request asks for that lists entries by pages: the page, and which entries.

    A filter is None if its field is absent.
    """

    def __init__(self, request: Any) -> None:
        """Read the fields `page_size` and `page_token` of a request."""
        self._request = request
        self.size = page_size(request.page_size)
        self._tokens = PageTokens(request)
        self._position = self._tokens.position(request.page_token)

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
    def is_first(self) -> bool:
        """Whether the first page is asked for."""
        return not self._position

    @property
    def before_id(self) -> int | None:
        """The id below which the page of a list begins, newest entries first; None for the first page."""
        if self.is_first:
            return None
        entry_id = self._position[0]
        if type(entry_id) is not int or not 0 < entry_id <= LARGEST_ID:
            raise _foreign_token()
        return entry_id

    @property
    def limit(self) -> int:
        """The number of entries to look for: one more than the page has, to know of a next page."""
        return self.size + 1

    def token(self, entry_id: int) -> str:
        """Return the token of the page that begins below an id."""
        return self._tokens.token(entry_id)

    def newest(self, by_id: Mapping[int, _T], *, rest: int = 0) -> tuple[list[_T], str]:
        """Return the newest entries, as many as the page has, and the token of a next page, else "".

        Below the id `rest` nothing was looked for; 0: all was.
        """
        ids = sorted(by_id, reverse=True)
        token = self.token(ids[self.size - 1]) if len(ids) > self.size else self.token(rest) if rest else ""
        return [by_id[entry_id] for entry_id in ids[: self.size]], token

    def sorted_by(
        self, key: Callable[[_T], tuple[str | float, ...]], entries: Iterable[_T]
    ) -> tuple[list[_T], str]:
        """Return a page of entries in the order of their keys, and the token of a next page, else "".

        A page begins after the key of the last entry of the page before, also if entries came or went
        since. The last value of a key names its entry, which is not repeated if its key has changed.
        """
        ordered = sorted(entries, key=key)
        if not self.is_first:
            after = tuple(self._position)
            try:
                ordered = [one for one in ordered if key(one) > after and key(one)[-1] != after[-1]]
            except TypeError:  # the caller has made the token
                raise _foreign_token() from None
        page = ordered[: self.size]
        return page, self._tokens.token(*key(page[-1])) if len(ordered) > self.size else ""
