"""The end of a game: totals, points and places (chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from happycity.deals import Config, Scoring

if TYPE_CHECKING:
    from happycity.holdings import Holdings


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
    return tuple(1 + sum(other > score for other in scores) for score in scores)


def happiness(config: Config, inhabitants: int, hearts: int) -> int:
    """Return the points of a city with these sums, each of which counts at least 0 (articles 4.2, 4.3)."""
    inhabitants, hearts = max(0, inhabitants), max(0, hearts)
    return inhabitants * hearts if config.scoring is Scoring.PRODUCT else inhabitants + hearts


def score(holdings: Holdings) -> Outcome:
    """Score all cities; specials have chosen what they copy by then (article 6.3)."""
    totals = [_totals(holdings, seat) for seat in range(holdings.config.players)]
    points = tuple([_points(holdings, seat, *total) for seat, total in enumerate(totals)])
    coins = tuple([holdings.coins(seat) for seat in range(holdings.config.players)])
    return Outcome(
        points=points,
        coins=coins,
        inhabitants=tuple([inhabitants for inhabitants, _ in totals]),
        hearts=tuple([hearts for _, hearts in totals]),
        ranks=rank(list(zip(points, coins, strict=True))),
    )


def _totals(holdings: Holdings, seat: int) -> tuple[int, int]:
    """Sum the inhabitants and the hearts of a city, each cut at 0 (article 4.2)."""
    inhabitants, hearts = holdings.symbols(seat)
    effect, position = holdings.effect(seat), holdings.special_at(seat)
    if effect.inhabitants is not None:
        inhabitants += effect.inhabitants(holdings, seat, position)
    if effect.hearts is not None:
        hearts += effect.hearts(holdings, seat, position)
    return max(0, inhabitants), max(0, hearts)


def _points(holdings: Holdings, seat: int, inhabitants: int, hearts: int) -> int:
    points = happiness(holdings.config, inhabitants, hearts)
    effect = holdings.effect(seat)
    return effect.points(holdings, seat, points) if effect.points is not None else points
