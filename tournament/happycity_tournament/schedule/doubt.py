"""Which bots meet next where games go to pairs whose order is in doubt; of one tournament or of many at once.

The doubt about a pair's order is its expected loss in Elo, if the bot with the better estimate is chosen:
large where the difference is small beside its standard error, and small again once the error is, so that two
equal bots don't use up all games (the expected opportunity cost of Chick & Inoue 2001).
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np

from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

_MOST_ERRORS = 10.0  # a difference of more standard errors is in no doubt
_STEPS = 10_000


def doubtful_lineups(
    elos: Floats, errors: Floats, order: Ints, *, seats: int, tables: int, games_per_deal: int
) -> Ints:
    """Return the lineups whose games are expected to settle most, [tournament, table, seat], as bot numbers.

    A table begins with the pair most in doubt and adds those bots whose order against it is most in doubt.
    Each table is counted as played before the next is made up, one pair at a time.

    Args:
        elos: [tournament, bot].
        errors: the standard error of each difference, [tournament, bot, bot]; infinite where it is unknown.
        order: the bots of each tournament, [tournament, bot]; among equals its first ones are taken.
        seats: seats at a table.
        tables: tables of the round.
        games_per_deal: games that a table plays.
    """
    elos = np.take_along_axis(elos, order, axis=1)
    distances = np.abs(elos[:, :, None] - elos[:, None, :])
    errors = np.take_along_axis(errors, order[:, :, None], axis=1)
    errors = np.take_along_axis(errors, order[:, None, :], axis=2)
    chances = 0.5 + 0.5 * np.tanh(distances / (2 * ELO_PER_LOGIT))
    gains = games_per_deal * chances * (1 - chances) / ELO_PER_LOGIT**2
    losses = _expected_losses(distances, errors)
    each, bots = np.arange(len(elos)), elos.shape[1]
    losses[:, np.arange(bots), np.arange(bots)] = -1.0  # nobody meets himself
    lineups = []
    for _ in range(tables):
        pair = losses.reshape(len(elos), -1).argmax(axis=1)
        lineup = [pair // bots, pair % bots]
        while len(lineup) < seats:
            candidates = losses[each, lineup[0]].copy()
            for member in lineup[1:]:
                candidates += losses[each, member]
            for member in lineup:
                candidates[each, member] = -np.inf
            lineup.append(candidates.argmax(axis=1))
        lineups.append(np.stack(lineup, axis=1))
        seated = lineups[-1]
        cells = each[:, None, None], seated[:, :, None], seated[:, None, :]
        with np.errstate(divide="ignore"):
            errors[cells] = (errors[cells] ** -2.0 + gains[cells]) ** -0.5
        losses[cells] = _expected_losses(distances[cells], errors[cells])
        for member in lineup:
            losses[each, member, member] = -1.0
    chosen: Ints = np.take_along_axis(order[:, None, :], np.stack(lineups, axis=1), axis=2)
    return chosen


def _expected_losses(distances: Floats, errors: Floats) -> Floats:
    """Return the mean of what the seemingly better one is worse by, counting 0 if it isn't, in Elo."""
    known = errors > 0
    standardised = np.divide(distances, errors, out=np.full_like(errors, np.inf), where=known)
    losses: Floats = np.interp(standardised, *_loss_table(), right=0.0)
    return np.multiply(errors, losses, out=losses, where=losses > 0)


@cache
def _loss_table() -> tuple[Floats, Floats]:
    """Return distances in standard errors, and phi(z) - z * Phi(-z) of each: numpy has no Phi."""
    normal, distances = NormalDist(), np.linspace(0.0, _MOST_ERRORS, _STEPS + 1)
    return distances, np.array([normal.pdf(z) - z * normal.cdf(-z) for z in distances.tolist()])
