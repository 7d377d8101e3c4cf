"""How far ratings may be off, where whole deals are independent and the games of a deal are not.

Games of one deal share their cards. With the bots rotated through the seats, luck cancels within a deal and
errors that take games as independent are too large; without rotation they are too small. Both errors here add
up what a deal's games say first: the cluster-robust sandwich (Liang & Zeger 1986), and as a check of it the
Bayesian bootstrap over deals (Rubin 1981).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from happycity_tournament.estimation import Fit
from happycity_tournament.game_columns import Floats, Games

_CELLS_AT_ONCE = 1 << 22  # of a matrix with a row for each deal: 32 MB


def sandwich(fit: Fit) -> Floats:
    """Return the covariance of the parameters: V (sum of U U' over deals) V, corrected for few deals.

    U is the sum of the scores of a deal's games, V the inverse of the information. The correction is
    C/(C - 1) for C deals; for a bot's strength, of which other deals tell little, C is how many it played in.
    """
    middle = np.diag(_prior_variances(fit))
    for sums in deal_scores(fit):
        middle += sums.T @ sums
    covariance = fit.inverse @ middle @ fit.inverse
    played = np.full(fit.layout.length, fit.games.deals)
    played[fit.layout.strengths] = fit.games.deals_played()
    scale = np.sqrt(played / np.maximum(1, played - 1))
    corrected: Floats = covariance * scale[:, None] * scale
    return corrected


def bootstrap(fit: Fit, rng: np.random.Generator, *, replicates: int = 400) -> Floats:
    """Return replicates of the parameters, [replicate, parameter], for deals weighted by chance.

    A replicate is one Newton step from the estimate, V sum of (w - 1) U over deals with w ~ Exp(1). Their
    scatter is exact to 1 / sqrt(2 replicates), and is without the correction for few deals.
    """
    prior = np.sqrt(_prior_variances(fit))
    gradients = (rng.standard_exponential((replicates, len(prior))) - 1) * prior
    for sums in deal_scores(fit):
        gradients += (rng.standard_exponential((replicates, len(sums))) - 1) @ sums
    steps: Floats = fit.parameters + gradients @ fit.inverse
    return steps


def deal_scores(fit: Fit) -> Iterator[Floats]:
    """Yield the sums of the scores of each deal's games, [deal, parameter], many deals at a time."""
    layout, width = fit.layout, fit.layout.length
    residuals = {size: fit.residuals(size) for size in fit.games.tables}
    for first, stop in _spans(fit.games, width=width):
        sums = np.zeros((stop - first) * width)
        for size, table in fit.games.tables.items():
            rows = slice(*np.searchsorted(table.deals, (first, stop)))
            starts = (table.deals[rows] - first) * width
            by_seat, by_tie = (scores[rows] for scores in residuals[size])
            seats = np.arange(width)[layout.seats(size)]
            for column in (table.bots[rows], np.broadcast_to(seats, by_seat.shape)):
                sums += np.bincount((starts[:, None] + column).ravel(), by_seat.ravel(), len(sums))
            ties = np.arange(width)[layout.ties]
            sums += np.bincount((starts[:, None] + ties).ravel(), by_tie.ravel(), len(sums))
        yield sums.reshape(-1, width)


def _spans(games: Games, *, width: int) -> Iterator[tuple[int, int]]:
    step = max(1, _CELLS_AT_ONCE // max(1, width))
    return pairwise([*range(0, games.deals, step), games.deals])


def student_quantile(degrees: int) -> float:
    """Return Student's 97.5% quantile, right to 0.001 from 9 degrees on (Abramowitz & Stegun 26.7.5)."""
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / degrees + second / degrees**2 + third / degrees**3


def _prior_variances(fit: Fit) -> Floats:
    """Return the variance of each virtual game's score, as if it were won or lost at even odds.

    Or else a bot that always wins would seem to be rated without any doubt.
    """
    chance = 0.5 + 0.5 * np.tanh(fit.parameters / 2)
    variances: Floats = fit.free * fit.prior_games * (0.5 - chance * (1 - chance))
    return variances
