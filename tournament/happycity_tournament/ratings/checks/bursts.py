"""Bursts: consecutive deals in which a bot played much better or worse than in its others, as by crashes.

A scan looks at windows of 4, 8, 16 ... of each bot's deals in a row. One statistic is the largest of all
windows' sums of scores, divided by its standard deviation, which finds a single burst; the other one is the
variance of these sums beside that of independent deals (Lo & MacKinlay 1988), which finds many. Where deals
are independent their order is no matter, so how large both are by chance is known from random orders of the
deals (a permutation test of the maximum, Westfall & Young 1993), whatever the distribution of a deal's score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from happycity_tournament.ratings.columns import Floats, Games, Ints
from happycity_tournament.ratings.fit import Fit
from happycity_tournament.ratings.results import Burst

SIGNIFICANCE = 0.01
"""With a smaller p-value, errors rest on blocks of deals."""
MIN_SERIES = 30
"""Fewer deals of a bot show nothing about their order."""
BLOCK_WINDOWS = 2
"""A block has twice as many deals as the window, so that few bursts are cut in two."""

_MAX_SETS = 512  # of consecutive deals of a bot, which are added up; shorter bursts change little then
_SHORTEST = 4
_PERMUTATIONS = (100, 1900)  # the later ones only if the first ones leave it open
_OPEN = 0.1
_SEED = 0x627572737473  # any constant: the p-value is the same in every run


def bursts_of(fit: Fit) -> list[Burst]:
    """Return the most unusual deals in a row of each bot with enough deals, the least likely ones first."""
    series = list(_series(fit)) if fit.games.tables else []
    if not series:
        return []
    found = [_scan(values[None]) for _, values, _ in series]
    observed = np.array([scan.sizes[:, 0] for scan in found])
    rng = np.random.Generator(np.random.PCG64(_SEED))
    by_chance = np.zeros((0, 2))
    for count in _PERMUTATIONS:
        if len(by_chance) and (by_chance >= observed.max(axis=0)).mean(axis=0).min() > _OPEN:
            break
        shuffled = [rng.permuted(np.tile(values, (count, 1)), axis=1) for _, values, _ in series]
        most = np.max([_scan(values).sizes for values in shuffled], axis=0)
        by_chance = np.concatenate([by_chance, most.T])
    bursts = []
    for (bot, values, in_set), scan, sizes in zip(series, found, observed, strict=True):
        rarer = 1 + (by_chance >= sizes - 1e-9).sum(axis=0)
        first, length = int(scan.firsts[0]), int(scan.lengths[0])
        deals, deviation = length * in_set, float(values.std())
        bursts.append(
            Burst(
                bot=bot,
                first=first * in_set,
                deals=deals,
                score=float(values[first : first + length].sum()) / deals,
                error=deviation * math.sqrt(length * (1 - length / len(values))) / deals,
                p_value=min(1.0, 2 * float(rarer.min()) / (1 + len(by_chance))),
            )
        )
    return sorted(bursts, key=lambda burst: (burst.p_value, -abs(burst.score) / burst.error))


def block_length(fit: Fit, bursts: Sequence[Burst]) -> int:
    """Return how many consecutive deals errors have to rest on together; 1 without bursts."""
    if not bursts or bursts[0].p_value >= SIGNIFICANCE:
        return 1
    share = float(fit.deals_played[bursts[0].bot] / fit.games.deals)
    return math.ceil(BLOCK_WINDOWS * bursts[0].deals / share)


def in_blocks(fit: Fit, length: int) -> Fit:
    """Return an estimate whose errors take so many consecutive deals for one deal."""
    if length == 1:
        return fit
    tables = fit.games.tables.items()
    games = Games(
        fit.games.bots, {size: replace(table, deals=table.deals // length) for size, table in tables}
    )
    return replace(fit, games=games, deals_played=games.deals_played())


def _series(fit: Fit) -> Iterator[tuple[int, Floats, int]]:
    """Yield bots, their centred scores in the order of their deals, and how many deals each score sums up."""
    owners, _, sums = fit.scores_by_bot
    starts = np.searchsorted(owners, np.arange(len(fit.games.bots) + 1))
    for bot, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        in_set = -(-(end - start) // _MAX_SETS)
        values = sums[start:end]
        if len(values) >= MIN_SERIES:
            whole = len(values) // in_set * in_set
            values = values[:whole].reshape(-1, in_set).sum(axis=1)
            values = values - values.mean()
            if values.std() > 1e-9:
                yield bot, values, in_set


class _Scan(NamedTuple):
    """The windows of some series, [series]."""

    sizes: Floats
    """[2, series]: the largest sum of a window in standard deviations, and the largest excess of variance."""
    firsts: Ints
    """Where the window with the largest sum begins."""
    lengths: Ints
    """How long it is."""


def _scan(values: Floats) -> _Scan:
    """Look at all windows of series of scores with a mean of 0, [series, set of deals]."""
    rows, count = values.shape
    sums = np.concatenate([np.zeros((rows, 1)), np.cumsum(values, axis=1)], axis=1)
    sizes = np.full((2, rows), -np.inf)
    firsts, lengths = np.zeros((2, rows), dtype=np.int64)
    variance = float(values[0].var())
    length = _SHORTEST
    while length <= count // 4:
        inside = sums[:, length:] - sums[:, :-length]
        squares = inside**2 / (variance * length * (1 - length / count))
        at = squares.argmax(axis=1)
        largest = np.sqrt(squares[np.arange(rows), at])
        excess = (squares.mean(axis=1) - 1) / math.sqrt(4 * length / (3 * count))
        better = largest > sizes[0]
        firsts, lengths = np.where(better, at, firsts), np.where(better, length, lengths)
        sizes = np.maximum(sizes, [largest, excess])
        length *= 2
    return _Scan(sizes, firsts, lengths)
