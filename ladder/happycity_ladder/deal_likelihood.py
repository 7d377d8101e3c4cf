"""The Davidson-Luce likelihood of one deal (see `ratings.model`), fast enough to be asked after each deal.

All rotations of a deal have the same bots, so each set of them has one weight for the whole deal. Effects of
seats are left out: a bot has each seat once in a deal, so what a seat is worth is added to everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from happycity_tournament.ratings.columns import Floats


class Derivatives(NamedTuple):
    """The log-likelihood of a deal and its derivatives by the strengths of its bots, then the log deltas."""

    value: float
    gradient: Floats
    information: Floats
    """Minus the second derivatives."""


class _Sets(NamedTuple):
    """The sets of bots that may share a place; the number of a set is the sum of 2^bot over its bots."""

    features: Floats
    """[set, feature]: the log weight of a set is this times the parameters."""
    within: Floats
    """[left, set]: 1 if the set is within `left`, which has such a number too; else 0."""


class DealLikelihood:
    """The likelihood of the results of one deal.

    Args:
        places: [rotation][bot]: the place of each bot; equal ones are shared.
    """

    def __init__(self, places: Sequence[Sequence[int]]) -> None:
        self._sets = _sets(len(places[0]))
        choices = [choice for ranking in places for choice in _choices(tuple(ranking))]
        self._within = self._sets.within[[left for left, _ in choices]]
        self._taken: Floats = self._sets.features[[taken for _, taken in choices]].sum(axis=0)

    def derivatives(self, parameters: Floats) -> Derivatives:
        """Return value and derivatives at the strengths of the bots and the log deltas, in logits."""
        features = self._sets.features
        logs = features @ parameters
        most = logs[1:].max()
        weights = np.exp(logs - most)
        totals = np.maximum(self._within @ weights, 1e-300)
        chances = self._within * (weights / totals[:, None])
        means = chances @ features
        by_set = chances.sum(axis=0)
        return Derivatives(
            float(self._taken @ parameters - np.log(totals).sum() - most * len(totals)),
            self._taken - means.sum(axis=0),
            (features.T * by_set) @ features - means.T @ means,
        )


@cache  # there are 541 rankings of five bots
def _choices(ranking: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the set of bots that were left and the set that took the place, choice after choice."""
    choices, left = [], (1 << len(ranking)) - 1
    for place in sorted(set(ranking)):
        taken = sum(1 << bot for bot, other in enumerate(ranking) if other == place)
        if left & (left - 1):  # the last of all has no choice
            choices.append((left, taken))
        left &= ~taken
    return tuple(choices)


@cache
def _sets(bots: int) -> _Sets:
    features = np.zeros((1 << bots, 2 * bots - 1))
    for order in range(1, bots + 1):
        for members in combinations(range(bots), order):
            row = features[sum(1 << bot for bot in members)]
            row[list(members)] = 1 / order
            if order > 1:
                row[bots + order - 2] = 1.0
    numbers = np.arange(1 << bots)
    within = ((numbers & ~numbers[:, None]) == 0).astype(np.float64)
    within[:, 0] = 0.0  # nobody takes no place
    return _Sets(features, within)
