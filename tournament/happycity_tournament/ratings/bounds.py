"""How strong a bot is at least that was above the others in all games, and at most one that was below them.

The likelihood of such games rises without end, so there is no estimate and no error. But if the bot were
weaker than its lower bound, games as good for it as these would have a probability below 2.5%: between two
bots it is the interval of Clopper & Pearson (1934). Ties are left out of account, which makes it lower. The
others' strengths are taken as they are estimated, and the games of a deal as independent: cards that favour
first one bot and then another make such a series rarer still.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from happycity_tournament.ratings.columns import Flags, Floats, TableColumns
from happycity_tournament.ratings.fit import Fit
from happycity_tournament.ratings.groups import pools_of
from happycity_tournament.ratings.upsets import counted_in_mean

TAIL = 0.025
"""The probability beyond each end of an interval."""

_MEDIAN = 0.5
_FARTHEST = 100.0  # logits; no number of games leads beyond
_HALVINGS = 45


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The strengths of all bots in logits, in each pool from the mean of its main group.

    Bots whose results were as expected but for a few (`ratings.upsets`) don't count in that mean.
    """

    points: Floats
    """Estimates; of a bot above or below the main group, where its games have an even chance."""
    lows: Floats
    """What a bot above its pool's main group is worth at least; the others' estimates."""
    highs: Floats
    """What a bot below its pool's main group is worth at most; the others' estimates."""
    series: dict[int, Callable[[float], float]]
    """By bot, above or below: the log probability of its games against the others by its strength."""

    def log_chance(self, bot: int, strength: float) -> float:
        """Return how likely the games of a bot above or below the main group are if this is its strength."""
        return self.series[bot](strength)


def bounds_of(fit: Fit) -> Bounds:
    """Return the bounds of all bots above and below their pools' main groups, the nearest ones first."""
    levels = fit.groups.levels
    points, counted = fit.parameters[fit.layout.strengths].copy(), counted_in_mean(fit)
    for inside in pools_of(fit.groups):
        points[inside & (levels == 0)] -= points[inside & counted].mean()
    lows, highs = points.copy(), points.copy()
    series: dict[int, Callable[[float], float]] = {}
    for bot in sorted(np.flatnonzero(levels).tolist(), key=lambda bot: abs(int(levels[bot]))):
        upwards = bool(levels[bot] > 0)
        known = lows if upwards else highs
        points[bot] = _strength(_series(fit, bot, points, upwards=upwards), _MEDIAN, upwards=upwards)
        series[bot] = _series(fit, bot, known, upwards=upwards)
        known[bot] = _strength(series[bot], TAIL, upwards=upwards)
        (highs if upwards else lows)[bot] = math.inf if upwards else -math.inf
    for group in np.unique(fit.groups.groups[levels != 0]):
        members = fit.groups.groups == group
        within = fit.parameters[fit.layout.strengths][members]
        points[members] = within + (points[members] - within).mean()
    return Bounds(points, lows, highs, series)


def direct_bound(games: int) -> float:
    """Return by how many logits a bot is stronger at least than one that was below it in so many games."""
    return -math.inf if games == 0 else -math.log(math.expm1(-math.log(TAIL) / games))


def _strength(series: Callable[[float], float], chance: float, *, upwards: bool) -> float:
    """Return the strength at which a series of games has this probability."""
    weak, strong, wanted = -_FARTHEST, _FARTHEST, math.log(chance)
    for _ in range(_HALVINGS):
        middle = (weak + strong) / 2
        if (series(middle) < wanted) == upwards:
            weak = middle
        else:
            strong = middle
    return (weak + strong) / 2


def _series(fit: Fit, bot: int, strengths: Floats, *, upwards: bool) -> Callable[[float], float]:
    """Return the log probability of a bot's games with those that it is above, or below, by its strength."""
    above, levels = fit.groups.above, fit.groups.levels
    rivals = above[bot] & (levels >= 0) if upwards else above[:, bot] & (levels <= 0)
    parts = [
        part
        for size, table in fit.games.tables.items()
        for part in _lineups(table, bot, rivals, strengths, fit.parameters[fit.layout.seats(size)])
    ]

    def log_probability(strength: float) -> float:
        chance = _first if upwards else _last
        return sum(
            float(counts @ np.log(np.maximum(chance(strength + odds), 1e-300))) for odds, counts in parts
        )

    return log_probability


def _lineups(
    table: TableColumns, bot: int, rivals: Flags, strengths: Floats, effects: Floats
) -> list[tuple[Floats, Floats]]:
    """Return the bot's log odds against each rival at the table if its strength were 0, [lineup, rival].

    How often there was each lineup comes with them; those with as many rivals are together.
    """
    mine = table.bots == bot
    rows = np.flatnonzero(mine.any(axis=1) & rivals[table.bots].any(axis=1))
    if not rows.size:
        return []
    bots, seat = table.bots[rows], mine[rows].argmax(axis=1)
    there = rivals[bots]
    units = np.where(there, bots * len(effects) + np.arange(len(effects)), -1)
    different, counts = np.unique(np.column_stack([seat, units]), axis=0, return_counts=True)
    seat, units = different[:, 0], different[:, 1:]
    parts = []
    for number in np.unique((units >= 0).sum(axis=1)).tolist():
        fits = (units >= 0).sum(axis=1) == number
        met = np.sort(units[fits], axis=1)[:, len(effects) - number :]
        odds = effects[seat[fits], None] - strengths[met // len(effects)] - effects[met % len(effects)]
        parts.append((odds, counts[fits].astype(np.float64)))
    return parts


def _first(odds: Floats) -> Floats:
    """Return the probability of coming before all rivals, from the log odds against each (Plackett-Luce)."""
    first: Floats = 1 / (1 + np.exp(np.clip(-odds, -700, 700)).sum(axis=1))
    return first


def _last(odds: Floats) -> Floats:
    """Return the probability of coming after all rivals, by inclusion and exclusion."""
    rivals = odds.shape[1]
    last = np.ones(len(odds))
    for number in range(1, rivals + 1):
        for chosen in combinations(range(rivals), number):
            last += (-1) ** number * _first(odds[:, chosen])
    return last
