"""How lucky bots were on average: more than chance allows is what only a bot that knows the deck can be.

The luck of a game has the mean 0 for every bot that sees no hidden card, however it plays and whatever the
evaluator thinks. A bot that knows which cards come chooses the draws that gain, and so its mean is above 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from happycity_tournament.ratings.columns import Games, TableColumns
from happycity_tournament.ratings.estimate import deal_sums
from happycity_tournament.ratings.statistics import student_margin

MOST_ERRORS = 4.0
"""Standard errors above 0 up to which luck is taken for chance."""
MIN_DEALS = 20
"""Deals of a bot below which its error is known too badly to call it too lucky."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanLuck:
    """What a bot won by chance, by its games whose luck is known."""

    bot: str
    seats: int
    """Its seats in these games."""
    deals: int
    places: float
    """The mean over its seats, in places; above 0 is good luck."""
    error: float
    """Standard error of the mean, by deals."""

    @property
    def margin(self) -> float | None:
        """Half of the 95% interval; None with fewer than two deals."""
        return student_margin(self.deals, self.error)

    @property
    def deviation(self) -> float:
        """How many standard errors the mean is above 0; 0 without an error."""
        return self.places / self.error if self.error else 0.0

    @property
    def is_too_lucky(self) -> bool:
        """Whether chance doesn't explain the mean."""
        return self.deals >= MIN_DEALS and self.deviation > MOST_ERRORS

    @property
    def text(self) -> str:
        """What is odd about it, in a sentence."""
        return (
            f"{self.bot} won {self.places:+.3f} places a game by luck, {self.deviation:.1f} standard errors "
            "above 0: more than chance allows, as if it knew which cards come"
        )


def mean_luck(games: Games) -> list[MeanLuck]:
    """Return the mean luck of each bot that played, in their order; nothing if the luck isn't known.

    The error is that of a mean of numbers that are dependent within deals (Liang & Zeger 1986).
    """
    if any(table.luck is None for table in games.parts()):
        return []
    lucks, seats = (
        np.concatenate([sums for sums, _ in deal_sums(games, values)] or [np.zeros((0, len(games.bots)))])
        for values in (_luck, _ones)
    )
    found = []
    for bot, luck, count in zip(games.bots, lucks.T, seats.T, strict=True):
        played = count > 0
        total, deals = int(count.sum()), int(played.sum())
        if not total:
            continue
        mean = float(luck.sum()) / total
        squares = float(((luck - mean * count)[played] ** 2).sum())
        error = math.sqrt(deals / max(1, deals - 1) * squares) / total
        found.append(MeanLuck(bot=bot, seats=total, deals=deals, places=mean, error=error))
    return found


def _luck(table: TableColumns) -> np.ndarray:
    assert table.luck is not None
    return table.luck


def _ones(table: TableColumns) -> np.ndarray:
    return np.ones(table.bots.shape)
