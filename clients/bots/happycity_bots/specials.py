"""The planner's choices about specials: which to take, which market helps to one, which one to copy."""

from __future__ import annotations

import random

from happycity import Card, Game, Move, View
from happycity.rules.moves import COPY_BOX
from happycity_evaluation.outlook import Outlook
from happycity_evaluation.special_values import PRINTED, value_if_taken
from happycity_evaluation.valuation import (
    Prospects,
    assess,
    cities_of,
    remaining,
    special_potentials,
)

BOX_SAMPLES = 32
"""Specials drawn from the box to judge it by: about as many as it holds."""
POINTS_A_PLACE = 1 << 20
"""Points that count as a place: they decide between equal places alone, and sums stay exact."""


def take_values(view: View, moves: tuple[Move, ...]) -> list[float]:
    """Return the expected points of declining, with what a better special may bring, and of each special."""
    offered = {move.card for move in moves}
    others = [card for card in view.specials if card not in offered]
    prospects = assess(view, view.seat, view.coins[view.seat], cities_of(view))
    values = [prospects.points_now() + special_potentials(prospects, others)[0]]
    for move in moves[1:]:
        assert move.card is not None
        values.append(_points_taking(prospects, move.card))
    return values


def _points_taking(prospects: Prospects, special: Card) -> float:
    """Estimate the points at the end of a city that takes a special now."""
    view, seat, coins, turns, city, _, cities = prospects
    if cities is None:
        value = PRINTED[special.number]
    else:
        left = remaining(turns=turns, free=city.free)
        value = value_if_taken(cities, seat, special, left, specials=view.specials, replacing=True)
    having = Outlook(view.config.scoring, free=city.free - value.positions, turns=turns)
    worth = having.points(
        coins + value.coins,
        city.income + value.income,
        city.inhabitants + value.inhabitants,
        city.hearts + value.hearts,
    )
    return value.points_rule(worth) if value.points_rule else worth


def market_value(view: View, move: Move) -> float:
    """Return the points that may come from all specials together with a coloured Happy Market.

    A city takes one special only, but it isn't known yet which one: many chances are worth more than one.
    """
    assert move.card is not None
    seat = view.seat
    view = view._replace(cities=(*view.cities[:seat], (move.card,), *view.cities[seat + 1 :]))
    prospects = assess(view, seat, view.coins[seat], cities_of(view))
    return sum([special_potentials(prospects, [special])[0] for special in view.specials])


def copy_value(view: View, move: Move) -> float:
    """Return minus the mean place in games that a copy of the Sphinx ends, and by the mean points if equal.

    It is played once, or from the box, which alone hides anything, some times.
    """
    seat, rng = view.seat, random.Random(0)
    samples = BOX_SAMPLES if move is COPY_BOX else 1
    places = points = 0
    for _ in range(samples):
        game = Game.from_view(view, rng)
        game.apply(move)
        assert game.outcome is not None
        places += game.outcome.ranks[seat]
        points += game.outcome.points[seat]
    return (points / POINTS_A_PLACE - places) / samples
