"""How lucky the seats of a game were: what each card that came was worth, less the mean of what could have.

These are control variates as in AIVAT (Burch, Schmid, Moravčík, Morrill & Bowling 2018, arXiv 1612.06915).
Before a card is turned over, a viewer of the whole game knows which cards are left in its deck, and each
of them is as likely to come: decks and reshuffles are uniform permutations, and bots see no hidden order. So
the luck of a draw has the mean 0, whatever values the cards are given, and so has the sum over a game. That
holds only if the values were fixed before the games were seen: state the evaluator's digest with results.
The choice of the specials on the table is not corrected, nor which seat is whose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from happycity import Card, Game, Move
from happycity.rules.views import EventKind

CardValues = Callable[[Game, Sequence[Card]], Sequence[Sequence[float]]]
"""Returns each seat's expected place after each of the cards that an open game awaits."""


class Draw(NamedTuple):
    """A card that came by chance: from a deck, or from the box of specials."""

    decision_id: int
    """The decision, from 1, whose move led to it; it may have been a forced draw of a later seat."""
    seat: int
    """The seat that drew."""
    card: Card
    luck: tuple[float, ...]
    """The places that each seat gained by this card, compared with the mean of those that could have come."""


def draws_of(game: Game, moves: Iterable[Move], values: CardValues) -> Iterator[Draw]:
    """Play `game` on by `moves`, and yield what came by chance, in its order."""
    moves = list(moves)
    return draws_along(_played(game.copy(), moves), moves, values)


def _played(game: Game, moves: Iterable[Move]) -> Iterator[Game]:
    yield game
    for move in moves:
        game.apply(move)
        yield game


def draws_along(positions: Iterator[Game], moves: Iterable[Move], values: CardValues) -> Iterator[Draw]:
    """Yield what came by chance in a game that is at each next position after the next of the moves."""
    known = next(positions).opened()
    for decision_id, (actual, move) in enumerate(zip(positions, moves, strict=False), start=1):
        known.apply(move)
        came = (event.card for event in actual.events if event.kind in (EventKind.DRAW, EventKind.COPY))
        while awaited := known.awaited:
            card = next(came)
            assert card is not None
            yield Draw(decision_id, known.seat, card, _luck(values(known, awaited), awaited.index(card)))
            known.reveal(card)


def total_luck(draws: Iterable[Draw], players: int) -> tuple[float, ...]:
    """Return the places that each seat gained by all draws of a game."""
    total = [0.0] * players
    for draw in draws:
        total = [sum(pair) for pair in zip(total, draw.luck, strict=True)]
    return tuple(total)


def _luck(places: Sequence[Sequence[float]], came: int) -> tuple[float, ...]:
    return tuple([sum(of_seat) / len(of_seat) - of_seat[came] for of_seat in zip(*places, strict=True)])
