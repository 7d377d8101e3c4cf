"""The planner's choices about specials: which to take, which market helps to one, which one to copy."""

from __future__ import annotations

import random

from happycity import Card, Game, Move, View
from happycity.moves import COPY_BOX
from happycity_bots.boons import PRINTED, promise
from happycity_bots.valuation import (
    Outlook,
    Standing,
    remaining,
    sketch_of,
    special_hopes,
    stand,
)

BOX_SAMPLES = 32
"""Specials drawn from the box to judge it by: about as many as it holds."""


def take_worths(view: View, moves: tuple[Move, ...]) -> list[float]:
    """Return the expected points of declining, with the hope for a better special, and of each special."""
    offered = {move.card for move in moves}
    others = view._replace(specials=tuple([card for card in view.specials if card not in offered]))
    standing = stand(others, view.seat, view.coins[view.seat], sketch_of(view))
    worths = [standing.points_now() + special_hopes(standing)[0]]
    for move in moves[1:]:
        assert move.card is not None
        worths.append(_points_taking(standing, move.card))
    return worths


def _points_taking(standing: Standing, special: Card) -> float:
    """Estimate the points at the end of a city that takes a special now."""
    view, seat, coins, turns, city, _, sketch = standing
    if sketch is None:
        boon = PRINTED[special.number]
    else:
        left = remaining(turns=turns, free=city.free)
        boon = promise(sketch, seat, special, left, replacing=True)
    having = Outlook(view, free=city.free - boon.positions, turns=turns)
    worth = having.points(
        coins + boon.coins,
        city.income + boon.income,
        city.inhabitants + boon.inhabitants,
        city.hearts + boon.hearts,
    )
    return boon.finish(worth) if boon.finish else worth


def market_worths(view: View, moves: tuple[Move, ...]) -> list[float]:
    """Return the points to hope for from all specials together with each coloured Happy Market.

    A city takes one special only, but nobody knows yet which one: many chances are worth more than one.
    """
    return [_market_worth(view, move) for move in moves]


def _market_worth(view: View, move: Move) -> float:
    assert move.card is not None
    seat = view.seat
    view = view._replace(cities=(*view.cities[:seat], (move.card,), *view.cities[seat + 1 :]))
    standing = stand(view, seat, view.coins[seat], sketch_of(view))
    worth = 0.0
    for special in view.specials:
        worth += special_hopes(standing._replace(view=view._replace(specials=(special,))))[0]
    return worth


def copy_worths(view: View, moves: tuple[Move, ...]) -> list[tuple[float, float]]:
    """Return minus the mean place, and the mean points, of the games that each copy of the Sphinx ends."""
    return [_ending(view, move) for move in moves]


def _ending(view: View, move: Move) -> tuple[float, float]:
    """Play a copy, which ends the game: once, or from the box, which alone hides anything, some times."""
    seat, rng = view.seat, random.Random(0)
    samples = BOX_SAMPLES if move is COPY_BOX else 1
    places = points = 0
    for _ in range(samples):
        game = Game.from_view(view, rng)
        game.apply(move)
        assert game.outcome is not None
        places += game.outcome.ranks[seat]
        points += game.outcome.points[seat]
    return -places / samples, points / samples
