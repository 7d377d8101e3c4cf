"""What a sequential test says of a difference once it has stopped.

A test stops sooner where chance was on the side of its decision, so the mean of its blocks overstates the
difference, and the interval made for a fixed number of blocks holds too rarely. With p(s) the probability
that a test of expected block score s ends higher than this one did, the median-unbiased estimate is the s for
which p is 1/2, and the 95% interval reaches from p = 2.5% to 97.5%. Of two tests that stopped, one that
accepted H1 earlier ended higher, and one that accepted H0 earlier ended lower (stagewise ordering; Siegmund
1978; Tsiatis, Rosner & Mehta 1984).

p comes from the density of the log-likelihood ratio, taken as a sum of normal steps, between its bounds
(Armitage, McPherson & Rowe 1969).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.statistics import OVERSHOOT

_CELLS = 160
"""Of the grid between the bounds."""
_LOOKS = 120
"""After the first one; in a longer test a look stands for several blocks."""
_WIDEST = 8.0  # standard errors of a fixed number of blocks
_MOST_STEPS = 20
_EXACT = 1e-4  # of a normal quantile; of the error of the estimate
_TINY = 1e-15
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedTest:
    """A test that has stopped, after its bounds or at its maximum."""

    blocks: int
    first_look: int
    """The number of blocks before which it could not stop."""
    mean: float
    """Of the blocks' scores."""
    variance: float
    """Of the blocks' scores, above 0."""
    score0: float
    """The expected score under H0."""
    score1: float
    """The expected score under H1."""
    lower: float
    """Wald's lower bound of the log-likelihood ratio, below 0."""
    upper: float
    """Wald's upper bound, above 0."""

    @property
    def step(self) -> float:
        """The standard deviation of what a block adds to the ratio."""
        return (self.score1 - self.score0) / math.sqrt(self.variance)

    @property
    def has_normal_steps(self) -> bool:
        """Whether the ratio ended where a sum of normal steps would.

        It doesn't where the blocks say far more than the hypotheses ask, as when all but a few were won. The
        variance is then kept from 0 by its bound, and stopping has hardly changed the mean.
        """
        bound = self.upper if self.mean > (self.score0 + self.score1) / 2 else -self.lower
        return self.blocks <= self.first_look or self.blocks * abs(self.drift(self.mean)) < 2 * bound

    def drift(self, score: float) -> float:
        """Return what a block adds to the ratio on average, by its mean score."""
        middle = (self.score0 + self.score1) / 2
        return (self.score1 - self.score0) * (score - middle) / self.variance


def corrected_scores(test: StoppedTest) -> tuple[float, float, float]:
    """Return the median-unbiased estimate of the expected score, and the ends of its 95% interval."""
    estimate, low, high = (_score_where(test, chance) for chance in (0.5, 0.025, 0.975))
    return estimate, low, high


def _score_where(test: StoppedTest, chance: float) -> float:
    """Return the expected score at which a test ends higher than this one with this probability.

    It is found in normal quantiles, in which it is nearly linear (regula falsi, Illinois variant).
    """
    wanted, width = _NORMAL.inv_cdf(chance), _WIDEST * math.sqrt(test.variance / test.blocks)
    ends = [test.mean - width, test.mean + width]
    misses = [_quantile_of_higher(test, end) - wanted for end in ends]
    if misses[0] >= 0 or misses[1] <= 0:
        return ends[0] if misses[0] >= 0 else ends[1]
    kept, score = -1, test.mean
    for _ in range(_MOST_STEPS):
        score = ends[0] - misses[0] * (ends[1] - ends[0]) / (misses[1] - misses[0])
        miss = _quantile_of_higher(test, score) - wanted
        if abs(miss) < _EXACT:
            break
        side = int(miss > 0)
        ends[side], misses[side] = score, miss
        if kept == side:
            misses[1 - side] /= 2
        kept = side
    return score


def _quantile_of_higher(test: StoppedTest, score: float) -> float:
    return _NORMAL.inv_cdf(min(max(_chance_of_higher(test, score), _TINY), 1 - _TINY))


def _chance_of_higher(test: StoppedTest, score: float) -> float:
    """Return the probability that a test of blocks with this mean score ends higher than this one."""
    drift, ended = test.drift(score), test.blocks * test.drift(test.mean)
    first = min(test.first_look, test.blocks)
    mean, deviation = first * drift, math.sqrt(first) * test.step
    left = test.blocks - first
    if not left:
        return 1 - _NORMAL.cdf((ended - mean) / deviation)
    least = 1.5 * (test.upper - test.lower) / _CELLS  # the least deviation that the grid can resolve
    looks = math.ceil(min(left, _LOOKS, max(1.0, left * (test.step / least) ** 2)))
    blocks = left / looks
    lower, upper = _bounds(test, math.sqrt(blocks))
    grid = lower + (np.arange(_CELLS) + 0.5) * (upper - lower) / _CELLS
    width = grid[1] - grid[0]
    higher = 1 - _NORMAL.cdf((max(0.0, test.upper - OVERSHOOT * test.step) - mean) / deviation)
    density = _normal_density((grid - mean) / deviation) * width / deviation
    mean, deviation = blocks * drift, math.sqrt(blocks) * test.step
    steps = _normal_density((grid[None, :] - grid[:, None] - mean) / deviation) * width / deviation
    passing = np.array([1 - _NORMAL.cdf((upper - value - mean) / deviation) for value in grid.tolist()])
    for _ in range(looks - 1):
        higher += float(density @ passing)
        density = density @ steps
    last = np.array([1 - _NORMAL.cdf((ended - value - mean) / deviation) for value in grid.tolist()])
    return higher + float(density @ last)


def _bounds(test: StoppedTest, deviations: float) -> tuple[float, float]:
    """Return the bounds of a sum whose steps have this standard deviation, in those of a block."""
    overshoot = OVERSHOOT * test.step * deviations
    return min(test.lower + overshoot, test.lower / 2), max(test.upper - overshoot, test.upper / 2)


def _normal_density(standardised: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * standardised**2) / math.sqrt(2 * math.pi)
    return density
