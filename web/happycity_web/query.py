"""What an address asks a page for: the fields of its query, and the query that asks for the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self
from urllib.parse import urlencode

from happycity.match import check_bot_spelling
from happycity_server.errors import invalid

LARGEST = 999_999_999
"""The largest number of an address: ids are below it."""


def word_of(name: str, word: str, words: Collection[str]) -> str:
    """Return a word that is one of several; ApiError if it is another one."""
    if word not in words:
        raise invalid(name, f"{word!r:.40} is not one of {', '.join(words)}")
    return word


def number_of(name: str, text: str, lowest: int, highest: int) -> int:
    """Return the number that a text is; ApiError if it is not a number, or not in its range."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST))
    if not is_number or not lowest <= int(text) <= highest:
        raise invalid(name, f"{text!r:.40} is not a number from {lowest} to {highest}")
    return int(text)


def _field(default: Any, read: Callable[[str, str], Any]) -> Any:
    return field(default=default, metadata={"read": read})


def words(*allowed: str, default: str = "") -> Any:
    """Return a field that is one of some words."""
    return _field(default, lambda name, text: word_of(name, text, allowed))


def number(default: int | None = 0, *, lowest: int = 1) -> Any:
    """Return a field that is a number from `lowest` on; a page may have a narrower range for it."""
    return _field(default, lambda name, text: number_of(name, text, lowest, LARGEST))


def bot_name() -> Any:
    """Return a field that is the name of a bot."""
    return _field("", lambda _, text: check_bot_spelling(text))


@dataclass(frozen=True, slots=True)
class Query:
    """What an address asks for; a field that is absent or empty has its default."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Return what the query of an address says; names that are no fields are ignored.

        A value that can't be one of its field is an ApiError, or a ConfigError of a bot's name.
        """
        given = {entry.name: query.get(entry.name, "") for entry in fields(cls)}
        readers = {entry.name: entry.metadata.get("read", lambda _, text: text) for entry in fields(cls)}
        return cls(**{name: readers[name](name, text) for name, text in given.items() if text})

    def query(self, **changes: Any) -> str:
        """Return the query of the address that asks for this, with some fields changed.

        Fields that have their default are left out.
        """
        defaults, asked = asdict(type(self)()), asdict(replace(self, **changes))
        return "?" + urlencode({name: value for name, value in asked.items() if value != defaults[name]})


@dataclass(frozen=True, slots=True)
class ListFilter(Query):
    """Which entries of a list are asked for. Each field but the default leaves others out."""

    page: str = ""
    """Where the page begins; "" for the first one."""

    @property
    def is_empty(self) -> bool:
        """Whether it leaves no entry out."""
        return replace(self, page="") == type(self)()
