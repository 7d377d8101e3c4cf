"""In which orders the bots of a table sit down to one deal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from enum import Enum


class Orders(Enum):
    """The orders of seats in which each deal is played."""

    ROTATIONS = "rotations"
    """Every bot in every seat once; who sits to the left of whom stays the same."""
    ALL = "all"
    """Every order, n! of them: the neighbours are balanced too."""
    SINGLE = "single"
    """One order only: seats and cards are left to chance."""

    def count(self, seats: int) -> int:
        """Return how many games a deal is played in."""
        if self is Orders.ROTATIONS:
            return seats
        return math.factorial(seats) if self is Orders.ALL else 1

    def of(self, company: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Return the bots by seat, game for game; the first order is the one given."""
        if self is Orders.ALL:
            return itertools.permutations(company)
        return ((*company[first:], *company[:first]) for first in range(self.count(len(company))))
