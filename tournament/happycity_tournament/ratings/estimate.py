"""Strengths with their errors, where whole deals are independent and the games of a deal are not.

Games of one deal share their cards. With the bots rotated through the seats, luck cancels within a deal and
errors that take games as independent are too large; without rotation they are too small. The cluster-robust
sandwich (Liang & Zeger 1986) adds up the scores of a deal's games first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

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
from happycity_tournament.ratings.results import LOST_ALL, WON_ALL
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile

_ROUNDING = 1e-6
_WELL_KNOWN = 6  # deals that a strength has to follow from to be in the mean
_CELLS_AT_ONCE = 1 << 18  # of a matrix with a row for each deal: 2 MB
_erfc = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True, eq=False)
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
    independent: Floats
    """By bot: how many of its deals its error follows from, see `_independent`."""
    above: Flags
    """[bot, other]: whether the bot was above the other one, or above one that was, and so on: only then the
    difference of their strengths has a lower end."""

    @property
    def deals(self) -> Ints:
        """In how many deals each bot played."""
        return self.shared.diagonal()

    @property
    def elos(self) -> Floats:
        """The strengths in Elo, from the mean of the bots of each pool that are `in_mean`."""
        strengths: Floats = ELO_PER_LOGIT * self.fit.strengths
        means = np.bincount(self.pools, strengths * self.in_mean) / np.bincount(self.pools, self.in_mean)
        distances: Floats = strengths - means[self.pools]
        return distances

    @cached_property
    def in_mean(self) -> Flags:
        """Which bots make up the mean of their pool: those between whom all differences have two ends.

        These are the largest group in which each bot was above each other one, if only through others (the
        condition under which strengths have a finite estimate, Ford 1957). Of groups of one size all are in
        the mean, and of single bots those that neither won nor lost everything, if there are any. Of the
        group those count that are known by more than a few upsets, as one of a much stronger bot would move
        the mean by far.
        """
        groups = self.above & self.above.T
        np.fill_diagonal(groups, val=True)
        sizes = groups.sum(axis=1) + 0.5 * np.array([not mark for mark in marks_of(self.games)])
        known = self.independent >= np.minimum(_WELL_KNOWN, self.deals / 2)
        sizes = sizes + 0.25 * known
        largest = np.zeros(self.pools.max(initial=-1) + 1)
        np.maximum.at(largest, self.pools, sizes)
        in_mean: Flags = sizes == largest[self.pools]
        return in_mean

    def ends(self, errors: float = 1.0) -> tuple[Floats, Floats]:
        """Return the ends of the 95% intervals of `elos`, with errors this many times as large.

        They are not numbers with fewer than two deals, and where the bot was never above, or never below, a
        bot of the mean, not even through others.
        """
        low, high = np.full((2, len(self.deals)), np.nan)
        for pool in np.unique(self.pools).tolist():
            inside = np.flatnonzero(self.pools == pool)
            mean = self.in_mean[inside]
            shares = np.eye(len(inside)) - mean / mean.sum()
            variances, products = self._by_deal(inside, shares)
            squares = shares**2
            sums = (squares @ variances) ** 2
            degrees = _degrees(sums, ((squares @ products) * squares).sum(axis=1), self.deals[inside])
            margins = errors * ELO_PER_LOGIT * np.sqrt(variances) * student_quantiles(degrees)
            among = self.above[np.ix_(inside, inside)] | np.eye(len(inside), dtype=bool)
            low[inside] = np.where(among[:, mean].all(axis=1), self.elos[inside] - margins, np.nan)
            high[inside] = np.where(among[mean].all(axis=0), self.elos[inside] + margins, np.nan)
        return low, high

    def difference_errors(self) -> tuple[Floats, Floats]:
        """Return the standard errors of all differences, in Elo, and their degrees of freedom.

        Both are [bot, other], and not numbers across pools; nor are the degrees with fewer than two deals.
        """
        errors, degrees = np.full((2, *self.covariance.shape), np.nan)
        for pool in np.unique(self.pools).tolist():
            inside = np.flatnonzero(self.pools == pool)
            variances, products = self._by_deal(inside, np.eye(len(inside)) - 1 / len(inside))
            cells, squares = np.ix_(inside, inside), np.diag(products)
            sums = (variances[:, None] + variances) ** 2
            fewest = np.minimum.outer(self.deals[inside], self.deals[inside])
            degrees[cells] = _degrees(sums, squares[:, None] + squares + 2 * products, fewest)
            own = np.diag(self.covariance)[inside]
            errors[cells] = np.sqrt(np.maximum(0.0, own[:, None] + own - 2 * self.covariance[cells]))
        return ELO_PER_LOGIT * errors, degrees

    def _by_deal(self, inside: Ints, shares: Floats) -> tuple[Floats, Floats]:
        """Return the variances of some bots from a mean, and what degrees of freedom follow from.

        A row of `shares` says what the distance of a bot from the mean is a sum of.

        A variance is a sum of what single deals contribute, each with one degree of freedom. By
        Satterthwaite (1946) the sum has (sum of contributions)^2 / (sum of their squares), less one for the
        mean. The deals of a bot are taken to contribute as much as `independent` ones that contribute the
        same; the sums of squares for two bots are then the products of their contributions, times the deals
        that they share. So two bots that met in every deal have the degrees of one of them, and two that
        never met have those of both.
        """
        own = self.covariance[np.ix_(inside, inside)]
        variances = np.maximum(0.0, ((shares @ own) * shares).sum(axis=1))
        each = variances / np.sqrt(np.maximum(1, self.deals * self.independent)[inside])
        return variances, self.shared[np.ix_(inside, inside)] * each[:, None] * each


def estimate_of(games: Games) -> Estimate:
    """Return the most likely strengths of all bots in any games, with their errors.

    With C deals of a bot, its scores count C / (C - 1) times in the sandwich, as usual for few clusters. The
    virtual game of the prior counts as one that was won or lost: without it a bot that won all, or nearly all
    its games would seem to be rated without any doubt. `python -m tools coverage` measures the intervals.
    """
    estimated = fit(choices_of(games))
    squares, shared = np.zeros_like(estimated.inverse), np.zeros_like(estimated.inverse)
    sums = np.zeros((2, len(games.bots)))
    for scores, played in deal_sums(games, scores_of(estimated.strengths)):
        squares += scores.T @ scores
        shared += played.T @ played
        moved = (scores @ estimated.inverse) ** 2
        sums += moved.sum(axis=0), (moved**2).sum(axis=0)
    deals = shared.diagonal()
    scale = np.sqrt(deals / np.maximum(1, deals - 1))
    middle = squares * scale[:, None] * scale + _prior_errors(estimated.strengths)
    covariance = estimated.inverse @ middle @ estimated.inverse
    return Estimate(
        games,
        estimated,
        shared.astype(np.int64),
        covariance,
        pools_of(games),
        _independent(sums[0], sums[1], deals),
        _closure(games.scores() > 0),
    )


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


def marks_of(games: Games) -> Sequence[str]:
    """Return which bots were above all others in all games, or below all."""
    scores = games.scores()
    won, lost = scores.sum(axis=1), scores.sum(axis=0)
    return [
        WON_ALL if not below and above else LOST_ALL if not above and below else ""
        for above, below in zip(won.tolist(), lost.tolist(), strict=True)
    ]


def _independent(squares: Floats, fourths: Floats, deals: Floats) -> Floats:
    """Return how many deals with normal contributions know the error of each strength as well as its own do.

    A variance that is estimated by a sum of squares S2 of C contributions has 2 S2^2 / (S4 - S2^2 / C)
    degrees of freedom (Satterthwaite 1946, with the moments of the sample), S4 the sum of their fourth
    powers. If a strong bot lost in k deals, these are nearly all that moves its strength, and it has 2 k.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = 2 * squares**2 / np.maximum(0.0, fourths - squares**2 / deals)
    independent: Floats = np.fmin(deals, 1 + degrees)
    return independent


def _closure(pairs: Flags) -> Flags:
    """Return which bots are connected with which others by a chain of ordered pairs."""
    while True:
        longer: Flags = pairs | ((pairs.astype(np.float32) @ pairs.astype(np.float32)) > 0)
        if np.array_equal(longer, pairs):
            return pairs
        pairs = longer


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
        degrees: Floats = np.fmax(1.0, np.floor(sums / squares - 1 + _ROUNDING))
    return np.where(deals < MIN_DEALS, np.nan, degrees)


def _prior_errors(strengths: Floats) -> Floats:
    """Return what the virtual games add to the products of scores, [bot, other].

    Each game counts as one that was won or lost at even odds. Together they draw strong and weak bots to
    each other, and what they move the strengths by counts as an error in all.
    """
    chances = chances_above(strengths)
    drawn = PRIOR_GAMES * (0.5 - chances)
    errors: Floats = np.outer(drawn, drawn) + np.diag(PRIOR_GAMES * (0.5 - chances * (1 - chances)))
    return errors
