"""What can be said about two bots, and about all pairs at once."""

from __future__ import annotations

import math

import numpy as np

from happycity_tournament.ratings.bounds import TAIL, Bounds, bounds_of, direct_bound
from happycity_tournament.ratings.columns import Flags, Floats, Games, Ints
from happycity_tournament.ratings.errors import nearly_all_even
from happycity_tournament.ratings.fit import Fit
from happycity_tournament.ratings.groups import pools_of
from happycity_tournament.ratings.results import FIXED_SCHEDULE, Comparisons, ErrorRatios
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile
from happycity_tournament.ratings.upsets import counted_in_mean, few_upsets

_erfc = np.frompyfunc(math.erfc, 1, 1)


def comparisons_of(
    fit: Fit, covariance: Floats, ratios: ErrorRatios = FIXED_SCHEDULE, *, even_too: bool = False
) -> Comparisons:
    """Compare all pairs; the covariance is that of all parameters, in logits, and errors are so much larger.

    Within a group, a difference has an error and Student's distribution, by the deals of the bot with fewer
    of them. Between groups of a pool it has a bound. Where a rating rests on one or two upsets, there is no
    interval, and neither where nearly all deals were even: there the error is an upper bound. With `even_too`
    that bound makes an interval.
    """
    groups, deals, bounds = fit.groups, fit.deals_played, bounds_of(fit)
    elos = ELO_PER_LOGIT * bounds.points
    of_strengths = ELO_PER_LOGIT**2 * covariance[fit.layout.strengths, fit.layout.strengths]
    own, few = np.diag(of_strengths), few_upsets(fit)
    wider, apart = (ratio if ratio < math.inf else math.nan for ratio in ratios)
    from_mean = _variances_from_mean(fit, of_strengths) if few.any() else own
    margins = np.where(groups.levels == 0, wider * student_quantiles(deals) * np.sqrt(from_mean), 0.0)
    unknown = few if even_too else few | nearly_all_even(fit)
    margins[unknown] = np.nan
    fewest = np.minimum.outer(deals, deals)
    estimated = (groups.pools[:, None] == groups.pools) & (fewest > 1)
    np.fill_diagonal(estimated, val=False)
    known = estimated & (fewest >= MIN_DEALS)
    same = known & (groups.groups[:, None] == groups.groups)
    errors = apart * np.sqrt(np.maximum(0.0, own[:, None] + own - 2 * of_strengths))
    errors = np.where(estimated, np.where(known & ~same, np.inf, errors), np.nan)
    differences = elos[:, None] - elos
    within = student_quantiles(fewest) * np.where(same & ~unknown[:, None] & ~unknown, errors, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        los = student_probabilities(np.where(same & (errors > 0), differences / errors, np.nan), fewest - 1)
    compared = Comparisons(
        own_elos=elos,
        own_lows=ELO_PER_LOGIT * bounds.lows - margins,
        own_highs=ELO_PER_LOGIT * bounds.highs + margins,
        elos=differences,
        errors=errors,
        lows=differences - within,
        highs=differences + within,
        los=los,
    )
    if (apart := known & ~same).any():
        _compare_groups(fit, bounds, compared, apart)
    return compared


def _variances_from_mean(fit: Fit, covariance: Floats) -> Floats:
    """Return the variances of the distances from the means of the bots that count in them."""
    counted, variances = counted_in_mean(fit), np.diag(covariance).copy()
    for inside in pools_of(fit.groups):
        some = inside & counted
        variances[inside] += covariance[np.ix_(some, some)].mean()
        variances[inside] -= 2 * covariance[np.ix_(inside, some)].mean(axis=1)
    return np.maximum(variances, 0.0)


def certain_order(los: Floats) -> Flags:
    """Return which bots are certainly stronger than which, all pairs together with 95% (Holm 1979)."""
    certain = np.zeros(los.shape, dtype=bool)
    rows, columns = np.nonzero(np.triu(~np.isnan(los), 1))
    chances = np.minimum(los[rows, columns], 1 - los[rows, columns])
    order = np.argsort(chances, kind="stable")
    fails = chances[order] > TAIL / np.arange(len(order), 0, -1)
    rejected = order[: int(fails.argmax()) if fails.any() else len(order)]
    rows, columns = rows[rejected], columns[rejected]
    certain[rows, columns] = los[rows, columns] > 0.5
    certain[columns, rows] = los[rows, columns] < 0.5
    return certain


def student_quantiles(deals: Ints) -> Floats:
    """Return Student's 97.5% quantiles for errors that rest on so many deals; no use with fewer than two."""
    values, which = np.unique(deals, return_inverse=True)
    quantiles: Floats = np.array([student_quantile(max(1, value - 1)) for value in values.tolist()])
    return quantiles[which].reshape(deals.shape)


def student_probabilities(values: Floats, degrees: Ints) -> Floats:
    """Return how likely numbers of Student's distribution are below `values` (Wallace 1959).

    It is right to 0.0002 from 9 degrees of freedom on.
    """
    degrees = np.maximum(1, degrees)
    normal = (8 * degrees + 1) / (8 * degrees + 3) * np.sqrt(degrees * np.log1p(values * values / degrees))
    below: Floats = np.asarray(_erfc(-np.copysign(normal, values) / math.sqrt(2)), dtype=np.float64) / 2
    return below


def _compare_groups(fit: Fit, bounds: Bounds, compared: Comparisons, apart: Flags) -> None:
    """Fill in what is known of pairs of different groups."""
    compared.lows[apart], compared.highs[apart] = -np.inf, np.inf
    for bot in np.flatnonzero((apart & fit.groups.above).any(axis=1)).tolist():
        met = _meetings(fit.games, bot)
        for other in np.flatnonzero(apart[bot] & fit.groups.above[bot]).tolist():
            direct = ELO_PER_LOGIT * direct_bound(int(met[other]))
            low = max(direct, float(compared.own_lows[bot] - compared.own_highs[other]))
            compared.lows[bot, other], compared.highs[other, bot] = low, -low
            chance = min(0.5 ** int(met[other]), _chance_if_equal(fit.groups.levels, bounds, bot, other))
            if chance < 1:
                compared.los[bot, other], compared.los[other, bot] = 1 - chance, chance


def _chance_if_equal(levels: Ints, bounds: Bounds, bot: int, other: int) -> float:
    """Return how likely such games with the main group are if `bot` is no stronger than `other`, below it."""
    members = [each for each in (bot, other) if not levels[each]]
    strength = float(bounds.points[members[0]]) if members else 0.0  # else both are as strong as the mean
    best = bounds.log_chance(bot, strength) if levels[bot] > 0 >= levels[other] else 0.0
    worst = bounds.log_chance(other, strength) if levels[other] < 0 <= levels[bot] else 0.0
    return math.exp(min(best, worst))


def _meetings(games: Games, bot: int) -> Ints:
    """Return in how many games a bot sat at a table with each one."""
    met = np.zeros(len(games.bots), dtype=np.int64)
    for seats, table in games.tables.items():
        bots = table.bots[(table.bots == bot).any(axis=1)]
        for seat in range(seats):
            again = (bots[:, :seat] == bots[:, seat, None]).any(axis=1)
            met += np.bincount(bots[~again, seat], minlength=len(met))
    return met
