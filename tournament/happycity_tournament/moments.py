"""Count, mean, deviation and bounds of numbers that pass by once."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Moments:
    """What is known of numbers after they were added (Welford's method, which loses no digits)."""

    count: int = 0
    mean: float = 0.0
    """0 without numbers."""
    least: float = math.inf
    most: float = -math.inf
    squares: float = 0.0
    """The sum of the squared distances from the mean."""

    @property
    def deviation(self) -> float:
        """The standard deviation; 0 with fewer than two numbers."""
        return math.sqrt(self.squares / max(1, self.count - 1))

    def add(self, number: float) -> None:
        """Count a number."""
        self.count += 1
        distance = number - self.mean
        self.mean += distance / self.count
        self.squares += distance * (number - self.mean)
        self.least = min(self.least, number)
        self.most = max(self.most, number)
