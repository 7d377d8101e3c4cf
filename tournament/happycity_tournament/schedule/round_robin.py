"""Round robin: everybody meets everybody equally often, exactly.

Up to `designs.FEW_TABLES` tables, all combinations are played; beyond, a balanced design. The seed decides
which bot is which of its points, again in each cycle.
"""

from __future__ import annotations

from collections.abc import Iterator

from happycity.rules.shuffling import shuffled
from happycity_tournament.schedule.designs import balanced_rounds
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.schedule import FixedSchedule


class RoundRobinSchedule(FixedSchedule):
    """The whole design, `cycles` times on different deals.

    Raises:
        ConfigError: there is no design for this number of bots.
    """

    def __init__(self, field: Field, *, cycles: int) -> None:
        self._cycles = cycles
        self._design = balanced_rounds(bots=len(field.bots), seats=field.seats)
        super().__init__(field, tables=cycles * sum(map(len, self._design)))

    def lineups(self) -> Iterator[list[list[str]]]:
        """Yield each round's lineups."""
        for cycle in range(1, self._cycles + 1):
            rng = self._field.rng("round robin", cycle)
            bots = shuffled(self._field.bots, rng)
            for tables in shuffled(self._design, rng):
                yield [shuffled((bots[point] for point in block), rng) for block in tables]
