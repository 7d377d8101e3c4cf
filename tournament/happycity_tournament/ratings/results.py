"""What ratings consist of: values without numpy, so that what only shows them does without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from happycity_tournament.ratings.statistics import with_ranks

if TYPE_CHECKING:
    from happycity_tournament.ratings.columns import Floats

TOO_LITTLE = "not enough data"
MODEL = "Davidson-Luce (Plackett-Luce with ties), errors clustered by deal"
"""The model of all ratings."""


def interval_text(low: float | None, high: float | None) -> str:
    """Return an interval as `±13`, as `≥1703` or `≤1207` if it has only one end, as `-` if it has none."""
    if low is None:
        return "-" if high is None else f"≤{high:.0f}"
    return f"≥{low:.0f}" if high is None else f"±{(high - low) / 2:.0f}"


class ErrorRatios(NamedTuple):
    """How many times larger errors are where results chose the games; infinite if that isn't known."""

    ratings: float = 1.0
    """Those of the distances from the bots' mean."""
    differences: float = 1.0
    """Those of the differences between bots."""

    @property
    def text(self) -> str:
        """What to say of it, as a clause; empty if no error is larger."""
        if math.isinf(self.differences):
            return "no intervals, as results chose the games by a schedule that this version doesn't know"
        if max(self) == 1:
            return ""
        return (
            f"as results chose games, errors are {self.ratings:.2f} times larger, "
            f"and those of differences {self.differences:.2f} times"
        )


FIXED_SCHEDULE = ErrorRatios()
"""Where no result chose a game."""


@dataclass(frozen=True, slots=True)
class DuplicateGain:
    """How many independent games a game of a rotated deal is worth."""

    gain: float
    """1 where games of a deal are like any others; above it, duplicate deals save games. Infinite if all
    deals were exactly even."""
    low: float
    """Lower end of the 95% interval, which has the gain in its middle unless it is infinite."""
    high: float
    """Upper end of it."""

    @property
    def text(self) -> str:
        """The gain with its interval, such as `1.52 ±0.07`; `≥2.13` if it is infinite."""
        return (
            f"≥{self.low:.2f}" if math.isinf(self.gain) else f"{self.gain:.2f} ±{self.high - self.gain:.2f}"
        )

    @property
    def verdict(self) -> str:
        """What the interval says, as a clause."""
        if math.isinf(self.gain):
            return "every rotated deal was exactly even"
        if self.low > 1:
            return "duplicate deals saved games"
        if self.high < 1:
            return "games on separate deals would have said more"
        return "no saving can be distinguished from chance"


@dataclass(frozen=True, slots=True)
class SeatEffect:
    """What a seat adds."""

    elo: float
    """Those of a table size sum to 0."""
    margin: float | None
    """Half of its 95% interval; None if it isn't known."""

    @property
    def text(self) -> str:
        """The effect with its interval, such as `+12 ±9`."""
        return f"{self.elo:+.0f}" if self.margin is None else f"{self.elo:+.0f} ±{self.margin:.0f}"


@dataclass(frozen=True, slots=True)
class Burst:
    """The deals in a row in which a bot differs most from itself."""

    bot: int
    first: int
    """The first of them among the bot's deals, from 0."""
    deals: int
    """How many of the bot's deals they are."""
    score: float
    """The mean of their scores, above the mean of all."""
    error: float
    """Its standard error, if deals are independent."""
    p_value: float
    """Corrected for all windows and bots."""


@dataclass(frozen=True, slots=True)
class RatedBot:
    """One bot's rating."""

    bot: str
    """The bot's name."""
    elo: float
    """Comparable within the pool only."""
    low: float | None
    """Lower end of the 95% interval of the distance from the anchor; None while there is too little data, and
    for a bot that was below all others in all games, of which only the upper end is known."""
    high: float | None
    """Upper end of it; None, too, for a bot that was above all others in all games."""
    games: int
    """Games counted."""
    deals: int
    """Deals in which the bot played."""
    pool: int
    """From 0; bots of different pools never met, not even through others."""
    rank_best: int = 1
    """The best rank in its pool that isn't excluded: 1 more than the bots that are certainly stronger."""
    rank_worst: int = 1
    """The worst one. All these intervals hold at once with 95%."""


class Difference(NamedTuple):
    """How much higher one bot is rated than another."""

    elo: float
    error: float
    """The standard error, in Elo; infinite where only one end of the interval is known."""
    low: float
    """Lower end of the 95% interval, in Elo; minus infinity if nothing limits it."""
    high: float
    """Upper end of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """How far apart bots are, in Elo; not a number across pools, with too little data, and with oneself."""

    own_elos: Floats
    """[bot]: the distance from the mean of its pool's main group."""
    own_lows: Floats
    """[bot]: lower end of its 95% interval; minus infinity if nothing limits it."""
    own_highs: Floats
    elos: Floats
    """[bot, other]: how much higher the first one is rated."""
    errors: Floats
    """The standard errors, from two deals on; infinite where only one end of the interval is known."""
    lows: Floats
    """Lower ends of the 95% intervals; minus infinity if nothing limits them."""
    highs: Floats
    los: Floats
    """How likely the row's bot is the stronger one."""


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """The ratings of all bots, and what can be said about any two."""

    model: str
    """The model's name, to be printed: other models are on slightly different scales."""
    lines: tuple[RatedBot, ...]
    """In the order in which the bots were given."""
    anchor: str | None
    """The bot whose rating is given, or None: the mean of each pool's main group is (`ratings.groups`)."""
    seat_effects: Mapping[int, tuple[SeatEffect, ...]]
    """By table size, what a seat adds. Sizes without enough games are left out."""
    deltas: Mapping[int, float]
    """How likely so many bots are to share a place: the model's delta, 0 where it isn't given."""
    duplicate_gains: Mapping[int, DuplicateGain | None]
    """By table size, the worth of a game of a rotated deal in independent games; None if unknown."""
    covariance: Floats
    """Of the ratings' distances from their groups' means, in Elo, as if no result had chosen a game."""
    comparisons: Comparisons
    bursts: tuple[Burst, ...]
    """The most unusual deals in a row of each bot with enough deals, the least likely ones first."""

    def difference(self, bot: str, other: str) -> Difference | None:
        """Return how much higher `bot` is rated than `other`; None across pools or with too little data.

        Raises:
            KeyError: there is no such bot.
        """
        pair, known = self._pair(bot, other), self.comparisons
        if pair[0] == pair[1]:
            return Difference(0.0, 0.0, 0.0, 0.0)
        values = (known.elos[pair], known.errors[pair], known.lows[pair], known.highs[pair])
        return None if math.isnan(known.lows[pair]) else Difference(*map(float, values))

    def los(self, bot: str, other: str) -> float | None:
        """Return the likelihood that `bot` is the stronger one; None across pools or with too little data.

        It is no rule to stop a tournament by: looked at often enough, it is high at some time.

        Raises:
            KeyError: there is no such bot.
        """
        return _known(float(self.comparisons.los[self._pair(bot, other)]))

    def los_matrix(self) -> list[list[float | None]]:
        """Return the likelihood that the row's bot is stronger than the column's, None with itself too."""
        return [list(map(_known, row)) for row in self.comparisons.los.tolist()]

    def _pair(self, bot: str, other: str) -> tuple[int, int]:
        indexes = {line.bot: index for index, line in enumerate(self.lines)}
        return indexes[bot], indexes[other]


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


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
