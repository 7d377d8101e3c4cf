"""The cards as people and programs want to read them: values, condition, and the effect in words."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterator, Sequence
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
NUMBERS = frozenset({"cost", "income", "inhabitants", "hearts"})
"""Columns with numbers."""
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


class Section:
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


def sections() -> list[Section]:
    """Return the whole catalogue by kinds of cards."""
    return [
        *(
            Section(f"Deck {deck}, two of each", [card for card in BUILDINGS if card.deck == deck], _PRICED)
            for deck in DECKS
        ),
        Section("Dwellings", DWELLINGS, _PRICED),
        Section("Happy Market", cards_of_kind(CardKind.MARKET), _MARKET),
        Section("Specials of the family game", specials_of(Mode.FAMILY), _SPECIAL),
        Section("Specials of the expert game", specials_of(Mode.EXPERT), _SPECIAL),
    ]


def plain() -> str:
    """Return the catalogue as text for a terminal."""
    return "".join(f"{line}\n" for section in sections() for line in _plain_section(section))


def _plain_section(section: Section) -> Iterator[str]:
    yield f"{section.title}:"
    table = [section.columns, *section.rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row, effect in zip(table, ["", *section.effects], strict=True):
        cells = [
            cell.rjust(width) if column in NUMBERS else cell.ljust(width)
            for cell, width, column in zip(row, widths, section.columns, strict=True)
        ]
        yield "  " + "  ".join(cells).rstrip()
        yield from textwrap.wrap(effect, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    yield ""
