"""How far ratings may be off, where whole deals are independent and the games of a deal are not.

Games of one deal share their cards. With the bots rotated through the seats, luck cancels within a deal and
errors that take games as independent are too large; without rotation they are too small. The cluster-robust
sandwich (Liang & Zeger 1986) sums up the scores of a deal's games first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from happycity_tournament.ratings.columns import Flags, Floats, Ints
from happycity_tournament.ratings.fit import Fit

MIN_UNEVEN = 10
"""With fewer deals that were not even, their number itself is in doubt."""
_MIN_UNEVEN_SHARE = 1 / 3  # of few deals
_HIDDEN_DEALS = 4.0  # about (3.7 / 1.96)^2

_CELLS_AT_ONCE = 1 << 22  # of a matrix with a row for each deal: 32 MB


def sandwich(fit: Fit) -> Floats:
    """Return the covariance of the parameters: V (sum of U U' over deals) V, corrected for few deals.

    U is the sum of the scores of a deal's games, V the inverse of the information. The correction is
    C/(C - 1) for C deals; for a bot's strength, of which other deals tell little, C is how many it played in.
    """
    middle = np.diag(_prior_variances(fit)) + doubt_of_even_deals(fit) + _squares(fit)
    covariance = fit.inverse @ middle @ fit.inverse
    played = np.full(fit.layout.length, fit.games.deals)
    played[fit.layout.strengths] = fit.deals_played
    scale = np.sqrt(played / np.maximum(1, played - 1))
    corrected: Floats = covariance * scale[:, None] * scale
    return corrected


def doubt_of_even_deals(fit: Fit) -> Floats:
    """Return what deals that were all even, or nearly all, hide of the variance of the scores, by parameter.

    With no uneven deal of n, a share of 3.7 / n may be uneven at 97.5% (the rule of three); with a few, their
    number is known badly, too. So `_HIDDEN_DEALS` more uneven deals count, the fewer the nearer the uneven
    ones come to `MIN_UNEVEN`. In each of them all games of the bot are taken as won or lost.
    """
    bots, games = len(fit.games.bots), fit.games.games_played()
    deals = fit.deals_played
    hidden = _HIDDEN_DEALS * np.maximum(0, 1 - fit.uneven_deals / least_uneven(deals)) * (deals > 0)
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


def least_uneven(deals: Ints) -> Floats:
    """Return how many of so many deals must not have been even for their number to be known."""
    least: Floats = np.minimum(MIN_UNEVEN, _MIN_UNEVEN_SHARE * np.maximum(1, deals))
    return least


def nearly_all_even(fit: Fit) -> Flags:
    """Return of whose deals so few were uneven that an error would rest on them alone."""
    few: Flags = fit.uneven_deals < least_uneven(fit.deals_played)
    return few


def _squares(fit: Fit) -> Floats:
    """Return the sum of U U' over deals.

    Nearly all deals have the same bots in each game, at tables of one size: then U has few entries beside 0.
    """
    layout = fit.layout
    squares = np.zeros((layout.length,) * 2)
    sizes = np.zeros(fit.games.deals, dtype=np.int64)
    for table in fit.games.tables.values():
        sizes[np.unique(table.deals)] += 1
    for size, table in fit.games.tables.items():
        by_seat, by_tie = fit.residuals(size)
        starts = np.flatnonzero(np.diff(table.deals, prepend=-1))
        order = np.argsort(table.bots, axis=1, kind="stable")
        bots = np.take_along_axis(table.bots, order, axis=1)
        deal_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(bots)))
        alike = np.logical_and.reduceat((bots == bots[starts][deal_of]).all(axis=1), starts)
        alike &= sizes[table.deals[starts]] == 1
        strengths = np.add.reduceat(np.take_along_axis(by_seat, order, axis=1), starts)[alike]
        others = np.add.reduceat(np.hstack([by_seat, by_tie]), starts)[alike]
        columns = np.r_[layout.seats(size), layout.ties]
        _add_squares(squares, bots[starts][alike], strengths, others, columns)
        sizes[table.deals[starts[alike]]] = 0
    for sums in deal_scores(fit, np.flatnonzero(sizes)):
        squares += sums.T @ sums
    return squares


def _add_squares(squares: Floats, bots: Ints, strengths: Floats, others: Floats, columns: Ints) -> None:
    """Add the squares of deals by the scores of their bots, [deal, bot], and of other parameters."""
    length = len(squares)
    for first in range(bots.shape[1]):
        for second in range(bots.shape[1]):
            cells = bots[:, first] * length + bots[:, second]
            products = np.bincount(cells, strengths[:, first] * strengths[:, second], length * length)
            squares += products.reshape(length, length)
        for number, column in enumerate(columns.tolist()):
            line = np.bincount(bots[:, first], strengths[:, first] * others[:, number], length)
            squares[column] += line
            squares[:, column] += line
    squares[np.ix_(columns, columns)] += others.T @ others


def deal_scores(fit: Fit, deals: Ints) -> Iterator[Floats]:
    """Yield the sums of the scores of each of these deals' games, [deal, parameter], many deals at a time."""
    layout, width = fit.layout, fit.layout.length
    numbers = np.full(fit.games.deals, -1)
    numbers[deals] = np.arange(len(deals))
    step = max(1, _CELLS_AT_ONCE // max(1, width))
    for part in (deals[start : start + step] for start in range(0, len(deals), step)):
        sums = np.zeros(len(part) * width)
        for size, table in fit.games.tables.items():
            by_seat, by_tie = fit.residuals(size)
            rows = np.flatnonzero(np.isin(table.deals, part))
            starts = (numbers[table.deals[rows]] - numbers[part[0]]) * width
            seats = np.broadcast_to(np.r_[layout.seats(size)], (len(rows), size))
            for column in (table.bots[rows], seats):
                sums += np.bincount((starts[:, None] + column).ravel(), by_seat[rows].ravel(), len(sums))
            ties = np.r_[layout.ties]
            sums += np.bincount((starts[:, None] + ties).ravel(), by_tie[rows].ravel(), len(sums))
        yield sums.reshape(-1, width)


def _prior_variances(fit: Fit) -> Floats:
    """Return the variance of each virtual game's score, as if it were won or lost at even odds.

    Or else a bot that always wins would seem to be rated without any doubt.
    """
    chance = 0.5 + 0.5 * np.tanh(fit.parameters / 2)
    variances: Floats = fit.free * fit.prior_games * (0.5 - chance * (1 - chance))
    return variances
