"""The end of a game: totals, points and places (chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from happycity.rules.cities import Cities
from happycity.rules.deals import happiness


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended by the rules alone, per seat (articles 4.2-4.4)."""

    points: tuple[int, ...]
    coins: tuple[int, ...]
    inhabitants: tuple[int, ...]
    hearts: tuple[int, ...]
    ranks: tuple[int, ...]
    """1 is first; equal seats share a place and the places after it stay empty (1, 2, 2, 4)."""


def rank(scores: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return each seat's place, highest score first, equal scores sharing it (article 4.4)."""
    order = sorted(scores, reverse=True)
    return tuple([1 + order.index(score) for score in scores])


def shared_places(ranks: Sequence[int]) -> tuple[float, ...]:
    """Return each seat's place from 1, where equal seats have the mean of the places that they fill."""
    return tuple([rank + (ranks.count(rank) - 1) / 2 for rank in ranks])


def score(cities: Cities) -> Outcome:
    """Score all cities; specials have chosen what they copy by then (article 6.3)."""
    counted = [_counted(cities, seat) for seat in range(cities.config.players)]
    points = tuple([_points(cities, seat, *total) for seat, total in enumerate(counted)])
    coins = tuple([cities.coins[seat] for seat in range(cities.config.players)])
    return Outcome(
        points=points,
        coins=coins,
        inhabitants=tuple([inhabitants for inhabitants, _ in counted]),
        hearts=tuple([hearts for _, hearts in counted]),
        ranks=rank(list(zip(points, coins, strict=True))),
    )


def points_of(cities: Cities, seat: int) -> int:
    """Return the points of one city, as `score` does."""
    return _points(cities, seat, *_counted(cities, seat))


def totals(cities: Cities, seat: int) -> tuple[int, int]:
    """Sum the inhabitants and the hearts of a city."""
    inhabitants, hearts = cities.symbols(seat)
    more_inhabitants, more_hearts = cities.effect(seat).symbols(cities, seat, cities.special_at[seat])
    return inhabitants + more_inhabitants, hearts + more_hearts


def _counted(cities: Cities, seat: int) -> tuple[int, int]:
    """Return the totals of a city; those below 0 count as 0 (article 4.2)."""
    inhabitants, hearts = totals(cities, seat)
    return max(0, inhabitants), max(0, hearts)


def _points(cities: Cities, seat: int, inhabitants: int, hearts: int) -> int:
    points = happiness(cities.config, inhabitants, hearts)
    effect = cities.effect(seat)
    return effect.points(cities, seat, points) if effect.points is not None else points
