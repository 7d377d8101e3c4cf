"""The Plackett-Luce likelihood of one deal, fast enough to be asked after each deal.

Of the bots A that are left, bot i takes the next place with probability exp(x_i) / sum of exp(x_j) over A
(Luce 1959; Plackett 1975). Shared places count as the mean of the orders that they stand for. Seats have no
effects: a bot has each seat once in a deal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from happycity_tournament.ratings.columns import Floats


class DealDerivatives(NamedTuple):
    """The log-likelihood of a deal at some strengths, and its derivatives by them."""

    value: float
    scores: Floats
    """[game, bot]: the derivatives of each game's."""
    information: Floats
    """Minus the second derivatives, [bot, bot]."""


class DealLikelihood:
    """The likelihood of the results of one deal.

    Args:
        places: [rotation][bot]: the place of each bot; equal ones are shared.
    """

    def __init__(self, places: Sequence[Sequence[int]]) -> None:
        self._left = np.array([_left(tuple(ranking)) for ranking in places])
        self._weights: Floats = self._left.sum(axis=0)
        self._members = _members(len(places[0]))

    def derivatives(self, strengths: Floats) -> DealDerivatives:
        """Return value and derivatives at the strengths of the bots, in logits."""
        most = float(strengths.max())
        chances = self._members * np.exp(strengths - most)
        sums = np.maximum(chances.sum(axis=1), 1e-300)
        chances /= sums[:, None]
        value = len(self._left) * float(strengths.sum()) - float(self._weights @ (np.log(sums) + most))
        expected = self._weights[:, None] * chances
        information = np.diag(expected.sum(axis=0)) - chances.T @ expected
        return DealDerivatives(value, 1.0 - self._left @ chances, information)


@cache  # there are 541 rankings of five bots
def _left(ranking: tuple[int, ...]) -> Floats:
    """Return how often each set of bots is left, in the mean of the orders of those that share a place."""
    numbers = {members: number for number, members in enumerate(_sets(len(ranking)))}
    left = np.zeros(len(numbers))
    for place in set(ranking):
        sharing = [bot for bot, other in enumerate(ranking) if other == place]
        behind = [bot for bot, other in enumerate(ranking) if other > place]
        for size in range(1, len(sharing) + 1):
            for some in combinations(sharing, size):
                left[numbers[tuple(sorted([*some, *behind]))]] += 1 / comb(len(sharing), size)
    return left


@cache
def _sets(bots: int) -> tuple[tuple[int, ...], ...]:
    return tuple(some for size in range(1, bots + 1) for some in combinations(range(bots), size))


@cache
def _members(bots: int) -> Floats:
    """Return [set, bot]: 1 for the bots of a set, else 0."""
    return np.array([[float(bot in some) for bot in range(bots)] for some in _sets(bots)])
