"""What duplicate deals save: how many independent games a game of a rotated deal is worth."""

from __future__ import annotations

import numpy as np

from happycity_tournament.ratings.columns import Floats, Ints, TableColumns
from happycity_tournament.ratings.fit import Fit

MIN_BLOCKS = 30
"""From fewer deals that were rotated in full the gain can't be estimated."""

_NOTHING = 1e-12  # a variance this small is rounding


def duplicate_gains(fit: Fit) -> dict[int, float | None]:
    """Return, by table size, Var_game / (seats * Var_block): 1 where games of a deal are like any others.

    A bot's result in a game is its score, by how much the ranking speaks for a higher strength. Its mean over
    all seats of one deal varies less the more the cards decide. Var_game is taken within seats. None where
    fewer than `MIN_BLOCKS` deals were rotated in full, or nothing varies.
    """
    return {size: _gain(table, fit.residuals(size)[0]) for size, table in fit.games.tables.items()}


def _gain(table: TableColumns, scores: Floats) -> float | None:
    seats = scores.shape[1]
    blocks, complete = _blocks(table)
    inside = complete[blocks]
    if len(np.unique(table.deals[inside.any(axis=1)])) < MIN_BLOCKS:
        return None
    results = np.where(inside, scores, 0)
    results -= inside * (results.sum(axis=0) / inside.sum(axis=0))
    sums = np.bincount(blocks.ravel(), results.ravel())[complete]
    game, block = float((results**2).sum()) / int(inside.sum()), float(np.mean((sums / seats) ** 2))
    return game / (seats * block) if block > _NOTHING else None


def _blocks(table: TableColumns) -> tuple[Ints, Ints]:
    """Number the pairs of deal and bot: [game, seat], and for each whether the bot held every seat once."""
    seats = table.bots.shape[1]
    keys = table.deals[:, None] * (int(table.bots.max()) + 1) + table.bots
    _, blocks, games = np.unique(keys, return_inverse=True, return_counts=True)
    held = np.bincount(blocks.ravel(), np.broadcast_to(2 ** np.arange(seats), keys.shape).ravel())
    # So many powers of 2 below 2^seats sum to 2^seats - 1 only if they are all different.
    return blocks.reshape(keys.shape), (games == seats) & (held == 2**seats - 1)
