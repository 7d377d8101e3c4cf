"""Ratings of any number of games: the Davidson-Luce model, with errors that rest on whole deals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.ratings.bounds import bounds_of
from happycity_tournament.ratings.checks.bursts import block_length, bursts_of, in_blocks
from happycity_tournament.ratings.columns import Flags, Floats, Games
from happycity_tournament.ratings.comparisons import certain_order, comparisons_of
from happycity_tournament.ratings.duplicate_gain import duplicate_gains
from happycity_tournament.ratings.errors import nearly_all_even, sandwich
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.groups import Groups, pools_of
from happycity_tournament.ratings.results import (
    FIXED_SCHEDULE,
    MODEL,
    Comparisons,
    ErrorRatios,
    RatedBot,
    Ratings,
    SeatEffect,
)
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile
from happycity_tournament.ratings.upsets import few_upsets

MAX_NAMES = 3
"""Bots that the model's line names of those without an interval."""

FindErrorRatios = Callable[[Mapping[str, float], Floats], ErrorRatios]
"""Finds by how much errors are too small, from the bots' Elo and the covariance that was computed."""


def rate(
    games: Games,
    *,
    anchor: str | None = None,
    anchor_elo: float = MEAN_ELO,
    error_ratios: FindErrorRatios | None = None,
) -> Ratings:
    """Return the ratings, with `anchor` at `anchor_elo`; if it is None, the mean of each pool's main group.

    Where results chose some of the games, `error_ratios` finds how much larger that makes the errors.

    Raises:
        KeyError: no bot has the anchor's name.
    """
    if anchor is not None and anchor not in games.bots:
        raise KeyError(anchor)
    return rate_fit(fit(games), anchor=anchor, anchor_elo=anchor_elo, error_ratios=error_ratios)


def rate_fit(
    estimate: Fit,
    *,
    anchor: str | None = None,
    anchor_elo: float = MEAN_ELO,
    error_ratios: FindErrorRatios | None = None,
) -> Ratings:
    """Return the ratings of an estimate; see `rate`."""
    bursts = bursts_of(estimate)
    length = block_length(estimate, bursts)
    clustered = in_blocks(estimate, length)
    covariance = sandwich(clustered)
    ratios = ratios_of(estimate, covariance, error_ratios)
    layout, comparisons = estimate.layout, comparisons_of(clustered, covariance, ratios)
    lines = [
        replace(line, deals=deals)
        for line, deals in zip(
            lines_of(clustered, comparisons, anchor=anchor, anchor_elo=anchor_elo),
            estimate.deals_played.tolist(),
            strict=True,
        )
    ]
    in_bursts = "" if length == 1 else _in_bursts(estimate.games.bots[bursts[0].bot], length)
    return Ratings(
        model="; ".join(
            filter(None, (_model(estimate), ratios.text, in_bursts, *_without_interval(clustered)))
        ),
        lines=_with_ranks(lines, certain_order(comparisons.los)),
        anchor=anchor,
        seat_effects={size: _seat_effects(clustered, covariance, size) for size in estimate.seat_sizes},
        deltas=dict(zip(layout.tie_orders, np.exp(estimate.parameters[layout.ties]).tolist(), strict=True)),
        duplicate_gains=duplicate_gains(estimate),
        covariance=ELO_PER_LOGIT**2 * covariance[layout.strengths, layout.strengths],
        comparisons=comparisons,
        bursts=tuple(bursts),
    )


def ratios_of(estimate: Fit, covariance: Floats, error_ratios: FindErrorRatios | None) -> ErrorRatios:
    """Return how much larger the errors of an estimate are than this covariance of its parameters says."""
    if error_ratios is None:
        return FIXED_SCHEDULE
    strengths = estimate.layout.strengths
    elos = (ELO_PER_LOGIT * estimate.parameters[strengths]).tolist()
    named = dict(zip(estimate.games.bots, elos, strict=True))
    return error_ratios(named, ELO_PER_LOGIT**2 * covariance[strengths, strengths])


