"""Moves and their notation (articles 5.2 and 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from happycity.errors import InvalidMoveError
from happycity.rules.cards import BUILDINGS, COLOURED_MARKETS, DWELLINGS, SPECIALS, Card, Colour

BOX = -1
"""The number of the move that copies a special of the box."""


class MoveKind(IntEnum):
    """What a move does; the value is the wire's, the lower-case name the first word of the notation."""

    KEEP = 1
    DISCARD = 2
    DRAW = 3
    BUILD = 4
    DWELL = 5
    COIN = 6
    TAKE = 7
    DECLINE = 8
    MARKET = 9
    COPY = 10


class Move:
    """One choice of a player, distinguished by card and not by slot (article 5.2).

    Moves are interned: `Move.parse(str(move)) is move`.
    """

    __slots__ = ("card", "index", "kind", "number", "text")

    def __init__(self, kind: MoveKind, number: int, card: Card | None, text: str) -> None:
        self.kind = kind
        self.number = number
        """What the move is about: a card's number, a deck (1-3), a seat, or `BOX`; 0 for other moves."""
        self.card = card
        """The card concerned, if the move names one; for `market` the coloured Happy Market."""
        self.text = text
        self.index = 0
        """The move's place among `Move.all()`."""

    @staticmethod
    def parse(text: str) -> Move:
        """Return the move that `text` denotes.

        Raises:
            InvalidMoveError: `text` is not in the notation.
        """
        try:
            return _MOVES[text]
        except KeyError:
            raise InvalidMoveError(text) from None

    @staticmethod
    def all() -> Iterator[Move]:
        """Iterate over every move that the game knows, legal anywhere or not."""
        return iter(_MOVES.values())

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Move {self.text}>"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # Copies and pickles are the interned move again, so that `is` and `in` hold.
        return (Move.parse, (self.text,))


def _plain(kind: MoveKind) -> Move:
    return Move(kind, 0, None, kind.name.lower())


def _about_card(kind: MoveKind, card: Card) -> Move:
    return Move(kind, card.number, card, f"{kind.name.lower()} {card.id}")


# Final: compiled code reads such names without looking them up.
KEEP: Final = _plain(MoveKind.KEEP)
COIN: Final = _plain(MoveKind.COIN)
DECLINE: Final = _plain(MoveKind.DECLINE)
DISCARD: Final = {card.number: _about_card(MoveKind.DISCARD, card) for card in BUILDINGS}
DRAW: Final = {deck: Move(MoveKind.DRAW, deck, None, f"draw {deck}") for deck in (1, 2, 3)}
BUILD: Final = {card.number: _about_card(MoveKind.BUILD, card) for card in BUILDINGS}
DWELL: Final = {card.number: _about_card(MoveKind.DWELL, card) for card in DWELLINGS}
TAKE: Final = {card.number: _about_card(MoveKind.TAKE, card) for card in SPECIALS}
MARKET: Final = {
    colour: Move(
        MoveKind.MARKET, COLOURED_MARKETS[colour].number, COLOURED_MARKETS[colour], f"market {colour}"
    )
    for colour in Colour
}
COPY: Final = {seat: Move(MoveKind.COPY, seat, None, f"copy {seat}") for seat in range(5)}
COPY_BOX: Final = Move(MoveKind.COPY, BOX, None, "copy box")

_MOVES: dict[str, Move] = {
    move.text: move
    for move in (
        KEEP,
        *DISCARD.values(),
        *DRAW.values(),
        *BUILD.values(),
        *DWELL.values(),
        COIN,
        *TAKE.values(),
        DECLINE,
        *MARKET.values(),
        *COPY.values(),
        COPY_BOX,
    )
}
for _index, _move in enumerate(_MOVES.values()):
    _move.index = _index
