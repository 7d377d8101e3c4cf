"""The final ratings of any number of games: the Davidson-Luce model, with errors that rest on whole deals."""

from __future__ import annotations

import numpy as np

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.ratings.columns import Floats, Games
from happycity_tournament.ratings.duplicate_gain import duplicate_gains
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.results import RatedBot, Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile


def rate(games: Games, *, anchor: str | None = None, anchor_elo: float = MEAN_ELO) -> Ratings:
    """Return the ratings, with `anchor` (or, if it is None, the mean of each pool) at `anchor_elo`.

    Raises:
        KeyError: no bot has the anchor's name.
    """
    if anchor is not None and anchor not in games.bots:
        raise KeyError(anchor)
    return ratings_of(fit(games), anchor=anchor, anchor_elo=anchor_elo)


def ratings_of(estimate: Fit, *, anchor: str | None = None, anchor_elo: float = MEAN_ELO) -> Ratings:
    """Return the ratings of an estimate, as `rate` does; the anchor is one of its bots."""
    layout, parameters = estimate.layout, estimate.parameters
    covariance = ELO_PER_LOGIT**2 * sandwich(estimate)[layout.strengths, layout.strengths]
    return Ratings(
        model=_model(estimate),
        lines=_lines(estimate, covariance, anchor=anchor, anchor_elo=anchor_elo),
        anchor=anchor,
        seat_effects={
            size: tuple((ELO_PER_LOGIT * parameters[layout.seats(size)]).tolist())
            for size in estimate.seat_sizes
        },
        deltas=dict(zip(layout.tie_orders, np.exp(parameters[layout.ties]).tolist(), strict=True)),
        duplicate_gains=duplicate_gains(estimate),
        covariance=covariance,
    )


def _model(estimate: Fit) -> str:
    name = "Davidson-Luce (Plackett-Luce with ties)"
    if estimate.seat_sizes:
        name += f", seat effects at tables of {', '.join(map(str, estimate.seat_sizes))}"
    return f"{name}, errors clustered by deal"


def _lines(
    estimate: Fit, covariance: Floats, *, anchor: str | None, anchor_elo: float
) -> tuple[RatedBot, ...]:
    bots, pools = estimate.games.bots, estimate.pools
    games, deals = estimate.games.games_played(), estimate.games.deals_played()
    distances = np.eye(len(bots))
    fewest = deals  # on which an error rests: the bot's own or the anchor's
    if anchor is not None:
        index = bots.index(anchor)
        comparable = pools == pools[index]
        distances[comparable, index] -= 1
        fewest = np.where(comparable, np.minimum(deals, deals[index]), deals)
    elos = anchor_elo + distances @ (ELO_PER_LOGIT * estimate.parameters[estimate.layout.strengths])
    errors = np.sqrt(((distances @ covariance) * distances).sum(axis=1))
    columns = (elos, errors, fewest, games, deals, pools)
    lines = []
    for bot, elo, error, few, *counts in zip(bots, *(column.tolist() for column in columns), strict=True):
        low = high = None
        if few >= MIN_DEALS:
            margin = student_quantile(few - 1) * error
            low, high = elo - margin, elo + margin
        lines.append(RatedBot(bot, elo, low, high, *counts))
    return tuple(lines)
