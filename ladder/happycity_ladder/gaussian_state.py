"""A normal distribution over hidden numbers that move by random walks, and what a deal's results do to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from happycity_tournament.ratings.columns import Flags, Floats, Games, TableColumns
from happycity_tournament.ratings.likelihood import Derivatives, choices_of, derivatives, game_scores

_MAX_STEPS = 50
_TOLERANCE = 1e-6  # of a step of Newton's method
_SHARES = tuple(0.5**power for power in range(20))
_ROUNDING = 1e-9


class DealLikelihood:
    """The likelihood of the results of one deal, by the model of all ratings (see `ratings.likelihood`).

    Seats have no effects: a bot has each seat once in a deal.

    Args:
        places: [rotation][bot]: the place of each bot; equal ones are shared.
    """

    def __init__(self, places: Sequence[Sequence[int]]) -> None:
        rotations, players = len(places), len(places[0])
        bots = np.tile(np.arange(players), (rotations, 1))
        self._table = TableColumns(bots, np.array(places), np.zeros(rotations, dtype=np.int64))
        self._choices = choices_of(Games(("",) * players, {players: self._table}))

    def derivatives(self, strengths: Floats) -> Derivatives:
        """Return value and derivatives at the strengths of the bots, in logits."""
        return derivatives(self._choices, strengths)

    def scores(self, strengths: Floats) -> Floats:
        """Return the derivatives of each game's likelihood, [game, bot]."""
        return game_scores(self._table, strengths)


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

    def well_known(self, variance: float) -> Floats:
        """Return the means of the numbers that are known with at most some variance."""
        return self.mean[self._diagonal <= variance]

    def common(self, among: Sequence[int]) -> Floats:
        """Return the mean covariance of each number with others among some rows, then that of these rows."""
        if len(among) < 2:
            return np.zeros(len(self.keys) + 1)
        sums = self.covariance[:, among].sum(axis=1)
        counts = np.full(len(self.keys), float(len(among)))
        sums[among] -= self._diagonal[among]
        counts[among] -= 1
        means: Floats = sums / counts
        return np.append(means, means[among].mean())

    def grow(self, variance: float) -> None:
        """Add variance to each number that moves, to each its own."""
        self._diagonal[self.drifting] += variance

    def append(self, key: int, *, mean: float, variance: float, drifting: bool, shared: Floats) -> None:
        """Add a number; `shared` has its covariances with the others."""
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

    def observe(self, rows: Sequence[int], deal: DealLikelihood, weight: float) -> None:
        """Learn from a deal: its games' squared scores are its information, and the new mean is the mode.

        Where a result is what everybody expects, the likelihood is flat on one side. Its curvature at the
        estimate then says more than the games do: a bot that wins all its games would soon be known well,
        at a strength it has long passed. Squared scores have the same mean where the estimate is right
        (Berndt, Hall, Hall & Hausman 1974), but come from results that nobody expected.

        Args:
            rows: the rows of the bots.
            deal: the likelihood, whose logarithm is concave.
            weight: its exponent.
        """
        prior, observed = self.covariance[np.ix_(rows, rows)], self.covariance[rows]
        direction = _mode(self.mean[rows], prior, deal, weight)
        scores = deal.scores(self.mean[rows] + prior @ direction)
        self.mean = self.mean + direction @ observed
        root = np.linalg.cholesky(np.eye(len(scores)) / weight + scores @ prior @ scores.T)
        reduction = np.linalg.solve(root, scores @ observed)
        # BLAS would take all cores for this from some 200 numbers on, and nine times the CPU time with it.
        self.covariance -= np.einsum("ki,kj->ij", reduction, reduction)

    @property
    def _diagonal(self) -> Floats:
        """The variances, to be changed in place."""
        diagonal: Floats = np.einsum("ii->i", self.covariance)
        return diagonal

    def _index(self) -> None:
        self._rows = {key: row for row, key in enumerate(self.keys)}


def _mode(mean: Floats, prior: Floats, deal: DealLikelihood, weight: float) -> Floats:
    """Return the mode of prior times likelihood, as a with the mode at mean + prior a.

    a is the gradient of the likelihood at the mode: this needs no inverse of the prior's covariance, so
    numbers may be known exactly.
    """
    direction = np.zeros(len(mean))
    here = deal.derivatives(mean)
    objective = weight * here.value
    for _ in range(_MAX_STEPS):
        information = weight * here.information
        slope = weight * here.gradient - direction
        step = np.linalg.solve(np.eye(len(mean)) + prior @ information, prior @ slope)
        change = slope - information @ step
        if np.abs(step).max() < _TOLERANCE:
            break
        for share in _SHARES:  # a whole step may lead beyond the mode, to where the likelihood is flat
            tried = direction + share * change
            moved = prior @ tried
            here = deal.derivatives(mean + moved)
            value = weight * here.value - float(tried @ moved) / 2
            if value >= objective - _ROUNDING:
                break
        direction, objective = tried, value
    return direction
