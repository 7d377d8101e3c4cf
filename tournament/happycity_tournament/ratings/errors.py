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

MIN_DECISIVE = 10
"""With fewer deals that were not even, their number itself is in doubt."""
_HIDDEN_DEALS = 4.0  # about (3.7 / 1.96)^2

_CELLS_AT_ONCE = 1 << 22  # of a matrix with a row for each deal: 32 MB


def sandwich(fit: Fit) -> Floats:
    """Return the covariance of the parameters: V (sum of U U' over deals) V, corrected for few deals.

    U is the sum of the scores of a deal's games, V the inverse of the information. The correction is
    C/(C - 1) for C deals; for a bot's strength, of which other deals tell little, C is how many it played in.
    """
    middle = np.diag(_prior_variances(fit)) + doubt_of_even_deals(fit)
    for sums in deal_scores(fit):
        middle += sums.T @ sums
    covariance = fit.inverse @ middle @ fit.inverse
    played = np.full(fit.layout.length, fit.games.deals)
    played[fit.layout.strengths] = fit.games.deals_played()
    scale = np.sqrt(played / np.maximum(1, played - 1))
    corrected: Floats = covariance * scale[:, None] * scale
    return corrected


def doubt_of_even_deals(fit: Fit) -> Floats:
    """Return what deals that were all even, or nearly all, hide of the variance of the scores, by parameter.

    With no uneven deal of n, a share of 3.7 / n may be uneven at 97.5% (the rule of three); with a few, their
    number is known badly, too. So `_HIDDEN_DEALS` more uneven deals count, the fewer the nearer the uneven
    ones come to `MIN_DECISIVE`. In each of them all games of the bot are taken as won or lost.
    """
    bots, games = len(fit.games.bots), fit.games.games_played()
    deals, decisive = fit.games.deals_played(), fit.games.decisive_deals()
    hidden = _HIDDEN_DEALS * np.maximum(0, 1 - decisive / MIN_DECISIVE) * (deals > 0)
    squares = hidden * (games / np.maximum(1, deals) / 2) ** 2
    doubt = np.zeros((fit.layout.length,) * 2)
    for bot in np.flatnonzero(squares):
        others = (fit.groups.groups == fit.groups.groups[bot]) & (np.arange(bots) != bot)
        if others.any():
            # Against the others, whose sums of such scores make their own share up.
            change = np.zeros(fit.layout.length)
            change[fit.layout.strengths][others] = -1 / others.sum()
            change[bot] = 1
            doubt += squares[bot] * others.sum() / (others.sum() + 1) * np.outer(change, change)
    return doubt


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
