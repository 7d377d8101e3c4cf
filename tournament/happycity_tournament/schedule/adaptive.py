"""Adaptive: after a minimum for everybody, games go where the order of the bots is most in doubt.

What a pair's order is in doubt is told in Elo, as the expected loss if the better estimate is believed: large
where the difference is small beside its standard error, and small again once the error is, so that two equal
bots don't use up all games (the expected opportunity cost of Chick & Inoue 2001).
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol, Self

from happycity.deals import shuffled
from happycity.errors import ConfigError
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.schedule.field import Field, check_count
from happycity_tournament.schedule.random_rounds import random_rounds

_ELO_PER_LOGIT = 400 / math.log(10)
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """What is known of the bots' strengths."""

    bots: tuple[str, ...]
    """The bots' names."""
    elos: tuple[float, ...]
    """Their ratings."""
    errors: tuple[tuple[float, ...], ...]
    """The standard error of each difference in Elo, row against column; infinite where nothing is known."""

    @classmethod
    def independent(cls, *, bots: Sequence[str], elos: Sequence[float], errors: Sequence[float]) -> Self:
        """Make estimates from one standard error, or quasi-standard error, for each bot."""
        both = tuple(tuple(math.hypot(one, other) for other in errors) for one in errors)
        return cls(bots=tuple(bots), elos=tuple(elos), errors=both)


class Estimator(Protocol):
    """Whoever rates bots from results."""

    def add(self, result: GameResult) -> None:
        """Count a game; they come in the order of the schedule."""

    def estimates(self) -> Estimates:
        """Return what is known after the games that were added."""


class Adaptive:
    """A `Schedule` of random rounds until everybody has played `minimum` deals, then of undecided pairs.

    After the minimum, a round has as many tables as before, but a bot may sit at several of them or at none.

    Raises:
        ConfigError: there is no minimum, or the deals are too few for it.
    """

    draws_from_results = True

    def __init__(self, field: Field, *, minimum: int, deals: int, estimator: Estimator) -> None:
        check_count("minimum", minimum)
        self._field = field
        self._deals = deals
        self._estimator = estimator
        # Nobody plays one round more than anybody else, so the mean reaches the minimum only if all do.
        self._opening = math.ceil(minimum * len(field.bots) / (field.tables * field.seats))
        self._results: defaultdict[int, list[GameResult]] = defaultdict(list)
        """Of each round that the estimator wasn't told of yet."""
        needed = self._opening * field.tables
        if deals < needed:
            raise ConfigError(f"deals: {deals} are fewer than the {needed} that a minimum of {minimum} takes")

    @property
    def total_games(self) -> int:
        """How many games there will be."""
        return self._deals * self._field.games_per_deal

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield the games of the minimum as one stage, then those of each round."""
        yield self._opening_games()
        self._tell(range(1, self._opening + 1))
        tables = self._field.tables
        left = self._deals - self._opening * tables
        for number in itertools.count(self._opening + 1):
            if left <= 0:
                return
            companies = undecided_tables(
                self._estimator.estimates(),
                seats=self._field.seats,
                tables=min(tables, left),
                games_per_deal=self._field.games_per_deal,
                rng=self._field.rng("adaptive", number),
            )
            yield self._games(companies, number)
            self._tell([number])
            left -= tables

    def add(self, result: GameResult) -> None:
        """Take a result; its order among the others doesn't matter."""
        self._results[result.fixture.round].append(result)

    def skip(self, fixture: Fixture) -> None:
        """Note a game without a result: the estimates rest on the others."""

    def _opening_games(self) -> Iterator[Fixture]:
        for number, companies in enumerate(random_rounds(self._field, rounds=self._opening), start=1):
            yield from self._games(companies, number)

    def _games(self, companies: Sequence[Sequence[str]], number: int) -> Iterator[Fixture]:
        for table, company in enumerate(companies):
            yield from self._field.deal(company, number=number, table=table)

    def _tell(self, rounds: Sequence[int]) -> None:
        """Let the estimator have the results of these rounds, in the order of the schedule."""
        for number in rounds:
            for result in sorted(self._results.pop(number, []), key=lambda one: one.fixture.position):
                self._estimator.add(result)


def undecided_tables(
    estimates: Estimates, *, seats: int, tables: int, games_per_deal: int, rng: random.Random
) -> list[list[str]]:
    """Return the companies whose games are expected to settle most, each in a random order.

    A table begins with the pair most in doubt and takes in whoever's order against those at it is most in
    doubt. Each table is counted as played before the next is made up. Among equals `rng` decides.
    """
    doubts = _Doubts(estimates, games_per_deal=games_per_deal)
    order = shuffled(range(len(estimates.bots)), rng)
    companies = []
    for _ in range(tables):
        company = doubts.company(order, seats=seats)
        doubts.count(company)
        companies.append(shuffled((estimates.bots[bot] for bot in company), rng))
    return companies


class _Doubts:
    """How much each pair's order is in doubt; bots are numbers from 0 here."""

    def __init__(self, estimates: Estimates, *, games_per_deal: int) -> None:
        self._elos = estimates.elos
        self._errors = [list(row) for row in estimates.errors]
        self._games_per_deal = games_per_deal
        bots = range(len(estimates.bots))
        self._doubts = [[self._doubt(one, other) for other in bots] for one in bots]

    def company(self, order: Sequence[int], *, seats: int) -> list[int]:
        """Return the bots of the next table; the first in `order` among equals."""
        doubts = self._doubts
        first, second = max(itertools.combinations(order, 2), key=lambda pair: doubts[pair[0]][pair[1]])
        company = [first, second]
        while len(company) < seats:
            others = [bot for bot in order if bot not in company]
            company.append(max(others, key=lambda bot: sum(doubts[bot][member] for member in company)))
        return company

    def count(self, company: Sequence[int]) -> None:
        """Make the errors as small as a deal between these bots will make them, seen one pair at a time."""
        for one, other in itertools.permutations(company, 2):
            expected = 1 / (1 + math.exp((self._elos[other] - self._elos[one]) / _ELO_PER_LOGIT))
            told = self._games_per_deal * expected * (1 - expected) / _ELO_PER_LOGIT**2
            error = self._errors[one][other]
            known = math.inf if error == 0 else error**-2
            self._errors[one][other] = (known + told) ** -0.5
            self._doubts[one][other] = self._doubt(one, other)

    def _doubt(self, one: int, other: int) -> float:
        """Return the mean of what the seemingly better one is worse by, counting 0 if it isn't, in Elo."""
        error = self._errors[one][other]
        if one == other or error == 0:
            return 0.0
        if math.isinf(error):
            return math.inf
        distance = abs(self._elos[one] - self._elos[other]) / error
        return error * (_NORMAL.pdf(distance) - distance * _NORMAL.cdf(-distance))
