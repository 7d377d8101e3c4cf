"""Which ratings rest on one or two unexpected results, and so have no error.

The estimate of a bot that nearly always wins is about minus the logarithm of how often it didn't. From one or
two such games its distribution is far from normal: no standard error describes it. The bot would also move
the mean of all others, so it isn't counted in the mean.
"""

from __future__ import annotations

import numpy as np

from happycity_tournament.ratings.columns import Flags
from happycity_tournament.ratings.fit import Fit
from happycity_tournament.ratings.groups import pools_of
from happycity_tournament.ratings.model import squares_of

MIN_UPSETS = 2.5
"""Unexpected results that an interval takes: squared surprises where the winner is clear."""
_ONE_SIDED = 0.1  # squared surprise of a game, 1/4 for two equal bots, below which its winner is clear


def few_upsets(fit: Fit) -> Flags:
    """Return whose results were as expected in all but one or two games, of those with finite estimates."""
    members = np.bincount(fit.groups.groups)[fit.groups.groups]
    variances = np.diag(fit.inverse)[fit.layout.strengths]
    # The information on a strength, of which there is more if the others' are not so well known.
    least = (1 - 1 / members) ** 2 / np.maximum(variances, 1e-12)
    few: Flags = (members > 1) & (least < MIN_UPSETS)
    if few.any():
        limits = np.minimum(MIN_UPSETS, _ONE_SIDED * fit.games.decisive_games())
        few &= squares_of(fit.choices, fit.layout, fit.at) < limits
    return few


def counted_in_mean(fit: Fit) -> Flags:
    """Return the bots whose mean is that of a pool: of its main group those that have an error."""
    few, counted = few_upsets(fit), np.zeros(len(fit.games.bots), dtype=bool)
    for inside in pools_of(fit.groups):
        main = inside & (fit.groups.levels == 0)
        counted |= main & ~few if (main & ~few).sum() > 1 else main
    return counted
