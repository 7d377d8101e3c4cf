"""What ratings consist of: values without numpy, so that what only shows them does without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from happycity_tournament.ratings.statistics import MIN_DEALS, with_ranks

if TYPE_CHECKING:
    from happycity_tournament.ratings.columns import Floats

TOO_LITTLE = "not enough data"


@dataclass(frozen=True, slots=True)
class Rating:
    """A bot's rating, with a 95% interval or, while there is too little data, none."""

    bot: str
    elo: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class DuplicateGain:
    """How many independent games a game of a rotated deal is worth."""

    gain: float
    """1 where games of a deal are like any others; above it, duplicate deals save games."""
    low: float
    """Lower end of the 95% interval, which has the gain in its middle."""
    high: float
    """Upper end of it."""

    @property
    def verdict(self) -> str:
        """What the interval says, as a clause."""
        if self.low > 1:
            return "duplicate deals saved games"
        if self.high < 1:
            return "games on separate deals would have said more"
        return "no saving can be distinguished from chance"


@dataclass(frozen=True, slots=True)
class RatedBot:
    """One bot's rating."""

    bot: str
    """The bot's name."""
    elo: float
    """Comparable within the pool only."""
    low: float | None
    """Lower end of the 95% interval of the distance from the anchor; None while there is too little data."""
    high: float | None
    """Upper end of it."""
    games: int
    """Games counted."""
    deals: int
    """Deals in which the bot played."""
    pool: int
    """From 0; bots of different pools never met, not even through others."""


class Difference(NamedTuple):
    """How much higher one bot is rated than another."""

    elo: float
    error: float
    """The standard error, in Elo."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """The ratings of all bots, and what can be said about any two."""

    model: str
    """The model's name, to be printed: other models are on slightly different scales."""
    lines: tuple[RatedBot, ...]
    """In the order in which the bots were given."""
    anchor: str | None
    """The bot whose rating is given, or None: the mean of each pool is. Pools without it have their mean."""
    seat_effects: Mapping[int, tuple[float, ...]]
    """By table size, what a seat adds, in Elo; they sum to 0. Sizes without enough games are left out."""
    deltas: Mapping[int, float]
    """How likely so many bots are to share a place: the model's delta, 0 where it isn't given."""
    duplicate_gains: Mapping[int, DuplicateGain | None]
    """By table size, the worth of a game of a rotated deal in independent games; None if unknown."""
    covariance: Floats
    """Of the ratings' distances from their pools' means, in Elo; not numbers if errors are unknown."""

    def difference(self, bot: str, other: str) -> Difference | None:
        """Return how much higher `bot` is rated than `other`; None across pools or with too little data.

        Raises:
            KeyError: there is no such bot.
        """
        indexes = {line.bot: index for index, line in enumerate(self.lines)}
        return self._difference(indexes[bot], indexes[other])

    def los(self, bot: str, other: str) -> float | None:
        """Return the likelihood that `bot` is the stronger one; None across pools or with too little data.

        It is no rule to stop a tournament by: looked at often enough, it is high at some time.

        Raises:
            KeyError: there is no such bot.
        """
        return _superiority(self.difference(bot, other))

    def los_matrix(self) -> list[list[float | None]]:
        """Return the likelihood that the row's bot is stronger than the column's, None with itself too."""
        every = range(len(self.lines))
        return [[_superiority(self._difference(row, column)) for column in every] for row in every]

    def _difference(self, index: int, other: int) -> Difference | None:
        first, second = self.lines[index], self.lines[other]
        if first.pool != second.pool or min(first.deals, second.deals) < MIN_DEALS:
            return None
        variance = self.covariance[index, index] + self.covariance[other, other]
        if math.isnan(variance):
            return None
        error = math.sqrt(max(0.0, variance - 2 * self.covariance[index, other]))
        return Difference(elo=first.elo - second.elo, error=error)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A bot with its rank."""

    rank: int
    """1 is the best of its pool; equal ratings share a rank."""
    line: RatedBot
    index: int
    """Where the bot is in the ratings' own order."""


def ranked(ratings: Ratings) -> list[Ranked]:
    """Return the bots pool by pool, best first, equal ones in the order in which they were given."""
    order = sorted(enumerate(ratings.lines), key=lambda entry: entry[1].pool)
    return [
        Ranked(rank, line, index)
        for _, pool in groupby(order, key=lambda entry: entry[1].pool)
        for rank, (index, line) in with_ranks(pool, lambda entry: entry[1].elo)
    ]


def _superiority(difference: Difference | None) -> float | None:
    if difference is None or difference.error == 0:
        return None
    return NormalDist().cdf(difference.elo / difference.error)
