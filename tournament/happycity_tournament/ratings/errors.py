"""How far ratings may be off, where whole deals are independent and the games of a deal are not.

Games of one deal share their cards. With the bots rotated through the seats, luck cancels within a deal and
errors that take games as independent are too large; without rotation they are too small. The cluster-robust
sandwich (Liang & Zeger 1986) sums up the scores of a deal's games first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.fit import Fit

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


def deal_scores(fit: Fit) -> Iterator[Floats]:
    """Yield the sums of the scores of each deal's games, [deal, parameter], many deals at a time."""
    layout, width = fit.layout, fit.layout.length
    residuals = {size: fit.residuals(size) for size in fit.games.tables}
    deals, step = fit.games.deals, max(1, _CELLS_AT_ONCE // max(1, width))
    for first, stop in pairwise([*range(0, deals, step), deals]):
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


def _prior_variances(fit: Fit) -> Floats:
    """Return the variance of each virtual game's score, as if it were won or lost at even odds.

    Or else a bot that always wins would seem to be rated without any doubt.
    """
    chance = 0.5 + 0.5 * np.tanh(fit.parameters / 2)
    variances: Floats = fit.free * fit.prior_games * (0.5 - chance * (1 - chance))
    return variances
