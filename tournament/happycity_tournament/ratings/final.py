"""The final ratings of any number of games: the Davidson-Luce model, with errors that rest on whole deals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.ratings.columns import Floats, Games
from happycity_tournament.ratings.duplicate_gain import DuplicateGain, duplicate_gains
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile, with_ranks

TOO_LITTLE = "not enough data"


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
    """Of the ratings' distances from their pools' means, in Elo."""

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
        error = math.sqrt(max(0.0, variance - 2 * self.covariance[index, other]))
        return Difference(elo=first.elo - second.elo, error=error)


def rate(games: Games, *, anchor: str | None = None, anchor_elo: float = MEAN_ELO) -> Ratings:
    """Return the ratings, with `anchor` (or, if it is None, the mean of each pool) at `anchor_elo`.

    Raises:
        KeyError: no bot has the anchor's name.
    """
    if anchor is not None and anchor not in games.bots:
        raise KeyError(anchor)
    estimate = fit(games)
    layout, parameters = estimate.layout, estimate.parameters
    covariance = ELO_PER_LOGIT**2 * sandwich(estimate)[layout.strengths, layout.strengths]
    return Ratings(
        model=_model(estimate),
        lines=_lines(estimate, covariance, anchor=anchor, anchor_elo=anchor_elo),
        anchor=anchor,
        seat_effects={
            size: tuple((ELO_PER_LOGIT * parameters[layout.seats(size)]).tolist())
            for size in estimate.seat_sizes
        },
        deltas=dict(zip(layout.tie_orders, np.exp(parameters[layout.ties]).tolist(), strict=True)),
        duplicate_gains=duplicate_gains(estimate),
        covariance=covariance,
    )


def _model(estimate: Fit) -> str:
    name = "Davidson-Luce (Plackett-Luce with ties)"
    if estimate.seat_sizes:
        name += f", seat effects at tables of {', '.join(map(str, estimate.seat_sizes))}"
    return f"{name}, errors clustered by deal"


def _lines(
    estimate: Fit, covariance: Floats, *, anchor: str | None, anchor_elo: float
) -> tuple[RatedBot, ...]:
    bots, pools = estimate.games.bots, estimate.pools
    games, deals = estimate.games.games_played(), estimate.games.deals_played()
    distances = np.eye(len(bots))
    fewest = deals  # on which an error rests: the bot's own or the anchor's
    if anchor is not None:
        index = bots.index(anchor)
        comparable = pools == pools[index]
        distances[comparable, index] -= 1
        fewest = np.where(comparable, np.minimum(deals, deals[index]), deals)
    elos = anchor_elo + distances @ (ELO_PER_LOGIT * estimate.parameters[estimate.layout.strengths])
    errors = np.sqrt(((distances @ covariance) * distances).sum(axis=1))
    columns = (elos, errors, fewest, games, deals, pools)
    lines = []
    for bot, elo, error, few, *counts in zip(bots, *(column.tolist() for column in columns), strict=True):
        low = high = None
        if few >= MIN_DEALS:
            margin = student_quantile(few - 1) * error
            low, high = elo - margin, elo + margin
        lines.append(RatedBot(bot, elo, low, high, *counts))
    return tuple(lines)


def _superiority(difference: Difference | None) -> float | None:
    if difference is None or difference.error == 0:
        return None
    return NormalDist().cdf(difference.elo / difference.error)


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
