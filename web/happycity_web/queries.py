"""The queries of addresses: their words and numbers, and the query that asks for what a filter says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from happycity.match import check_bot_name
from happycity_server.errors import ApiError, Reason

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST = 999_999_999
"""The largest number of an address: ids are below it."""


def word_of(field: str, word: str, words: Collection[str]) -> str:
    """Return a word that is one of several.

    Raises:
        ApiError: the word is another one.
    """
    if word not in words:
        raise ApiError(Reason.INVALID_FIELD, f"{field}: {word!r:.40} is not one of {', '.join(words)}")
    return word


def bot_of(query: Mapping[str, str]) -> str:
    """Return the bot of the query, "" without one.

    Raises:
        ConfigError: no bot can have the name.
    """
    bot = query.get("bot", "")
    return check_bot_name(bot) if bot else ""


def number_of(query: Mapping[str, str], name: str, lowest: int, highest: int, *, default: int) -> int:
    """Return a number of the query; a form sends "" for a field that is left empty.

    Raises:
        ApiError: it is not a number, or not in its range.
    """
    text = query.get(name)
    if not text:
        return default
    if (
        not text.isascii()
        or not text.isdigit()
        or len(text) > len(str(LARGEST))
        or not lowest <= int(text) <= highest
    ):
        raise ApiError(
            Reason.INVALID_FIELD, f"{name}: {text!r:.40} is not a number from {lowest} to {highest}"
        )
    return int(text)


def query_text(chosen: DataclassInstance, **changes: Any) -> str:
    """Return the query of the address that asks for what a filter says, with some fields changed.

    Fields that have their default are left out.
    """
    defaults = asdict(type(chosen)())
    fields = asdict(replace(chosen, **changes))
    return "?" + urlencode({name: value for name, value in fields.items() if value != defaults[name]})
