"""How fast strengths move, learnt from the deals: errors that repeat themselves say that ratings lag behind.

Where the variance of the drift is right, the scores of a version (the derivatives of the log-likelihood of
its deals at what was expected) have no correlation in time. Where it is too small, the version goes on to do
better, or worse, than expected. The derivative of the predictive likelihood by the drift's variance is the
product of a deal's score and the derivative of what was expected of it (Harvey 1989, section 3.4), which is
followed from deal to deal; its other part can't be distinguished from the dispersion of deals and is left
out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

WEEK = 7 * 86400.0
_LEAST, _MOST = 1.0, 200.0  # Elo a week
_DOUBT = 1.5
"""The standard deviation of what is known at first of the logarithm of the variance."""
_DEALS = 20_000
"""The drift is learnt from about the last this many deals."""
_LARGEST_STEP = 0.3


@dataclass(slots=True)
class DriftTrace:
    """How what is known of one version would change with the variance of the drift."""

    variance: float = 0.0
    """The derivative of its variance."""
    mean: float = 0.0
    """The derivative of its mean."""


@dataclass(slots=True)
class Drift:
    """The drift of the guests on one board.

    Args:
        elo: the standard deviation of what strengths change in a week, in Elo, before any deal.
    """

    elo: float
    information: float = 1 / _DOUBT**2

    def gain(self, trace: DriftTrace, score: float, *, seconds: float, kept: float) -> float:
        """Follow a version over a deal; return what the deal says of the variance of the drift.

        Args:
            trace: the version's, which changes.
            score: the derivative of the deal's log-likelihood by the version's strength.
            seconds: the time since its last deal.
            kept: the share of its variance that is left after the deal.
        """
        said = score * trace.mean
        trace.variance = (trace.variance + seconds / WEEK) * kept**2
        trace.mean = kept * trace.mean + trace.variance * score
        return said

    def learn(self, said: float) -> None:
        """Change the drift by what a deal says of its variance, summed up over the deal's versions."""
        own = said * (self.elo / ELO_PER_LOGIT) ** 2  # by the logarithm of the variance
        self.information += own**2 - self.information / _DEALS
        step = max(-_LARGEST_STEP, min(_LARGEST_STEP, own / self.information))
        self.elo = max(_LEAST, min(_MOST, self.elo * math.exp(step / 2)))
