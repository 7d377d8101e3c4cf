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
    def _companies_per_cycle(self) -> int:
        # Companies are cut from the opponents, going round until the last one ends where the first began.
        return len(self._opponents) // math.gcd(len(self._opponents), self._field.seats - 1)

    @property
    def total_games(self) -> int:
        """How many games there are."""
        tables = len(self._challengers) * self._companies_per_cycle
        return self._cycles * tables * self._field.games_per_deal

    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""
        for cycle in range(1, self._cycles + 1):
            for table, company in enumerate(self._tables(cycle)):
                yield from self._field.deal(company, number=cycle, table=table)

    def _tables(self, cycle: int) -> Iterator[list[str]]:
        rng = self._field.rng("gauntlet", cycle)
        opponents = shuffled(self._opponents, rng)
        size = self._field.seats - 1
        for first in range(0, self._companies_per_cycle * size, size):
            company = [opponents[(first + place) % len(opponents)] for place in range(size)]
            for challenger in self._challengers:
                yield shuffled([challenger, *company], rng)


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