def lines_of(
    estimate: Fit, comparisons: Comparisons, *, anchor: str | None = None, anchor_elo: float = MEAN_ELO
) -> list[RatedBot]:
    """Return each bot's rating with its interval, without ranks."""
    bots, groups = estimate.games.bots, estimate.groups
    games, deals = estimate.games.games_played(), estimate.deals_played
    index = None if anchor is None else bots.index(anchor)
    elos = _from_anchor(comparisons.own_elos, groups, anchor=index)
    lows, highs, enough = comparisons.own_lows.copy(), comparisons.own_highs.copy(), deals >= MIN_DEALS
    for inside in pools_of(groups):
        if index is not None and inside[index]:
            lows[inside], highs[inside] = comparisons.lows[inside, index], comparisons.highs[inside, index]
            lows[index] = highs[index] = 0.0
            enough[inside] &= enough[index]
        elif _without_scale(groups, inside):
            pairs = np.ix_(inside, inside)
            lows[inside] = _mean_distances(comparisons.lows[pairs])
            highs[inside] = _mean_distances(comparisons.highs[pairs])
    ends = [_ends(values + anchor_elo, enough) for values in (lows, highs)]
    counts = (column.tolist() for column in (games, deals, groups.pools))
    rows = zip(bots, (anchor_elo + elos).tolist(), *ends, *counts, strict=True)
    return [RatedBot(*row) for row in rows]


def elos_of(estimate: Fit) -> Floats:
    """Return the ratings alone, without an anchor and without errors."""
    return MEAN_ELO + _from_anchor(ELO_PER_LOGIT * bounds_of(estimate).points, estimate.groups)


def _from_anchor(elos: Floats, groups: Groups, *, anchor: int | None = None) -> Floats:
    """Return the distances from the anchor in its pool, and from the mean in others."""
    elos = elos.copy()
    for inside in pools_of(groups):
        if anchor is not None and inside[anchor]:
            elos[inside] -= elos[anchor]
        elif _without_scale(groups, inside):
            elos[inside] -= elos[inside].mean()
    return elos


def _without_scale(groups: Groups, inside: Flags) -> bool:
    """Return whether no difference in a pool is finite: then the mean is that of all its bots."""
    return bool(inside.sum() > 1 and (inside & (groups.levels == 0)).sum() == 1)


def _mean_distances(pairs: Floats) -> Floats:
    """Return the means of bounds of differences over all bots, the row's own among them."""
    distances: Floats = np.where(np.eye(len(pairs), dtype=bool), 0.0, pairs).mean(axis=1)
    return distances


def _ends(values: Floats, known: Flags) -> list[float | None]:
    """Return one end of each interval; None where there is none."""
    return [
        value if math.isfinite(value) and there else None
        for value, there in zip(values.tolist(), known, strict=True)
    ]


def _with_ranks(lines: Sequence[RatedBot], certain: Flags) -> tuple[RatedBot, ...]:
    """Add which ranks each bot may have."""
    stronger, weaker = certain.sum(axis=0).tolist(), certain.sum(axis=1).tolist()
    members = Counter(line.pool for line in lines)
    return tuple(
        replace(line, rank_best=1 + better, rank_worst=members[line.pool] - worse)
        for line, better, worse in zip(lines, stronger, weaker, strict=True)
    )


def _seat_effects(estimate: Fit, covariance: Floats, size: int) -> tuple[SeatEffect, ...]:
    seats = estimate.layout.seats(size)
    deals = len(np.unique(estimate.games.tables[size].deals))
    margins = student_quantile(max(1, deals - 1)) * np.sqrt(np.diag(covariance)[seats])
    values = zip(estimate.parameters[seats].tolist(), margins.tolist(), strict=True)
    return tuple(SeatEffect(ELO_PER_LOGIT * effect, ELO_PER_LOGIT * margin) for effect, margin in values)


def _in_bursts(bot: str, length: int) -> str:
    return (
        f"as results of {bot} came in bursts, errors rest on blocks of {length} deals, at least {MIN_DEALS}"
    )


def _without_interval(estimate: Fit) -> Iterator[str]:
    """Yield why bots with enough deals have no interval."""
    enough = estimate.deals_played >= MIN_DEALS
    finite = estimate.groups.levels == 0
    few, even = few_upsets(estimate), nearly_all_even(estimate)
    if names := _names(estimate.games.bots, few & enough):
        yield f"no interval for {names}, whose games all but went one way; the mean is that of the others"
    if names := _names(estimate.games.bots, even & ~few & finite & enough):
        yield f"no interval for {names}, as nearly all of their deals were even"


def _names(bots: Sequence[str], wanted: Flags) -> str:
    names = [bots[bot] for bot in np.flatnonzero(wanted).tolist()]
    return ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if names[MAX_NAMES:] else "")


def _model(estimate: Fit) -> str:
    if not estimate.seat_sizes:
        return MODEL
    return f"{MODEL}, seat effects at tables of {', '.join(map(str, estimate.seat_sizes))}"
