"""The Elo scale, Student's quantile, and moments of numbers that pass by once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

from happycity.match import one_line

MIN_DEALS = 2
"""A bot that played fewer deals has no interval: one deal doesn't show how much deals differ."""
MIN_ANYTIME_DEALS = 10
"""With fewer deals no interval holds whenever one looks, as too little is known of its width."""
_MIXTURE = 7.5  # makes the interval narrowest at some 60 deals
_MANY = 1_000_000  # degrees of freedom
ELO_PER_DECADE = 400
"""Elo for each power of ten of the odds (Elo 1978)."""
ELO_PER_LOGIT = ELO_PER_DECADE / math.log(10)
ELO_DIGITS = 6  # ratings that differ by rounding errors only are equal
OVERSHOOT = 0.5826  # -zeta(1/2) / sqrt(2 pi)
"""How far a sum of normal steps passes beyond a bound on average, in standard deviations of a step."""

MAX_METRICS = 32
"""Metrics that are counted for each bot: the first ones that it sent."""

_FEW_DEGREES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306)  # Student's quantiles
_T = TypeVar("_T")


def student_quantile(degrees: int) -> float:
    """Return Student's 97.5% quantile, right to 0.001 (Abramowitz & Stegun 26.7.5, and their table 26.10)."""
    if degrees <= len(_FEW_DEGREES):
        return _FEW_DEGREES[degrees - 1]
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def student_margin(deals: int, error: float | None) -> float | None:
    """Return half of the 95% interval of a mean over deals, None with too few of them for one.

    `error` is its standard error, None if it isn't known.
    """
    return None if error is None or deals < MIN_DEALS else student_quantile(deals - 1) * error


def anytime_margin(deals: int, error: float | None) -> float | None:
    """Return half of a 95% interval of a mean over deals that holds at all numbers of deals at once.

    So it may be looked at after each deal, and the games ended by what it says. It is the normal mixture of
    Robbins (1970) with an estimated variance (Howard, Ramdas, McAuliffe & Sekhon 2021, equation 14), wider by
    Student's factor for few deals: some 1.5 times `student_margin`. None with fewer than `MIN_ANYTIME_DEALS`.
    """
    if error is None or deals < MIN_ANYTIME_DEALS:
        return None
    ends = (1 + _MIXTURE / deals) * math.log((deals + _MIXTURE) / (0.05**2 * _MIXTURE))
    return math.sqrt(ends) * student_quantile(deals - 1) / student_quantile(_MANY) * error


def with_ranks(entries: Iterable[_T], elo_of: Callable[[_T], float]) -> list[tuple[int, _T]]:
    """Return entries best first with their ranks from 1; equal ones share a rank and keep their order."""
    rounded = [(round(elo_of(entry), ELO_DIGITS), entry) for entry in entries]
    rounded.sort(key=lambda pair: -pair[0])
    ranks: dict[float, int] = {}
    return [(ranks.setdefault(elo, place), entry) for place, (elo, entry) in enumerate(rounded, start=1)]


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
    def total(self) -> float:
        """The sum of the numbers."""
        return self.mean * self.count

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


def count_metrics(counted: dict[str, Moments], metrics: Mapping[str, float]) -> None:
    """Count the metrics of one answer by their names, of which `counted` holds `MAX_METRICS` at most."""
    for name, number in metrics.items():
        label = one_line(name)
        if label in counted or len(counted) < MAX_METRICS:
            counted.setdefault(label, Moments()).add(number)
