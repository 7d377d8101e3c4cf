"""A normal distribution over hidden numbers that move by random walks, and what an observation does to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from happycity_ladder.deal_likelihood import Derivatives
from happycity_tournament.ratings.columns import Flags, Floats

_MAX_STEPS = 50
_TOLERANCE = 1e-6  # of a step of Newton's method
_SHARES = tuple(0.5**power for power in range(20))
_ROUNDING = 1e-9


class GaussianState:
    """The mean and the covariance of numbers, each of which has a key.

    The parts are public for those who store them.
    """

    def __init__(
        self, keys: Sequence[int], mean: Floats, covariance: Floats, drifting: Sequence[bool]
    ) -> None:
        self.keys = list(keys)
        self.mean = mean
        self.covariance = covariance
        self.drifting: Flags = np.array(drifting, dtype=bool)
        """[row]: whether the number moves."""
        self._index()

    def __contains__(self, key: int) -> bool:
        """Whether a number is part of the state."""
        return key in self._rows

    def row(self, key: int) -> int:
        """Return the row of a number."""
        return self._rows[key]

    def marginal(self, key: int) -> tuple[float, float]:
        """Return the mean and the variance of a number."""
        row = self._rows[key]
        return float(self.mean[row]), float(self.covariance[row, row])

    def grow(self, variance: float) -> None:
        """Add variance to each number that moves, to each its own."""
        self._diagonal[self.drifting] += variance

    def append(
        self, key: int, *, mean: float, variance: float, drifting: bool, like: int | None = None
    ) -> None:
        """Add a number with the covariances of `like`; with none if that isn't part of the state."""
        row = None if like is None else self._rows.get(like)
        shared = np.zeros(len(self.keys)) if row is None else self.covariance[row]
        self.covariance = np.block([[self.covariance, shared[:, None]], [shared, np.array([[variance]])]])
        self.mean = np.append(self.mean, mean)
        self.drifting = np.append(self.drifting, drifting)
        self.keys.append(key)
        self._index()

    def remove(self, keys: Collection[int]) -> None:
        """Forget some numbers; what is known of the others stays."""
        kept = [row for row, key in enumerate(self.keys) if key not in keys]
        self.keys = [self.keys[row] for row in kept]
        self.mean, self.drifting = self.mean[kept], self.drifting[kept]
        self.covariance = self.covariance[np.ix_(kept, kept)]
        self._index()

    def observe(
        self, rows: Sequence[int], derivatives: Callable[[Floats], Derivatives], weight: float
    ) -> Derivatives:
        """Learn from an observation of some numbers by the mode and the curvature there (Laplace).

        With prior mean m and covariance P of the observed numbers, the mode is m + P a where a is the
        gradient of the likelihood: this needs no inverse of P, so numbers may be known exactly. All others
        follow by their covariances.

        Args:
            rows: the rows of the observed numbers.
            derivatives: those of the log-likelihood, which is concave.
            weight: the likelihood's exponent.

        Returns:
            The derivatives at the mean that was expected.
        """
        prior_mean, prior = self.mean[rows], self.covariance[np.ix_(rows, rows)]
        direction = np.zeros(len(rows))
        here = expected = derivatives(prior_mean)
        objective = weight * here.value
        for _ in range(_MAX_STEPS):
            information = weight * here.information
            system = np.eye(len(rows)) + prior @ information
            slope = weight * here.gradient - direction
            step = np.linalg.solve(system, prior @ slope)
            change = slope - information @ step
            if np.abs(step).max() < _TOLERANCE:
                break
            for share in _SHARES:  # a whole step may lead beyond the mode, to where the likelihood is flat
                tried = direction + share * change
                moved = prior @ tried
                here = derivatives(prior_mean + moved)
                value = weight * here.value - float(tried @ moved) / 2
                if value >= objective - _ROUNDING:
                    break
            direction, objective = tried, value
        information = weight * here.information
        gain = information @ np.linalg.inv(np.eye(len(rows)) + prior @ information)
        values, vectors = np.linalg.eigh((gain + gain.T) / 2)
        observed = self.covariance[rows]
        self.mean = self.mean + direction @ observed
        reduction = (vectors * np.sqrt(np.maximum(0.0, values))).T @ observed
        # BLAS would take all cores for this from some 200 numbers on, and nine times the CPU time with it.
        self.covariance -= np.einsum("ki,kj->ij", reduction, reduction)
        return expected

    @property
    def _diagonal(self) -> Floats:
        """The variances, to be changed in place."""
        diagonal: Floats = np.einsum("ii->i", self.covariance)
        return diagonal

    def _index(self) -> None:
        self._rows = {key: row for row, key in enumerate(self.keys)}
