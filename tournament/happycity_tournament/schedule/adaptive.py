"""Adaptive: after a minimum for everybody, games go where the order of the bots is most in doubt.

The doubt about a pair's order is its expected loss in Elo, if the bot with the better estimate is chosen:
large where the difference is small beside its standard error, and small again once the error is, so that two
equal bots don't use up all games (the expected opportunity cost of Chick & Inoue 2001).
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from happycity import ConfigError
from happycity.rules import shuffled
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.live import LiveRatings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule
from happycity_tournament.schedule.schedule import Schedule

_NORMAL = NormalDist()
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

    def add(self, result: FinishedGame) -> None:
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

    def __init__(self, field: Field, *, minimum_deals: int, deals: int, estimator: Estimator) -> None:
        self._field = field
        self._deals = deals
        self.total_games = deals * field.games_per_deal
        self._estimator = estimator
        # Nobody plays one round more than anybody else, so the mean reaches the minimum only if all do.
        self._opening = math.ceil(minimum_deals * len(field.bots) / (field.tables * field.seats))
        self._results: defaultdict[int, list[FinishedGame]] = defaultdict(list)
        """By round, until the estimator gets them."""
        needed = self._opening * field.tables
        if deals < needed:
            raise ConfigError(
                f"rounds: they make {deals} deals, but minimum_deals of {minimum_deals} takes {needed}"
            )

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield the games of the minimum as one stage, then those of each round."""
        yield iter(RandomRoundsSchedule(self._field, rounds=self._opening))
        self._estimate(range(1, self._opening + 1))
        tables = self._field.tables
        left = self._deals - self._opening * tables
        for number in itertools.count(self._opening + 1):
            if left <= 0:
                return
            lineups = uncertain_tables(
                self._estimator.estimates(),
                seats=self._field.seats,
                tables=min(tables, left),
                games_per_deal=self._field.games_per_deal,
                rng=self._field.rng("adaptive", number),
            )
            yield self._field.round_games(lineups, number=number)
            self._estimate([number])
            left -= tables

    def add(self, result: FinishedGame) -> None:
        """Take a result; its order among the others doesn't matter."""
        self._results[result.round].append(result)

    def _estimate(self, rounds: Sequence[int]) -> None:
        """Hand the results of these rounds to the estimator, in the order of the schedule."""
        for number in rounds:
            for result in sorted(self._results.pop(number, []), key=lambda one: one.position or (0, 0, 0)):
                self._estimator.add(result)


def uncertain_tables(
    estimates: Estimates, *, seats: int, tables: int, games_per_deal: int, rng: random.Random
) -> list[list[str]]:
    """Return the lineups whose games are expected to settle most, each in a random order.

    A table begins with the pair most in doubt and adds those bots whose order against it is most in
    doubt. Each table is counted as played before the next is made up. Among equals `rng` decides.
    """
    losses = _ExpectedLosses(estimates, games_per_deal=games_per_deal)
    order = shuffled(range(len(estimates.bots)), rng)
    lineups = []
    for _ in range(tables):
        lineup = losses.lineup(order, seats=seats)
        losses.count(lineup)
        lineups.append(shuffled((estimates.bots[bot] for bot in lineup), rng))
    return lineups


class _ExpectedLosses:
    """How much each pair's order is in doubt; bots are numbers from 0 here."""

    def __init__(self, estimates: Estimates, *, games_per_deal: int) -> None:
        self._elos = estimates.elos
        self._errors = [list(row) for row in estimates.errors]
        self._games_per_deal = games_per_deal
        bots = range(len(estimates.bots))
        self._losses = [[self._loss(one, other) for other in bots] for one in bots]

    def lineup(self, order: Sequence[int], *, seats: int) -> list[int]:
        """Return the bots of the next table; the first in `order` among equals."""
        losses = self._losses
        first, second = max(itertools.combinations(order, 2), key=lambda pair: losses[pair[0]][pair[1]])
        lineup = [first, second]
        while len(lineup) < seats:
            others = [bot for bot in order if bot not in lineup]
            lineup.append(max(others, key=lambda bot: sum(losses[bot][member] for member in lineup)))
        return lineup

    def count(self, lineup: Sequence[int]) -> None:
        """Make the errors as small as a deal between these bots will make them, seen one pair at a time."""
        for one, other in itertools.permutations(lineup, 2):
            expected = 1 / (1 + math.exp((self._elos[other] - self._elos[one]) / ELO_PER_LOGIT))
            gained = self._games_per_deal * expected * (1 - expected) / ELO_PER_LOGIT**2
            error = self._errors[one][other]
            known = math.inf if error == 0 else error**-2
            self._errors[one][other] = (known + gained) ** -0.5
            self._losses[one][other] = self._loss(one, other)

    def _loss(self, one: int, other: int) -> float:
        """Return the mean of what the seemingly better one is worse by, counting 0 if it isn't, in Elo."""
        error = self._errors[one][other]
        if one == other or error == 0:
            return 0.0
        if math.isinf(error):
            return math.inf
        distance = abs(self._elos[one] - self._elos[other]) / error
        return error * (_NORMAL.pdf(distance) - distance * _NORMAL.cdf(-distance))
