"""Adaptive: after a minimum for everybody, most games go where the order of the bots is most in doubt."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from happycity import ConfigError
from happycity.rules.shuffling import shuffled
from happycity_tournament.games import CountedGame, Fixture
from happycity_tournament.ratings.live import LiveRatings
from happycity_tournament.schedule.doubt import doubtful_lineups
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule
from happycity_tournament.schedule.schedule import CHOSEN_ERROR_RATIOS, Schedule

CYCLE = 5
"""The rounds after the minimum are random or chosen by doubt in cycles of so many."""
RANDOM = (1, 3)
"""The rounds of a cycle that are random."""
_QUANTILE = 1.96  # of the normal distribution, for 95% intervals
_ESTIMATE_DIGITS = 6
"""Of an Elo: the rounding errors of an estimate must not change a draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """What is known of the bots' strengths."""

    bots: tuple[str, ...]
    """The bots' names."""
    elos: tuple[float, ...]
    """Their ratings."""
    errors: tuple[tuple[float, ...], ...]
    """The standard error of each difference in Elo, row against column; infinite where nothing is known."""


class Estimator:
    """Rates bots as the standings do, but by their unrated games too.

    Or else the order of a disqualified bot would stay in doubt, and get all the games.
    """

    def __init__(self, bots: tuple[str, ...]) -> None:
        self._bots = bots
        self._ratings = LiveRatings(bots)

    def add(self, result: CountedGame) -> None:
        """Count a game; they come in the order of the schedule."""
        self._ratings.add(result)

    def estimates(self) -> Estimates:
        """Return ratings, and the errors of their differences by the bootstrap over deals."""
        known = self._ratings.comparisons()
        # Where only a bound is known, its distance stands for the error: such an order is hardly in doubt.
        bounded = np.minimum(known.elos - known.lows, known.highs - known.elos) / _QUANTILE
        errors = np.where(np.isinf(known.errors), bounded, known.errors).round(_ESTIMATE_DIGITS)
        errors[np.isnan(errors)] = np.inf
        np.fill_diagonal(errors, 0.0)
        return Estimates(
            bots=self._bots,
            elos=tuple(round(line.elo, _ESTIMATE_DIGITS) for line in self._ratings.lines()),
            errors=tuple(map(tuple, errors.tolist())),
        )


class AdaptiveSchedule(Schedule):
    """A schedule of random rounds until everybody has played `minimum_deals` deals, then of open pairs.

    After the minimum, a round has as many tables as before, but a bot may sit at several of them or at none.

    Raises:
        ConfigError: the deals are too few for the minimum.
    """

    draws_from_results = True
    error_ratios = CHOSEN_ERROR_RATIOS

    def __init__(self, field: Field, *, minimum_deals: int, deals: int, estimator: Estimator) -> None:
        self._field = field
        self._deals = deals
        self.total_games = deals * field.games_per_deal
        self._estimator = estimator
        self._opening = opening_rounds(field, minimum_deals)
        self._results: defaultdict[int, list[CountedGame]] = defaultdict(list)
        """By round, until the estimator gets them."""
        needed = self._opening * field.tables
        if deals < needed:
            raise ConfigError(
                f"rounds: they make {deals} deals, but minimum_deals of {minimum_deals} takes {needed}"
            )

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield the games of the minimum as one stage, then those of each round."""
        opening, tables = self._opening, self._field.tables
        rounds = math.ceil(self._deals / tables)
        random_rounds = RandomRoundsSchedule(self._field, rounds=rounds).lineups()
        yield (
            game
            for number in range(1, opening + 1)
            for game in self._field.round_games(next(random_rounds), number=number)
        )
        self._estimate(range(1, opening + 1))
        for number in range(opening + 1, rounds + 1):
            wanted = min(tables, self._deals - (number - 1) * tables)
            if round_is_random(number, opening=opening):
                lineups = next(random_rounds)[:wanted]
            else:
                lineups = self._uncertain_tables(number, wanted)
            yield self._field.round_games(lineups, number=number)
            self._estimate([number])

    def _uncertain_tables(self, number: int, tables: int) -> list[list[str]]:
        return uncertain_tables(
            self._estimator.estimates(),
            seats=self._field.seats,
            tables=tables,
            games_per_deal=self._field.games_per_deal,
            rng=self._field.rng("adaptive", number),
        )

    def add(self, result: CountedGame) -> None:
        """Take a result; its order among the others doesn't matter."""
        self._results[result.round].append(result)

    def _estimate(self, rounds: Sequence[int]) -> None:
        """Hand the results of these rounds to the estimator, in the order of the schedule."""
        for number in rounds:
            for result in sorted(self._results.pop(number, []), key=lambda one: one.position or (0, 0, 0)):
                self._estimator.add(result)


def opening_rounds(field: Field, minimum_deals: int) -> int:
    """Return the random rounds with which everybody plays the minimum.

    Nobody plays one round more than anybody else, so the mean reaches the minimum only if all do.
    """
    return math.ceil(minimum_deals * len(field.bots) / (field.tables * field.seats))


def round_is_random(number: int, *, opening: int) -> bool:
    """Return whether chance and not doubt chooses who meets: in the opening, and in two of five later rounds.

    A bot that was unlucky in the opening seems clearly placed, and would play no more if doubt alone chose.
    """
    return number <= opening or (number - opening) % CYCLE in RANDOM


def uncertain_tables(
    estimates: Estimates, *, seats: int, tables: int, games_per_deal: int, rng: random.Random
) -> list[list[str]]:
    """Return the lineups whose games are expected to settle most, each in a random order.

    Among equals `rng` decides.
    """
    lineups = doubtful_lineups(
        np.array([estimates.elos]),
        np.array([estimates.errors]),
        np.array([shuffled(range(len(estimates.bots)), rng)]),
        seats=seats,
        tables=tables,
        games_per_deal=games_per_deal,
    )
    return [shuffled((estimates.bots[bot] for bot in lineup), rng) for lineup in lineups[0].tolist()]
