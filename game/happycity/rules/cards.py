"""The cards of Happy City, read once from the tables in `data/` (RULES chapter 1).

A card's number is its row in the tables, counted from 1 over `buildings.csv` and then
`specials.csv`. It is also the card's number in the wire's `Card` enum, so it must never change: a new
special is appended, and nothing else is added.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from pathlib import Path


class Mode(Enum):
    """Which rules and which specials a game uses (articles 2.6, 2.7)."""

    FAMILY = "family"
    EXPERT = "expert"


class Colour(IntEnum):
    """A card's colour (article 1.5); the value is the wire's."""

    YELLOW = 1
    BLUE = 2
    GREEN = 3
    ORANGE = 4
    PURPLE = 5

    def __str__(self) -> str:
        return self.name.lower()


class CardKind(Enum):
    """What a card is, which decides how it enters a city."""

    BUILDING = "building"
    DWELLING = "dwelling"
    MARKET = "market"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """One row of the card tables. Cards are interned: compare them with `is`."""

    number: int
    """1 and up, the row in the tables; the wire's enum number."""
    id: str
    """The name in notation and records, such as `film_studios`."""
    name: str
    kind: CardKind
    copies: int
    """How many of this card the box of the game holds."""
    deck: int = 0
    """1 to 3 for a building, else 0."""
    colour: Colour | None = None
    cost: int = 0
    """The printed price in coins, before any discount."""
    income: int = 0
    """Coins each income phase, as printed; a special's effect may add to it."""
    inhabitants: int = 0
    hearts: int = 0
    special_set: Mode | None = None
    condition: dict[Colour, int] = field(default_factory=dict)
    """For a special: how many cards of each colour a city must show (article 3.10)."""
    effect: str = ""
    """For an expert special: the name of its effect (chapter 6), "" for printed values only."""
    effect_text: str = ""
    """What the effect does, in one or two sentences for people."""

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return f"<Card {self.id}>"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # Copies and pickles are the interned card again.
        return (_by_id, (self.id,))


def _table(name: str) -> Iterator[dict[str, str]]:
    text = Path(__file__).with_name("data").joinpath(name).read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())


def _load() -> Iterator[Card]:
    buildings = list(_table("buildings.csv"))
    for number, row in enumerate(buildings, start=1):
        yield Card(
            number=number,
            id=row["id"],
            name=row["name"],
            kind=CardKind(row["kind"]),
            copies=int(row["copies"]),
            deck=int(row["deck"] or 0),
            colour=Colour[row["colour"].upper()] if row["colour"] else None,
            cost=int(row["cost"]),
            income=int(row["income"]),
            inhabitants=int(row["inhabitants"]),
            hearts=int(row["hearts"]),
        )
    for number, row in enumerate(_table("specials.csv"), start=len(buildings) + 1):
        yield Card(
            number=number,
            id=row["id"],
            name=row["name"],
            kind=CardKind.SPECIAL,
            copies=1,
            income=int(row["income"]),
            inhabitants=int(row["inhabitants"]),
            hearts=int(row["hearts"]),
            special_set=Mode(row["set"]),
            condition={colour: int(row[str(colour)]) for colour in Colour if row[str(colour)] != "0"},
            effect=row["effect"],
            effect_text=row["effect_text"],
        )


CARDS: tuple[Card, ...] = tuple(_load())
"""Every card, in table order: the card with number n is `CARDS[n - 1]`."""

CARDS_BY_ID: dict[str, Card] = {card.id: card for card in CARDS}


def _by_id(card_id: str) -> Card:
    return CARDS_BY_ID[card_id]


def cards_of_kind(kind: CardKind) -> tuple[Card, ...]:
    """Return the cards of one kind, in table order."""
    return tuple(card for card in CARDS if card.kind is kind)


BUILDINGS = cards_of_kind(CardKind.BUILDING)
DWELLINGS = cards_of_kind(CardKind.DWELLING)
SPECIALS = cards_of_kind(CardKind.SPECIAL)
HAPPY_MARKET = CARDS_BY_ID["happy_market"]
"""The white side of the Happy Market: the first card of a family city (article 2.6)."""
COLOURED_MARKETS: dict[Colour, Card] = {
    card.colour: card for card in cards_of_kind(CardKind.MARKET) if card.colour is not None
}


def deck_cards(deck: int) -> tuple[Card, ...]:
    """Return all cards of one building deck (1-3), each copy once, in table order."""
    return tuple(card for card in BUILDINGS if card.deck == deck for _ in range(card.copies))


def specials_of(mode: Mode) -> tuple[Card, ...]:
    """Return the specials of one mode's set, in table order."""
    return tuple(card for card in SPECIALS if card.special_set is mode)
