"""Round robin: everybody meets everybody equally often, exactly.

Up to `designs.FEW_TABLES` tables, all combinations are played; beyond, a balanced design. The seed decides
which bot is which of its points, anew in each cycle.
"""

from __future__ import annotations

from collections.abc import Iterator

from happycity.deals import shuffled
from happycity_tournament.results import Fixture
from happycity_tournament.schedule.designs import balanced_rounds
from happycity_tournament.schedule.field import Field, check_count
from happycity_tournament.schedule.stages import FixedSchedule


class RoundRobin(FixedSchedule):
    """The whole design, `cycles` times on different deals.

    Raises:
        ConfigError: there are no cycles, or no design for so many bots.
    """

    def __init__(self, field: Field, *, cycles: int = 1) -> None:
        check_count("cycles", cycles)
        self._field = field
        self._cycles = cycles
        self._rounds = balanced_rounds(bots=len(field.bots), seats=field.seats)

    @property
    def deals_per_cycle(self) -> int:
        """How many tables one cycle has."""
        return sum(map(len, self._rounds))

    @property
    def total_games(self) -> int:
        """How many games there are."""
        return self._cycles * self.deals_per_cycle * self._field.games_per_deal

    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""
        for number, tables in enumerate(self._companies(), start=1):
            for table, company in enumerate(tables):
                yield from self._field.deal(company, number=number, table=table)

    def _companies(self) -> Iterator[list[list[str]]]:
        for cycle in range(1, self._cycles + 1):
            rng = self._field.rng("round robin", cycle)
            bots = shuffled(self._field.bots, rng)
            for tables in shuffled(self._rounds, rng):
                yield [shuffled((bots[point] for point in block), rng) for block in tables]
