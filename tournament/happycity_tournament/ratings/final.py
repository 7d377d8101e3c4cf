"""Ratings of any number of games: the Davidson-Luce model, with errors that rest on whole deals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.ratings.bounds import bounds_of
from happycity_tournament.ratings.columns import Flags, Floats, Games
from happycity_tournament.ratings.comparisons import certain_order, comparisons_of
from happycity_tournament.ratings.duplicate_gain import duplicate_gains
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.groups import Groups, pools_of
from happycity_tournament.ratings.results import MODEL, Comparisons, RatedBot, Ratings, SeatEffect
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile

ErrorRatio = Callable[[Mapping[str, float], Floats], float]
"""By how much errors are too small, 1 or more, from the bots' Elo and the covariance that was computed."""


def rate(
    games: Games,
    *,
    anchor: str | None = None,
    anchor_elo: float = MEAN_ELO,
    error_ratio: ErrorRatio | None = None,
) -> Ratings:
    """Return the ratings, with `anchor` at `anchor_elo`; if it is None, the mean of each pool's main group.

    Where results chose some of the games, `error_ratio` says how much larger that makes the errors. There are
    no intervals if it is infinite.

    Raises:
        KeyError: no bot has the anchor's name.
    """
    if anchor is not None and anchor not in games.bots:
        raise KeyError(anchor)
    return rate_fit(fit(games), anchor=anchor, anchor_elo=anchor_elo, error_ratio=error_ratio)


def rate_fit(
    estimate: Fit,
    *,
    anchor: str | None = None,
    anchor_elo: float = MEAN_ELO,
    error_ratio: ErrorRatio | None = None,
) -> Ratings:
    """Return the ratings of an estimate; see `rate`."""
    games, covariance = estimate.games, sandwich(estimate)
    if error_ratio is None:
        return ratings_of(estimate, covariance, anchor=anchor, anchor_elo=anchor_elo)
    strengths = estimate.layout.strengths
    elos = dict(zip(games.bots, (ELO_PER_LOGIT * estimate.parameters[strengths]).tolist(), strict=True))
    ratio = error_ratio(elos, ELO_PER_LOGIT**2 * covariance[strengths, strengths])
    widened = widen(covariance, ratio, bots=len(games.bots))
    ratings = ratings_of(estimate, widened, anchor=anchor, anchor_elo=anchor_elo)
    return replace(ratings, model=ratings.model + _widening(ratio))


def widen(covariance: Floats, ratio: float, *, bots: int) -> Floats:
    """Return a covariance of parameters with so much larger errors of strengths; infinite: not known."""
    factors = np.ones(len(covariance))
    factors[:bots] = ratio if ratio < math.inf else math.nan
    return covariance * np.outer(factors, factors)


def _widening(ratio: float) -> str:
    if math.isinf(ratio):
        return "; no intervals, as results chose the games by a schedule that this version doesn't know"
    return f"; errors are {ratio:.2f} times larger, as results chose games" if ratio > 1 else ""


def ratings_of(
    estimate: Fit, covariance: Floats, *, anchor: str | None = None, anchor_elo: float = MEAN_ELO
) -> Ratings:
    """Return the ratings of an estimate whose parameters have this covariance, in logits."""
    layout = estimate.layout
    comparisons = comparisons_of(estimate, covariance)
    lines = lines_of(estimate, comparisons, anchor=anchor, anchor_elo=anchor_elo)
    return Ratings(
        model=_model(estimate),
        lines=_with_ranks(lines, certain_order(comparisons.los)),
        anchor=anchor,
        seat_effects={size: _seat_effects(estimate, covariance, size) for size in estimate.seat_sizes},
        deltas=dict(zip(layout.tie_orders, np.exp(estimate.parameters[layout.ties]).tolist(), strict=True)),
        duplicate_gains=duplicate_gains(estimate),
        covariance=ELO_PER_LOGIT**2 * covariance[layout.strengths, layout.strengths],
        comparisons=comparisons,
    )


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


def _model(estimate: Fit) -> str:
    if not estimate.seat_sizes:
        return MODEL
    return f"{MODEL}, seat effects at tables of {', '.join(map(str, estimate.seat_sizes))}"
