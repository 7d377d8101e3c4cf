"""The cards as people and programs want to read them: values, condition, and the effect in words."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from happycity.rules.cards import (
    BUILDINGS,
    CARDS,
    DWELLINGS,
    Card,
    CardKind,
    Mode,
    cards_of_kind,
    specials_of,
)
from happycity.rules.deals import DECKS

_PRICED = ("name", "id", "colour", "cost", "income", "inhabitants", "hearts")
_MARKET = ("name", "id", "colour", "income", "inhabitants", "hearts")
_SPECIAL = ("name", "id", "condition", "income", "inhabitants", "hearts")
_NUMBERS = frozenset({"cost", "income", "inhabitants", "hearts"})
_WIDTH = 100  # of plain text


def entry(card: Card) -> dict[str, Any]:
    """Return all that is known of a card, as JSON can hold it."""
    return {
        "number": card.number,
        "id": card.id,
        "name": card.name,
        "kind": card.kind.value,
        "deck": card.deck,
        "colour": str(card.colour) if card.colour else None,
        "cost": card.cost,
        "income": card.income,
        "inhabitants": card.inhabitants,
        "hearts": card.hearts,
        "copies": card.copies,
        "special_set": card.special_set.value if card.special_set else None,
        "condition": {str(colour): count for colour, count in card.condition.items()},
        "effect": card.effect_text,
    }


def entries() -> list[dict[str, Any]]:
    """Return all cards, in table order."""
    return [entry(card) for card in CARDS]


@cache
def catalogue_digest() -> str:
    """Return the SHA-256 of all cards with their values, in hexadecimal."""
    text = json.dumps(entries(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class _Section:
    """Cards of one kind, and the columns that show them."""

    def __init__(self, title: str, cards: Sequence[Card], columns: tuple[str, ...]) -> None:
        self.title = title
        self.columns = columns
        self.rows = [tuple(_cell(entry(card), column) for column in columns) for card in cards]
        self.effects = [entry(card)["effect"] for card in cards]


def _cell(card: dict[str, Any], column: str) -> str:
    value = card[column]
    if column == "condition":
        return ", ".join(f"{count} {colour}" for colour, count in value.items())
    return "-" if value is None else str(value)


def _sections() -> list[_Section]:
    """Return the whole catalogue by kinds of cards."""
    return [
        *(
            _Section(f"Deck {deck}, two of each", [card for card in BUILDINGS if card.deck == deck], _PRICED)
            for deck in DECKS
        ),
        _Section("Dwellings", DWELLINGS, _PRICED),
        _Section("Happy Market", cards_of_kind(CardKind.MARKET), _MARKET),
        _Section("Specials of the family game", specials_of(Mode.FAMILY), _SPECIAL),
        _Section("Specials of the expert game", specials_of(Mode.EXPERT), _SPECIAL),
    ]


def plain() -> str:
    """Return the catalogue as text for a terminal."""
    return "".join(f"{line}\n" for section in _sections() for line in _plain_section(section))


def _plain_section(section: _Section) -> Iterator[str]:
    yield f"{section.title}:"
    table = [section.columns, *section.rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row, effect in zip(table, ["", *section.effects], strict=True):
        cells = [
            cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
            for cell, width, column in zip(row, widths, section.columns, strict=True)
        ]
        yield "  " + "  ".join(cells).rstrip()
        yield from textwrap.wrap(effect, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    yield ""


def markdown() -> str:
    """Return the catalogue as a page of Markdown."""
    return "".join(f"{line}\n" for line in _page())


def _page() -> Iterator[str]:
    yield "# Cards"
    yield ""
    yield "The ids are those of moves and records. A condition names the number of cards of each colour that"
    yield "a city must have."
    for section in _sections():
        yield from ("", f"## {section.title}", "")
        yield from _markdown_table(section)


def _markdown_table(section: _Section) -> Iterator[str]:
    with_effects = any(section.effects)
    more = ("effect",) if with_effects else ()
    yield _line((*section.columns, *more))
    rules = ["---:" if column in _NUMBERS else "---" for column in section.columns]
    yield f"|{'|'.join([*rules, *('---' for _ in more)])}|"
    for (name, card_id, *values), effect in zip(section.rows, section.effects, strict=True):
        yield _line((name, f"`{card_id}`", *values, *((effect,) if with_effects else ())))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
