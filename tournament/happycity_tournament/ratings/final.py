"""Ratings of any games: each bot's with its interval and its open ranks, and those of all differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.ratings.estimate import (
    Estimate,
    holm,
    marks_of,
    student_probabilities,
    student_quantiles,
)
from happycity_tournament.ratings.results import BotRating, Difference, Ratings
from happycity_tournament.ratings.statistics import ELO_DIGITS

if TYPE_CHECKING:
    from happycity_tournament.ratings.columns import Flags, Floats, Ints

_TAIL = 0.025
_MOST_NAMED = 10


def rate(estimate: Estimate, *, anchor: str | None = None, anchor_elo: float = MEAN_ELO) -> Ratings:
    """Return the ratings of an estimate, with `anchor` at `anchor_elo`; None: the mean of each pool is.

    Raises:
        KeyError: no bot has the anchor's name.
    """
    bots = estimate.games.bots
    if anchor is not None and anchor not in bots:
        raise KeyError(anchor)
    differences = AllDifferences.of(estimate)
    elos, (low, high) = estimate.elos, estimate.ends()
    if anchor is not None:
        index = bots.index(anchor)
        inside = estimate.pools == estimate.pools[index]
        elos[inside] -= elos[index]
        low[inside], high[inside] = (end[inside, index] for end in (differences.low, differences.high))
        low[index] = high[index] = 0.0
    best, worst = _open_ranks(differences.los, estimate.pools)
    columns: dict[str, Sequence[Any]] = {
        "bot": bots,
        "elo": (anchor_elo + elos).tolist(),
        "low": list(map(_known, (anchor_elo + low).tolist())),
        "high": list(map(_known, (anchor_elo + high).tolist())),
        "games": estimate.games.games_played().tolist(),
        "deals": estimate.deals.tolist(),
        "pool": (estimate.pools + 1).tolist(),
        "rank_best": best.tolist(),
        "rank_worst": worst.tolist(),
        "mark": marks_of(estimate.games),
    }
    rows = zip(*columns.values(), strict=True)
    lines = [BotRating(**dict(zip(columns, row, strict=True))) for row in rows]
    return Ratings(
        lines=tuple(sorted(lines, key=lambda line: (line.pool, -round(line.elo, ELO_DIGITS)))),
        anchor=anchor,
        anchor_elo=anchor_elo,
        notes=tuple(_mean_notes(estimate, anchor)),
        differences=differences,
    )


def _mean_notes(estimate: Estimate, anchor: str | None) -> Iterator[str]:
    """Yield which bots the mean is not of, if it isn't of all."""
    anchored = -1 if anchor is None else estimate.pools[estimate.games.bots.index(anchor)]
    outside = np.flatnonzero(~estimate.in_mean & (estimate.pools != anchored)).tolist()
    if outside:
        names = ", ".join(estimate.games.bots[number] for number in outside[:_MOST_NAMED])
        more = f" and {len(outside) - _MOST_NAMED} more" if len(outside) > _MOST_NAMED else ""
        yield f"the mean is that of all bots but {names}{more}, of which games say too little"


def _known(end: float) -> float | None:
    return None if math.isnan(end) else end


def with_difference(
    ratings: Ratings, bots: Sequence[str], difference: tuple[float, float | None, float | None]
) -> Ratings:
    """Return the ratings of two bots with their difference, and the ends of its interval, put in their place.

    So a test that ended by its results shows one difference everywhere, the one that allows for that.
    """
    (bot, other), (elo, low, high) = bots, difference
    shares = {bot: 0.5, other: -0.5}
    if ratings.anchor is not None:
        shares = {name: share - shares[ratings.anchor] for name, share in shares.items()}
    lines = [
        replace(
            line,
            elo=ratings.anchor_elo + shares[line.bot] * elo,
            low=_scaled(ratings.anchor_elo, shares[line.bot], low if shares[line.bot] > 0 else high),
            high=_scaled(ratings.anchor_elo, shares[line.bot], high if shares[line.bot] > 0 else low),
        )
        for line in ratings.lines
    ]
    known = {}
    before = ratings.difference(bot, other)
    if before is not None and not low is high is None:
        known[bot, other] = Difference(elo=elo, low=low, high=high, los=before.los)
        known[other, bot] = Difference(
            elo=-elo, low=_scaled(0, -1, high), high=_scaled(0, -1, low), los=1 - before.los
        )
    lines.sort(key=lambda line: -line.elo)
    return replace(ratings, lines=tuple(lines), differences=known)


@dataclass(frozen=True, slots=True, eq=False)
class AllDifferences(Mapping[tuple[str, str], Difference]):
    """The differences of all pairs of bots of one pool that have enough deals."""

    numbers: Mapping[str, int]
    elos: Floats
    """[bot, other]: how much higher the first one is rated."""
    low: Floats
    """[bot, other]: the lower end of its 95% interval; not a number if there is none."""
    los: Floats
    """[bot, other]: how likely the first one is the stronger one."""

    @classmethod
    def of(cls, estimate: Estimate) -> AllDifferences:
        """Return those of an estimate."""
        elos, errors = estimate.elos, estimate.difference_errors()
        quantiles = student_quantiles(estimate.degrees)
        differences = elos[:, None] - elos
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = np.where(np.isnan(quantiles), np.nan, differences / errors)
        numbers = {bot: number for number, bot in enumerate(estimate.games.bots)}
        low = np.where(estimate.above, differences - quantiles * errors, np.nan)
        return cls(numbers, differences, low, student_probabilities(ratios, estimate.degrees))

    @property
    def high(self) -> Floats:
        """[bot, other]: the upper end."""
        return -self.low.T

    def __getitem__(self, pair: tuple[str, str]) -> Difference:
        """Return how much higher a bot is rated than another one; KeyError if it isn't known."""
        cell = self.numbers[pair[0]], self.numbers[pair[1]]
        low, high = _known(float(self.low[cell])), _known(-float(self.low[cell[::-1]]))
        if low is high is None:
            raise KeyError(pair)
        return Difference(elo=float(self.elos[cell]), low=low, high=high, los=float(self.los[cell]))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Return all pairs of which a difference is known."""
        names = tuple(self.numbers)
        cells = np.argwhere(self._known).tolist()
        return ((names[row], names[column]) for row, column in cells)

    def __len__(self) -> int:
        """Return the number of these pairs."""
        return int(self._known.sum())

    @property
    def _known(self) -> Flags:
        known: Flags = ~np.isnan(self.low)
        return known | known.T


def _open_ranks(los: Floats, pools: Ints) -> tuple[Ints, Ints]:
    """Return the best and the worst rank of each bot that the games leave open, all at once with 95%.

    A bot is certainly stronger than another one if the likelihood passes Holm's (1979) test of all pairs.
    """
    certain = _certainly_stronger(los)
    members = np.bincount(pools)[pools] if len(pools) else pools
    best: Ints = 1 + certain.sum(axis=0)
    worst: Ints = members - certain.sum(axis=1)
    return best, worst


def _certainly_stronger(los: Floats) -> Flags:
    rows, columns = np.nonzero(np.triu(~np.isnan(los), 1))
    chances = np.minimum(los[rows, columns], los[columns, rows])
    passed = holm(chances) < _TAIL
    rows, columns = rows[passed], columns[passed]
    certain = np.zeros(los.shape, dtype=bool)
    certain[rows, columns] = los[rows, columns] > 0.5
    certain[columns, rows] = los[rows, columns] < 0.5
    return certain


def _scaled(origin: float, share: float, end: float | None) -> float | None:
    if share == 0:
        return origin
    return None if end is None else origin + share * end
