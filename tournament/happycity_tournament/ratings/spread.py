"""How often each of many whole numbers occurred."""

from __future__ import annotations

import math
from collections import Counter


class Spread(Counter[int]):
    """How often each number occurred."""

    @property
    def mean(self) -> float:
        """Their mean; 0 without any."""
        return sum(value * count for value, count in self.items()) / max(1, self.total())

    @property
    def deviation(self) -> float:
        """Their standard deviation; 0 with fewer than two."""
        mean = self.mean
        squares = sum(count * (value - mean) ** 2 for value, count in self.items())
        return math.sqrt(squares / max(1, self.total() - 1))

    def classes(self, width: int) -> dict[int, int]:
        """Return how many numbers are in each class: `width` numbers from 0 on are in class 0."""
        classes: Counter[int] = Counter()
        for value, count in self.items():
            classes[value // width] += count
        return classes

    def quantile(self, share: float) -> int:
        """Return the least number that at least this share of all do not exceed; 0 without any."""
        needed, passed = share * self.total(), 0
        for value in sorted(self):
            passed += self[value]
            if passed >= needed:
                return value
        return 0
