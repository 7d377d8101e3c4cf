"""What duplicate deals save: how many independent games a game of a rotated deal is worth."""

from __future__ import annotations

import math

import numpy as np

from happycity_tournament.ratings.bounds import TAIL
from happycity_tournament.ratings.columns import Floats, Ints, TableColumns
from happycity_tournament.ratings.fit import Fit
from happycity_tournament.ratings.results import DuplicateGain
from happycity_tournament.ratings.statistics import student_quantile

MIN_BLOCKS = 30
"""From fewer deals that were rotated in full the gain can't be estimated."""

_NOTHING = 1e-12  # a variance this small is rounding


def duplicate_gains(fit: Fit) -> dict[int, DuplicateGain | None]:
    """Return, by table size, Var_game / (seats * Var_block): 1 where games of a deal are like any others.

    A bot's result in a game is its score, by how much the ranking speaks for a higher strength. Its mean over
    all seats of one deal varies less the more the cards decide. Var_game is taken within seats. None where
    fewer than `MIN_BLOCKS` deals were rotated in full, or nothing varies.

    So the gain is a ratio of sums over deals, A / B: A of the squared results of a deal's games, B of the
    squared sums of its bots. Deals are independent, so by the delta method (Cochran 1977, 6.4) its relative
    variance is the sum of (A_d / mean A - B_d / mean B)^2 over the D deals, divided by D (D - 1).
    """
    return {size: _gain(table, fit.residuals(size)[0]) for size, table in fit.games.tables.items()}


def _gain(table: TableColumns, scores: Floats) -> DuplicateGain | None:
    blocks, complete = _blocks(table)
    inside = complete[blocks]
    deals, deal_of = np.unique(
        np.broadcast_to(table.deals[:, None], scores.shape)[inside], return_inverse=True
    )
    count = len(deals)
    if count < MIN_BLOCKS:
        return None
    seat_means = np.where(inside, scores, 0).sum(axis=0) / inside.sum(axis=0)
    results = (scores - seat_means)[inside]
    _, firsts, block_of = np.unique(blocks[inside], return_index=True, return_inverse=True)
    by_game = np.bincount(deal_of, results**2)
    by_block = np.bincount(deal_of[firsts], np.bincount(block_of, results) ** 2)
    if by_game.mean() <= _NOTHING:
        return None
    if by_block.mean() <= _NOTHING:
        # A share of 3.7 / n deals may still be uneven, in each of which B is at most A times the seats.
        return DuplicateGain(math.inf, count / (-math.log(TAIL) * table.bots.shape[1]), math.inf)
    gain = float(by_game.sum() / by_block.sum())
    apart = by_game / by_game.mean() - by_block / by_block.mean()
    error = gain * math.sqrt(float((apart**2).sum()) / (count * (count - 1)))
    margin = student_quantile(count - 1) * error
    return DuplicateGain(gain, gain - margin, gain + margin)


def _blocks(table: TableColumns) -> tuple[Ints, Ints]:
    """Number the pairs of deal and bot: [game, seat], and for each whether the bot held every seat once."""
    seats = table.bots.shape[1]
    keys = table.deals[:, None] * (int(table.bots.max()) + 1) + table.bots
    _, blocks, games = np.unique(keys, return_inverse=True, return_counts=True)
    held = np.bincount(blocks.ravel(), np.broadcast_to(2 ** np.arange(seats), keys.shape).ravel())
    # So many powers of 2 below 2^seats sum to 2^seats - 1 only if they are all different.
    return blocks.reshape(keys.shape), (games == seats) & (held == 2**seats - 1)
