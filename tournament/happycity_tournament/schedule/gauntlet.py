"""Gauntlet: challengers against the field, to place them among bots that are rated already."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from happycity.deals import shuffled
from happycity.errors import ConfigError
from happycity_tournament.results import Fixture
from happycity_tournament.schedule.field import Field, check_count
from happycity_tournament.schedule.stages import FixedSchedule


class Gauntlet(FixedSchedule):
    """Each table seats one challenger and some of the other bots, its opponents.

    A cycle is a round. In it each challenger meets each opponent equally often, and all challengers meet the
    same companies. A bot may sit at several tables of a round.

    Raises:
        ConfigError: there are no cycles, no challengers, or too few opponents to fill a table.
    """

    def __init__(self, field: Field, *, challengers: Sequence[str], cycles: int = 1) -> None:
        check_count("cycles", cycles)
        _check_challengers(challengers, field)
        self._field = field
        self._cycles = cycles
        self._challengers = tuple(challengers)
        self._opponents = tuple(bot for bot in field.bots if bot not in challengers)

    @property
    def total_games(self) -> int:
        """How many games there are."""
        companies = company_count(len(self._opponents), size=self._field.seats - 1)
        return self._cycles * len(self._challengers) * companies * self._field.games_per_deal

    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""
        for cycle in range(1, self._cycles + 1):
            for table, company in enumerate(self._tables(cycle)):
                yield from self._field.deal(company, number=cycle, table=table)

    def _tables(self, cycle: int) -> Iterator[list[str]]:
        rng = self._field.rng("gauntlet", cycle)
        for company in companies(shuffled(self._opponents, rng), size=self._field.seats - 1):
            for challenger in self._challengers:
                yield shuffled([challenger, *company], rng)


def company_count(opponents: int, *, size: int) -> int:
    """Return how many companies of `size` it takes for so many opponents to be in equally many of them."""
    return opponents // math.gcd(opponents, size)


def companies(opponents: Sequence[str], *, size: int) -> Iterator[list[str]]:
    """Yield companies in which every opponent is equally often, going round until nobody is left over."""
    for first in range(0, company_count(len(opponents), size=size) * size, size):
        yield [opponents[(first + place) % len(opponents)] for place in range(size)]


def _check_challengers(challengers: Sequence[str], field: Field) -> None:
    if not challengers:
        raise ConfigError("challengers: there are none")
    for challenger in challengers:
        if challenger not in field.bots:
            raise ConfigError(f"challengers: {challenger!r} is none of the bots")
        if challengers.count(challenger) > 1:
            raise ConfigError(f"challengers: {challenger!r} is named more than once")
    opponents = len(field.bots) - len(challengers)
    if opponents < field.seats - 1:
        raise ConfigError(
            f"challengers: they leave {opponents} opponents, too few for a table of {field.seats} seats"
        )
