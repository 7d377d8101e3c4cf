"""How much larger errors are in a Swiss tournament, in which earlier results choose who meets whom.

A bot that was lucky meets others that were lucky, so the estimates scatter more than their errors say. By how
much is found by a parametric bootstrap (Efron & Tibshirani 1993): the schedule is played again and again
between bots of known strengths, and each time its games are rated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from happycity_tournament.config import Swiss, TournamentConfig
from happycity_tournament.games import Result
from happycity_tournament.ratings.columns import Floats, GamesBuilder
from happycity_tournament.ratings.estimate import Estimate, estimate_of, student_quantiles
from happycity_tournament.ratings.likelihood import draw_places
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.swiss import SwissSchedule

REPLAYS = 50
_FEWEST_REPLAYS = 4
_ENOUGH_BOTS = 800
"""Bots in all replays together, after which the factor is exact enough."""
_MOST_ROUNDS = 30
"""The most rounds that are replayed; of a longer tournament the last rounds would add little."""
_HELD = 0.95
_DIGITS = 3
"""Of an Elo: rounding errors, which differ between processors, must not change who meets in a replay."""
_SEED = 0x4861707079
"""Any constant: it makes the factor the same in every run."""


def swiss_error_factor(
    tournaments: Sequence[tuple[TournamentConfig, Sequence[str]]], estimate: Estimate
) -> float:
    """Return how many times larger errors are than those of the estimate; 1 if no tournament is a Swiss one.

    With each tournament come the names by which its bots are rated. Where several are Swiss ones it is the
    largest of their factors.
    """
    elos = dict(zip(estimate.games.bots, _likely_elos(estimate).tolist(), strict=True))
    factors = [
        _factor(config, swiss, [elos[name] for name in names])
        for config, names in tournaments
        if isinstance(swiss := config.format, Swiss) and elos.keys() >= set(names)
    ]
    return max([1.0, *factors])


def _likely_elos(estimate: Estimate) -> Floats:
    """Return strengths that are spread as widely as the true ones (Efron & Morris 1973).

    Estimates are spread wider, by their errors.
    """
    elos = estimate.elos
    variance = float(np.mean(np.diag(estimate.covariance))) * ELO_PER_LOGIT**2
    spread = float(np.mean(elos**2))
    shrunk: Floats = np.round(elos * np.sqrt(max(0.0, 1 - variance / spread)) if spread else elos, _DIGITS)
    return shrunk


def _factor(config: TournamentConfig, swiss: Swiss, elos: Sequence[float]) -> float:
    """Return by how much 95% of the differences in replays are off, in units of what their intervals say."""
    replays = min(REPLAYS, max(_FEWEST_REPLAYS, _ENOUGH_BOTS // len(elos)))
    strengths = dict(zip(config.bots, elos, strict=True))
    off = np.concatenate([_off_by(config, swiss, strengths, replay) for replay in range(replays)])
    return max(1.0, float(np.quantile(off, _HELD)))


def _off_by(config: TournamentConfig, swiss: Swiss, strengths: Mapping[str, float], replay: int) -> Floats:
    """Return how far each difference is off in a replay, divided by half of its interval."""
    builder = GamesBuilder(config.bots)
    for result in _played(config, swiss, strengths, replay):
        builder.extend([result])
    estimate = estimate_of(builder.build())
    elos, true = estimate.elos, np.array([strengths[bot] for bot in config.bots])
    margins = student_quantiles(estimate.degrees) * estimate.difference_errors()
    pairs = np.triu_indices(len(true), 1)
    off = np.abs((elos[:, None] - elos) - (true[:, None] - true))[pairs] / margins[pairs]
    known: Floats = off[~np.isnan(off)]
    return known


def _played(
    config: TournamentConfig, swiss: Swiss, strengths: Mapping[str, float], replay: int
) -> Iterator[Result]:
    """Yield the games of a replay, with the numbers of their deals as seeds."""
    orders, rng = swiss.seat_orders, np.random.default_rng([_SEED, replay])
    field = Field(bots=config.bots, seats=config.game.players, seed=replay, seat_orders=orders)
    schedule = SwissSchedule(field, rounds=min(swiss.rounds, _MOST_ROUNDS))
    for number, tables in enumerate(schedule.rounds(), start=1):
        seated = [(bots, deal) for deal, table in enumerate(tables) for bots in orders.of(table)]
        own = np.array([[strengths[bot] for bot in bots] for bots, _ in seated]) / ELO_PER_LOGIT
        for (bots, deal), places in zip(seated, draw_places(own, rng).tolist(), strict=True):
            result = Result(0, None, (number, deal, 0), number * len(tables) + deal, bots, places)
            schedule.add(result)
            yield result
