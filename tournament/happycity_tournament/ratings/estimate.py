"""Strengths with their errors, where whole deals are independent and the games of a deal are not.

Games of one deal share their cards. With the bots rotated through the seats, luck cancels within a deal and
errors that take games as independent are too large; without rotation they are too small. The cluster-robust
sandwich (Liang & Zeger 1986) adds up the scores of a deal's games first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from happycity_tournament.ratings.columns import ROWS_AT_ONCE, Flags, Floats, Games, Ints, TableColumns
from happycity_tournament.ratings.likelihood import PRIOR_GAMES, Fit, choices_of, fit, game_scores
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile

_CELLS_AT_ONCE = 1 << 18  # of a matrix with a row for each deal: 2 MB
_erfc = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The strengths of bots, and what their errors are computed from."""

    games: Games
    fit: Fit
    deals: Ints
    """In how many deals each bot played."""
    covariance: Floats
    """[bot, bot]: of the strengths, in logits; of use for differences within a pool."""
    pools: Ints
    """Each bot's pool, from 0; bots of different pools never met, not even through others."""

    @property
    def elos(self) -> Floats:
        """The strengths in Elo, from the mean of each bot's pool."""
        strengths: Floats = ELO_PER_LOGIT * self.fit.strengths
        distances: Floats = strengths - self._of_pools(strengths)
        return distances

    def margins(self, counted: Flags | None = None) -> Floats:
        """Return half of the 95% interval of each distance from the mean of the pool, in Elo.

        With `counted` the mean is that of these bots, and only they have a margin. It is not a number with
        fewer than two deals.
        """
        margins = np.full(len(self.deals), np.nan)
        counted = np.ones(len(self.deals), dtype=bool) if counted is None else counted
        for pool in range(int(self.pools.max(initial=-1)) + 1):
            inside = np.flatnonzero((self.pools == pool) & counted)
            own = self.covariance[np.ix_(inside, inside)]
            if len(inside):
                from_mean = np.diag(own) - 2 * own.mean(axis=1) + own.mean()
                margins[inside] = np.sqrt(np.maximum(0.0, from_mean))
        return ELO_PER_LOGIT * margins * student_quantiles(self.deals)

    def difference_errors(self) -> Floats:
        """Return the standard errors of all differences in Elo, [bot, other]; not a number across pools."""
        own = np.diag(self.covariance)
        variances = np.maximum(0.0, own[:, None] + own - 2 * self.covariance)
        same = self.pools[:, None] == self.pools
        return np.where(same, ELO_PER_LOGIT * np.sqrt(variances), np.nan)

    @property
    def fewest_deals(self) -> Ints:
        """[bot, other]: the deals of the one that played fewer, by which their difference is judged."""
        fewest: Ints = np.minimum.outer(self.deals, self.deals)
        return fewest

    def _of_pools(self, values: Floats) -> Floats:
        """Return for each bot the mean of its pool's values."""
        means: Floats = (np.bincount(self.pools, values) / np.bincount(self.pools))[self.pools]
        return means


def estimate_of(games: Games) -> Estimate:
    """Return the most likely strengths of all bots in any games, with their errors.

    With C deals of a bot, its scores count C / (C - 1) times in the sandwich, as usual for few clusters. The
    virtual game of the prior counts as one that was won or lost: without it a bot that won all, or nearly all
    its games would seem to be rated without any doubt. `benchmarks.coverage` measures the intervals.
    """
    estimated = fit(choices_of(games))
    squares, deals = np.zeros_like(estimated.inverse), np.zeros(len(games.bots), dtype=np.int64)
    for scores, played in deal_sums(games, scores_of(games, estimated.strengths)):
        squares += scores.T @ scores
        deals += played.sum(axis=0)
    scale = np.sqrt(deals / np.maximum(1, deals - 1))
    middle = squares * scale[:, None] * scale + np.diag(_prior_variances(estimated.strengths))
    covariance = estimated.inverse @ middle @ estimated.inverse
    return Estimate(games, estimated, deals, covariance, pools_of(games))


def scores_of(_: Games, strengths: Floats) -> Callable[[TableColumns], Floats]:
    """Return what gives the scores of games, [game, seat]."""
    return lambda table: game_scores(table, strengths)


def deal_sums(games: Games, values: Callable[[TableColumns], Floats]) -> Iterator[tuple[Floats, Ints]]:
    """Yield the sums of values of each deal's games, [deal, bot], and 1 where the bot played it, else 0.

    The values of games are asked for as they are summed, [game, seat]. The deals come in the order of their
    first games, many at a time.
    """
    count = len(games.bots)
    total = max((int(deals[-1]) + 1 for _, deals in games.by_deal.values() if len(deals)), default=0)
    deals_at_once = ROWS_AT_ONCE * total // max(1, sum(len(table.deals) for table in games.tables.values()))
    step = max(1, min(deals_at_once, _CELLS_AT_ONCE // max(1, count)))
    for first in range(0, total, step):
        length = min(step, total - first)
        sums, played = np.zeros(length * count), np.zeros(length * count, dtype=np.int64)
        for size, (rows, deals) in games.by_deal.items():
            some = slice(*np.searchsorted(deals, (first, first + length)))
            table = games.tables[size][rows[some]].wide()
            cells = ((deals[some] - first)[:, None] * count + table.bots).ravel()
            sums += np.bincount(cells, values(table).ravel(), len(sums))
            played[cells] = 1
        yield sums.reshape(length, count), played.reshape(length, count)


def pools_of(games: Games) -> Ints:
    """Return each bot's pool, numbered from 0 by their first bots: the components connected by games."""
    pools = np.arange(len(games.bots))
    while True:
        before = pools.copy()
        for table in games.parts():
            np.minimum.at(pools, table.bots, pools[table.bots].min(axis=1, keepdims=True))
        pools = pools[pools]
        if np.array_equal(pools, before):
            return np.unique(pools, return_inverse=True)[1].astype(np.int64)


def student_quantiles(deals: Ints) -> Floats:
    """Return Student's 97.5% quantiles for errors that rest on this many deals; not a number below two."""
    values, which = np.unique(deals, return_inverse=True)
    quantiles = [student_quantile(value - 1) if value >= MIN_DEALS else math.nan for value in values.tolist()]
    return np.array(quantiles, dtype=np.float64)[which].reshape(deals.shape)


def student_probabilities(values: Floats, degrees: Ints) -> Floats:
    """Return how likely numbers of Student's distribution are below `values` (Wallace 1959).

    It is right to 0.0002 from 9 degrees of freedom on, and to 0.01 from 1.
    """
    degrees = np.maximum(1, degrees)
    normal = (8 * degrees + 1) / (8 * degrees + 3) * np.sqrt(degrees * np.log1p(values * values / degrees))
    below: Floats = np.asarray(_erfc(-np.copysign(normal, values) / math.sqrt(2)), dtype=np.float64) / 2
    return below


def holm(p_values: Floats | Sequence[float]) -> Floats:
    """Return p-values corrected for their number (Holm 1979), in their order."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, values[order] * np.arange(len(values), 0, -1)))
    return adjusted


def _prior_variances(strengths: Floats) -> Floats:
    """Return the variance of each virtual game's score, as if it were won or lost at even odds."""
    chance = 0.5 + 0.5 * np.tanh(strengths / 2)
    variances: Floats = PRIOR_GAMES * (0.5 - chance * (1 - chance))
    return variances
