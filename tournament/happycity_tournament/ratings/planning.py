"""How many games it takes until ratings are as exact as somebody wants, before any of them is played.

A bot's deals say the same of its strength on average, so errors shrink by the root of their number. With B
equally strong bots that meet equally often, a bot's own deals make up the information on its distance from
the mean to B / (B - 1), and that distance has (B - 1) / B of the variance: after d deals its standard error
is (B - 1) / B * s / sqrt(d). s, the error of one deal against a known field, is measured on games.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from happycity_tournament.ratings.columns import Floats, Games
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.fit import fit
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS, student_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Random rounds after which half of every rating's 95% interval is so small."""

    bots: int
    """How many bots there are."""
    seats: int
    """Seats at a table."""
    error: float
    """Half of the interval, in Elo."""
    rounds: int
    deals: int
    """Deals of each bot."""
    games: int
    """Games in all, each deal in all rotations."""


def plan(*, bots: int, seats: int, error: float, deal_error: float) -> Plan:
    """Return how much it takes; `deal_error` is s, in Elo, of the bot that takes most."""
    deals = deals_for(error, bots=bots, deal_error=deal_error)
    tables = bots // seats
    rounds = math.ceil(deals * bots / (tables * seats))
    return Plan(
        bots=bots, seats=seats, error=error, rounds=rounds, deals=deals, games=rounds * tables * seats
    )


def deals_for(error: float, *, bots: int, deal_error: float) -> int:
    """Return the deals of each bot after which half of its interval is `error` Elo at most."""
    deals = MIN_DEALS
    for _ in range(4):  # Student's quantile hardly changes after the first time
        needed = student_quantile(deals - 1) * (bots - 1) / bots * deal_error / error
        deals = max(MIN_DEALS, 1 + math.ceil(needed**2))
    return deals


def deal_errors(games: Games, *, seats: int) -> dict[str, float]:
    """Return the error of one deal, in Elo, of each bot with enough deals at tables of this size.

    Bots that were above, or below, all others in all games have none.
    """
    if seats not in games.tables:
        return {}
    estimate = fit(Games(games.bots, {seats: games.tables[seats]}).in_order_of_deals())
    strengths = estimate.layout.strengths
    errors: Floats = ELO_PER_LOGIT * np.sqrt(np.diag(sandwich(estimate))[strengths])
    deals, groups = estimate.deals_played, estimate.groups
    known = (deals >= MIN_DEALS) & (groups.levels == 0)
    pools = np.bincount(groups.pools[known], minlength=1)
    sizes = np.where(known, pools[np.where(known, groups.pools, 0)], 0)
    return {
        games.bots[bot]: float(errors[bot] * math.sqrt(deals[bot] - 1) * sizes[bot] / (sizes[bot] - 1))
        for bot in np.flatnonzero(known & (sizes > 1)).tolist()
    }
