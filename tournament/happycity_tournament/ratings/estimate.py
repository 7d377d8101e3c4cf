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
from happycity_tournament.ratings.likelihood import (
    PRIOR_GAMES,
    Fit,
    chances_above,
    choices_of,
    fit,
    game_scores,
)
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile

_ROUNDING = 1e-6
_CELLS_AT_ONCE = 1 << 18  # of a matrix with a row for each deal: 2 MB
_erfc = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The strengths of bots, and what their errors are computed from."""

    games: Games
    fit: Fit
    shared: Ints
    """[bot, bot]: in how many deals both played; on the diagonal the deals of each one."""
    covariance: Floats
    """[bot, bot]: of the strengths, in logits; of use for differences within a pool."""
    pools: Ints
    """Each bot's pool, from 0; bots of different pools never met, not even through others."""

    @property
    def deals(self) -> Ints:
        """In how many deals each bot played."""
        return self.shared.diagonal()

    @property
    def elos(self) -> Floats:
        """The strengths in Elo, from the mean of each bot's pool."""
        strengths: Floats = ELO_PER_LOGIT * self.fit.strengths
        means = np.bincount(self.pools, strengths) / np.bincount(self.pools)
        distances: Floats = strengths - means[self.pools]
        return distances

    def margins(self, counted: Flags | None = None) -> Floats:
        """Return half of the 95% interval of each distance from the mean of the pool, in Elo.

        With `counted` the mean is that of these bots, and only they have a margin. It is not a number with
        fewer than two deals.
        """
        margins = np.full(len(self.deals), np.nan)
        for inside in self._members(counted):
            variances, products = self._by_deal(inside)
            squares = np.full(products.shape, 1 / len(inside) ** 2)
            np.fill_diagonal(squares, (1 - 1 / len(inside)) ** 2)  # of the factors in the distances
            sums = (squares @ variances) ** 2
            degrees = _degrees(sums, ((squares @ products) * squares).sum(axis=1), self.deals[inside])
            margins[inside] = np.sqrt(variances) * student_quantiles(degrees)
        return ELO_PER_LOGIT * margins

    def difference_errors(self) -> tuple[Floats, Floats]:
        """Return the standard errors of all differences, in Elo, and their degrees of freedom.

        Both are [bot, other], and not numbers across pools; nor are the degrees with fewer than two deals.
        """
        errors, degrees = np.full((2, *self.covariance.shape), np.nan)
        for inside in self._members():
            variances, products = self._by_deal(inside)
            cells, squares = np.ix_(inside, inside), np.diag(products)
            sums = (variances[:, None] + variances) ** 2
            fewest = np.minimum.outer(self.deals[inside], self.deals[inside])
            degrees[cells] = _degrees(sums, squares[:, None] + squares + 2 * products, fewest)
            own = np.diag(self.covariance)[inside]
            errors[cells] = np.sqrt(np.maximum(0.0, own[:, None] + own - 2 * self.covariance[cells]))
        return ELO_PER_LOGIT * errors, degrees

    def _members(self, counted: Flags | None = None) -> Iterator[Ints]:
        """Yield the bots of each pool, only those that count."""
        counted = np.ones(len(self.pools), dtype=bool) if counted is None else counted
        for pool in np.unique(self.pools[counted]).tolist():
            yield np.flatnonzero((self.pools == pool) & counted)

    def _by_deal(self, inside: Ints) -> tuple[Floats, Floats]:
        """Return the variances of some bots from their mean, and what degrees of freedom follow from.

        A variance is a sum of what single deals contribute, each with one degree of freedom. By
        Satterthwaite (1946) the sum has (sum of contributions)^2 / (sum of their squares), less one for the
        mean. All deals of a bot are taken to contribute the same; the sums of squares for two bots are then
        the products of their contributions, times the deals that they share. So two bots that met in
        every deal have the degrees of one of them, and two that never met have those of both.
        """
        own = self.covariance[np.ix_(inside, inside)]
        variances = np.maximum(0.0, np.diag(own) - 2 * own.mean(axis=1) + own.mean())
        each = variances / np.maximum(1, self.deals[inside])
        return variances, self.shared[np.ix_(inside, inside)] * each[:, None] * each


def estimate_of(games: Games) -> Estimate:
    """Return the most likely strengths of all bots in any games, with their errors.

    With C deals of a bot, its scores count C / (C - 1) times in the sandwich, as usual for few clusters. The
    virtual game of the prior counts as one that was won or lost: without it a bot that won all, or nearly all
    its games would seem to be rated without any doubt. `python -m tools coverage` measures the intervals.
    """
    estimated = fit(choices_of(games))
    squares, shared = np.zeros_like(estimated.inverse), np.zeros_like(estimated.inverse)
    for scores, played in deal_sums(games, scores_of(estimated.strengths)):
        squares += scores.T @ scores
        shared += played.T @ played
    deals = shared.diagonal()
    scale = np.sqrt(deals / np.maximum(1, deals - 1))
    middle = squares * scale[:, None] * scale + np.diag(_prior_variances(estimated.strengths))
    covariance = estimated.inverse @ middle @ estimated.inverse
    return Estimate(games, estimated, shared.astype(np.int64), covariance, pools_of(games))


def scores_of(strengths: Floats) -> Callable[[TableColumns], Floats]:
    """Return what gives the scores of games, [game, seat]."""
    return lambda table: game_scores(table, strengths)


def deal_sums(games: Games, values: Callable[[TableColumns], Floats]) -> Iterator[tuple[Floats, Floats]]:
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
        sums, played = np.zeros(length * count), np.zeros(length * count)
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


def student_quantiles(degrees: Floats) -> Floats:
    """Return Student's 97.5% quantiles for whole degrees of freedom, not a number for those that aren't."""
    values, which = np.unique(degrees, return_inverse=True)
    quantiles = [math.nan if math.isnan(value) else student_quantile(int(value)) for value in values.tolist()]
    return np.array(quantiles, dtype=np.float64)[which].reshape(degrees.shape)


def student_probabilities(values: Floats, degrees: Floats | Ints) -> Floats:
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


def _degrees(sums: Floats, squares: Floats, deals: Ints) -> Floats:
    """Return whole degrees of freedom, not a number with too few deals; see `Estimate._by_deal`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees: Floats = np.maximum(1.0, np.floor(sums / squares - 1 + _ROUNDING))
    return np.where(deals < MIN_DEALS, np.nan, degrees)


def _prior_variances(strengths: Floats) -> Floats:
    """Return the variance of each virtual game's score, as if it were won or lost at even odds."""
    chance = chances_above(strengths)
    variances: Floats = PRIOR_GAMES * (0.5 - chance * (1 - chance))
    return variances
