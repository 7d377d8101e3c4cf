"""Tests of parameters that the model doesn't have: how far the games ask for them, and whether by chance.

Each parameter has a moment, the derivative of the log-likelihood by it where it is 0. Its mean is 0 if the
model holds. Deals are independent and the games of a deal are not, so the variance is that of sums over deals
(a clustered score test: Newey 1985; Liang & Zeger 1986).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.statistics import student_quantile

MIN_SHARE = 0.1
"""Minimum share of a parameter's information that must remain when the model's own ones are unknown too.

Where a bot played under one condition only, all that remains is the prior's."""
MIN_INFORMATION = 4.0
"""Minimum information on a parameter: of about as many unexpected results; scores of fewer are skewed."""

_MOST_CERTAIN = 0.99  # a greater p-value would hide a small one from the combination of both


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The moments of some parameters, and what they depend on."""

    by_cluster: Floats
    """[cluster, parameter]: sums over independent sets of deals."""
    information: Floats
    """[parameter]: the information on it if everything else is known."""
    cross: Floats
    """[parameter, parameter of the model]: the information that it shares with those of the model."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTest:
    """The result: an entry for each parameter that could be tested."""

    tested: Ints
    """The parameters, as columns of the moments."""
    estimates: Floats
    """Their values, by one Newton step from 0."""
    margins: Floats
    """Half of the 95% intervals of the estimates."""
    scores: Floats
    """Standard normal if the model holds."""
    correlation: Floats
    """Of the scores."""
    clusters: int

    @property
    def p_values(self) -> list[float]:
        """The two-sided p-value of each parameter."""
        return [two_sided(score) for score in self.scores.tolist()]

    @property
    def p_value(self) -> float:
        """The p-value of all parameters together, which is small if one of them or many are not 0.

        It joins the p-value of the sum of squares with that of the largest score by the Cauchy combination,
        which holds for dependent ones (Liu & Xie 2020).
        """
        largest = -math.expm1(len(self.scores) * math.log1p(-min(*self.p_values, 1 - 1e-12)))
        p_values = [min(p, _MOST_CERTAIN) for p in (self._sum_of_squares(), largest)]
        mean = sum(1 / math.tan(math.pi * max(p, 1e-300)) for p in p_values) / len(p_values)
        return math.atan2(1, mean) / math.pi

    def _sum_of_squares(self) -> float:
        """Return the p-value of the sum of squared scores, a multiple of chi2 with its first two moments.

        The squared correlations are too large by their own variance, about 1 / clusters each (Bai &
        Saranadasa 1996).
        """
        count = len(self.scores)
        squares = float((self.correlation**2).sum()) - count**2 / max(1, self.clusters - 1)
        squares = max(squares, float(count))
        total = float((self.scores**2).sum())
        return chi2_tail(total * count / squares, count**2 / squares)


def score_test(moments: Moments, scores: Floats, inverse: Floats) -> ScoreTest | None:
    """Test whether parameters are 0; None if none of them can be tested.

    Args:
        moments: those of the parameters.
        scores: [cluster, parameter of the model]: the derivatives by the model's own parameters.
        inverse: the inverse of the model's information.
    """
    projection = moments.cross @ inverse
    left = moments.information - (projection * moments.cross).sum(axis=1)
    adjusted = moments.by_cluster - scores @ projection.T
    touched = (moments.by_cluster != 0).sum(axis=0)
    sums = adjusted.sum(axis=0)
    squares = (adjusted**2).sum(axis=0)
    tested = np.flatnonzero(
        (touched >= 2)
        & (left > MIN_SHARE * moments.information)
        & (moments.information >= MIN_INFORMATION)
        & (squares > 1e-9 * moments.information)
    )
    if not len(tested):
        return None
    degrees = touched[tested] - 1
    errors = np.sqrt(squares[tested])
    kept = adjusted[:, tested]
    lengths = np.sqrt((kept**2).sum(axis=0))
    quantiles = np.array([student_quantile(count) for count in degrees.tolist()])
    return ScoreTest(
        tested=tested,
        estimates=sums[tested] / left[tested],
        margins=quantiles * errors / left[tested],
        scores=sums[tested] / errors,
        correlation=kept.T @ kept / (lengths[:, None] * lengths),
        clusters=len(adjusted),
    )


def two_sided(score: float) -> float:
    """Return the probability that a standard normal number is farther from 0."""
    return math.erfc(abs(score) / math.sqrt(2))


def chi2_tail(value: float, degrees: float) -> float:
    """Return the probability that chi2 of any positive degrees is greater than a value.

    It is the regularised incomplete gamma function, by its series (Abramowitz & Stegun 6.5.29) or, in the
    tail, its continued fraction (6.5.31).
    """
    a, x = degrees / 2, value / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        step = a
        while term > total * 1e-15:
            step += 1
            term *= x / step
            total += term
        return max(0.0, 1 - front * total)
    c, d = math.inf, 1 / (x + 1 - a)
    fraction = d
    for step in range(1, 10_000):
        factor, b = -step * (step - a), x + 1 - a + 2 * step
        d = 1 / (b + factor * d)
        c = b + factor / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * fraction
