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
    game_leverages,
    game_scores,
)
from happycity_tournament.ratings.results import LOST_ALL, WON_ALL
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile

_ROUNDING = 1e-6
_WELL_KNOWN = 5  # degrees of freedom with which a bot is in the mean
_LEAST_LEFT = 0.05  # of a deal's scores after the fit
_CELLS_AT_ONCE = 1 << 18  # of a matrix with a row for each deal: 2 MB
_erfc = np.frompyfunc(math.erfc, 1, 1)


@dataclass(frozen=True, eq=False)
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
    degrees: Floats
    """[bot, other]: degrees of freedom of the difference; not a number with fewer than two deals of one."""
    above: Flags
    """[bot, other]: whether the bot was above the other one, or above one that was, and so on: only then the
    difference of their strengths has a lower end."""

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
        degrees = np.where(groups & ~np.eye(len(groups), dtype=bool), np.nan_to_num(self.degrees), 0.0)
        known = degrees.max(axis=1, initial=0.0) >= np.minimum(_WELL_KNOWN, self.deals / 2)
        sizes = sizes + 0.25 * known
        largest = np.zeros(self.pools.max(initial=-1) + 1)
        np.maximum.at(largest, self.pools, sizes)
        in_mean: Flags = sizes == largest[self.pools]
        return in_mean

    def ends(self) -> tuple[Floats, Floats]:
        """Return the ends of the 95% intervals of `elos`.

        They are not numbers with fewer than two deals, and where the bot was never above, or never below, a
        bot of the mean, not even through others.
        """
        mean = self._same_pool & self.in_mean
        shares = np.eye(len(mean)) - mean / mean.sum(axis=1, keepdims=True)
        squares, fourths = np.zeros((2, len(mean)))
        for moved, _ in _moved_by_deals(self.games, self.fit):
            squares += (distances := (moved @ shares.T) ** 2).sum(axis=0)
            fourths += (distances**2).sum(axis=0)
        degrees = _degrees(squares, fourths, most=self.deals, fewest=self.deals)
        variances = np.maximum(0.0, ((shares @ self.covariance) * shares).sum(axis=1))
        margins = ELO_PER_LOGIT * np.sqrt(variances) * student_quantiles(degrees)
        among = self.above | ~mean | np.eye(len(mean), dtype=bool)
        below = self.above.T | ~mean | np.eye(len(mean), dtype=bool)
        low = np.where(among.all(axis=1), self.elos - margins, np.nan)
        return low, np.where(below.all(axis=1), self.elos + margins, np.nan)

    def difference_errors(self) -> Floats:
        """Return the standard errors of all differences in Elo, [bot, other]; not numbers across pools."""
        own = self.covariance.diagonal()
        variances = np.maximum(0.0, own[:, None] + own - 2 * self.covariance)
        return np.where(self._same_pool, ELO_PER_LOGIT * np.sqrt(variances), np.nan)

    @property
    def _same_pool(self) -> Flags:
        same: Flags = self.pools[:, None] == self.pools
        return same


def estimate_of(games: Games) -> Estimate:
    """Return the most likely strengths of all bots in any games, with their errors.

    Each virtual game of the prior counts as one that was won or lost: without it a bot that won all, or
    nearly all its games would seem to be rated without any doubt. `python -m tools coverage` measures the
    intervals.
    """
    fitted = fit(choices_of(games))
    products, shared, even, odd = np.zeros((4, *fitted.inverse.shape))
    for moved, played in _moved_by_deals(games, fitted):
        squares = moved**2
        products += moved.T @ moved
        even += squares.T @ squares
        odd += (squares * moved).T @ moved
        shared += played.T @ played
    own, fourths, deals = products.diagonal(), even.diagonal(), shared.diagonal()
    degrees = _degrees(
        own[:, None] + own - 2 * products,
        fourths[:, None] + fourths + 6 * even - 4 * (odd + odd.T),  # of the differences of what was moved
        most=deals[:, None] + deals - shared,
        fewest=np.minimum.outer(deals, deals),
    )
    np.fill_diagonal(degrees, np.nan)
    covariance = products + fitted.inverse @ _prior_errors(fitted.strengths) @ fitted.inverse
    above = _closure(games.scores() > 0)
    return Estimate(games, fitted, deals.astype(np.int64), covariance, pools_of(games), degrees, above)


def _moved_by_deals(games: Games, fitted: Fit) -> Iterator[tuple[Floats, Floats]]:
    """Yield by how much deals moved the strengths, [deal, bot], and 1 where the bot played it, else 0.

    A fit comes near to the deals that it follows from, so errors are too small if few deals say something.
    Therefore the scores of a deal are divided by the root of 1 less its leverage (Bell & McCaffrey 2002), the
    mean one of `game_leverages`.
    """
    scores = deal_sums(games, scores_of(fitted.strengths))
    leverages = deal_sums(games, lambda table: game_leverages(table, fitted))
    for (moved, played), (leverage, _) in zip(scores, leverages, strict=True):
        left = np.maximum(_LEAST_LEFT, 1 - leverage.sum(axis=1, keepdims=True))
        yield (moved / np.sqrt(left)) @ fitted.inverse, played


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


def _degrees(squares: Floats, fourths: Floats, *, most: Floats | Ints, fewest: Floats | Ints) -> Floats:
    """Return the whole degrees of freedom of variances; not a number where the `fewest` deals are too few.

    A variance that is estimated by a sum of squares S2 has 2 S2^2 / S4 degrees of freedom, S4 the sum of
    fourth powers (Satterthwaite 1946), but at most one less than there are deals. If a strong bot lost in k
    deals, these are nearly all that moves its strength, and it has 2 k.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        known = np.fmin(most - 1, 2 * squares**2 / np.maximum(0.0, fourths))
    degrees: Floats = np.fmax(1.0, np.floor(known + _ROUNDING))
    return np.where(fewest < MIN_DEALS, np.nan, degrees)


def _prior_errors(strengths: Floats) -> Floats:
    """Return what the virtual games add to the products of scores, [bot, other].

    Each game counts as one that was won or lost at even odds. Together they draw strong and weak bots to
    each other, and what they move the strengths by counts as an error in all.
    """
    chances = chances_above(strengths)
    drawn = PRIOR_GAMES * (0.5 - chances)
    errors: Floats = np.outer(drawn, drawn) + np.diag(PRIOR_GAMES * (0.5 - chances * (1 - chances)))
    return errors
