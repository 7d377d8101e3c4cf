"""Round robin: everybody meets everybody equally often, exactly.

Up to `designs.FEW_TABLES` tables, all combinations are played; beyond, a balanced design. The seed decides
which bot is which of its points, anew in each cycle.

A bot that joins late takes part in the cycles that begin after that. For each of the others it catches up
behind the last cycle, in a gauntlet against all that were there before it. The tables of a bot that is
withdrawn are left out. So at tables of two, any two bots that stay to the end have met exactly once for each
cycle. At larger ones the gauntlets come as near as whole ones can, and with the tables that are left out go
the meetings of the others there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from happycity.deals import shuffled
from happycity_tournament.results import Fixture
from happycity_tournament.schedule.designs import Block, balanced_rounds
from happycity_tournament.schedule.field import Field, check_count
from happycity_tournament.schedule.gauntlet import companies, company_count
from happycity_tournament.schedule.stages import FixedSchedule

_Companies = list[list[str]]


class RoundRobin(FixedSchedule):
    """The whole design, `cycles` times on different deals, and what late bots have missed of it.

    Raises:
        ConfigError: there are no cycles, or no design for so many bots.
    """

    def __init__(self, field: Field, *, cycles: int = 1) -> None:
        check_count("cycles", cycles)
        self._field = field
        self._cycles = cycles
        self._designs: dict[int, list[list[Block]]] = {}
        self._tables = self._count_tables()

    @property
    def deals_per_cycle(self) -> int:
        """How many tables the first cycle has."""
        return sum(map(len, self._design(self._field.present(1))))

    @property
    def total_games(self) -> int:
        """How many games there are."""
        return self._tables * self._field.games_per_deal

    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""
        for number, tables in enumerate(self._companies(), start=1):
            for table, company in enumerate(tables):
                yield from self._field.deal(company, number=number, table=table)

    def _count_tables(self) -> int:
        if not self._field.roster:
            return self._cycles * self.deals_per_cycle
        return sum(map(len, self._companies()))

    def _design(self, bots: Sequence[str]) -> list[list[Block]]:
        count = len(bots)
        if count not in self._designs:
            self._designs[count] = balanced_rounds(bots=count, seats=self._field.seats)
        return self._designs[count]

    def _companies(self) -> Iterator[_Companies]:
        """Yield each round's companies; a round may be left without any."""
        number = 1
        begun: list[tuple[int, int]] = []
        """Each cycle's first round, and how many bots take part in it."""
        for cycle in range(1, self._cycles + 1):
            bots = self._field.present(number)
            begun.append((number, len(bots)))
            for tables in self._cycle(cycle, bots):
                yield self._without_withdrawn(tables, number)
                number += 1
        for newcomer, joined in self._newcomers():
            for first_round, count in begun:
                if joined > first_round:
                    for _ in range(self._gauntlets(newcomer, joined=joined, cycle_bots=count)):
                        yield self._gauntlet(newcomer, number)
                        number += 1

    def _cycle(self, cycle: int, present: Sequence[str]) -> Iterator[_Companies]:
        rng = self._field.rng("round robin", cycle)
        bots = shuffled(present, rng)
        for tables in shuffled(self._design(present), rng):
            yield [shuffled((bots[point] for point in block), rng) for block in tables]

    def _without_withdrawn(self, tables: _Companies, number: int) -> _Companies:
        if not self._field.roster:
            return tables
        present = frozenset(self._field.present(number))
        return [company for company in tables if present.issuperset(company)]

    def _newcomers(self) -> list[tuple[str, int]]:
        """Return the bots that join late with their first rounds, in the order in which they join."""
        joined = {stay.bot: stay.first_round for stay in self._field.roster if stay.first_round > 1}
        return [(bot, joined[bot]) for bot in self._field.bots if bot in joined]

    def _opponents(self, newcomer: str, number: int) -> list[str]:
        """Return those present in a round that were there before a bot, which catches up against them."""
        before = self._field.bots[: self._field.bots.index(newcomer)]
        return [bot for bot in self._field.present(number) if bot in before]

    def _gauntlets(self, newcomer: str, *, joined: int, cycle_bots: int) -> int:
        """Return how many gauntlets come nearest to a cycle of so many bots; at tables of two it is one."""
        seats, opponents = self._field.seats, len(self._opponents(newcomer, joined))
        if opponents < seats - 1:
            return 0
        tables = sum(map(len, self._designs[cycle_bots]))
        meetings = tables * seats * (seats - 1) / (cycle_bots * (cycle_bots - 1))
        in_a_gauntlet = company_count(opponents, size=seats - 1) * (seats - 1) / opponents
        return max(1, round(meetings / in_a_gauntlet))

    def _gauntlet(self, newcomer: str, number: int) -> _Companies:
        """Return the companies in which a bot meets everybody that was there before it equally often."""
        opponents, size = self._opponents(newcomer, number), self._field.seats - 1
        if len(opponents) < size or newcomer not in self._field.present(number):
            return []
        rng = self._field.rng("catching up", number)
        return [
            shuffled([newcomer, *company], rng) for company in companies(shuffled(opponents, rng), size=size)
        ]
