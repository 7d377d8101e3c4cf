"""Round robin: everybody meets everybody equally often, exactly.

Up to `designs.FEW_TABLES` tables, all combinations are played; beyond, a balanced design. The seed decides
which bot is which of its points, again in each cycle.

A bot that joins late takes part in the cycles that begin after that. For each of the others it catches up
behind the last cycle, in a gauntlet against all that were there before it. The tables of a bot that is
withdrawn are left out. So at tables of two, any two bots that stay to the end have met exactly once for each
cycle. At larger ones the gauntlets come as near as whole ones can, and with the tables that are left out go
the meetings of the others there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from happycity.rules.shuffling import shuffled
from happycity_tournament.schedule.designs import Block, balanced_rounds
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.gauntlet import lineup_count, lineups
from happycity_tournament.schedule.schedule import FixedSchedule

_Lineups = list[list[str]]


class _Phase(NamedTuple):
    """Cycles that begin with the same bots: several in which no bot joins or leaves, or a single one."""

    cycles: range
    rounds: range
    bots: tuple[str, ...]


class RoundRobinSchedule(FixedSchedule):
    """The whole design, `cycles` times on different deals, and what late bots have missed of it.

    Raises:
        ConfigError: there is no design for so many bots.
    """

    def __init__(self, field: Field, *, cycles: int) -> None:
        self._field = field
        self._designs: dict[int, list[list[Block]]] = {}
        self._changes = field.changes()
        self._phases = list(self._divided(cycles))
        tables = sum(map(self._phase_tables, self._phases)) + sum(
            len(rounds) * self._gauntlet_tables(newcomer, rounds[0])
            for newcomer, every_round in self._catching_up()
            for rounds in self._between_changes(every_round)
        )
        super().__init__(field, tables=tables)

    # Tables are counted without drawing them, as a caller may ask for millions of cycles.

    def _divided(self, cycles: int) -> Iterator[_Phase]:
        """Yield so many cycles in phases."""
        number, cycle = 1, 1
        while cycle <= cycles:
            bots, left = self._field.present(number), cycles - cycle + 1
            length = len(self._design(bots))
            next_change = next((change for change in self._changes if change > number), None)
            if next_change is not None:
                left = min(left, max(1, (next_change - number) // length))
            yield _Phase(range(cycle, cycle + left), range(number, number + left * length), bots)
            number += left * length
            cycle += left

    def _phase_tables(self, phase: _Phase) -> int:
        if len(list(self._between_changes(phase.rounds))) == 1:
            return len(phase.cycles) * sum(map(len, self._design(phase.bots)))
        return sum(map(len, self._phase_lineups(phase)))

    def _between_changes(self, rounds: range) -> Iterator[range]:
        """Split rounds where bots join or leave."""
        inside = [change for change in self._changes if rounds.start < change < rounds.stop]
        return (range(start, stop) for start, stop in pairwise([rounds.start, *inside, rounds.stop]))

    def _catching_up(self) -> Iterator[tuple[str, range]]:
        """Yield each bot that joins late, in their order, and the rounds in which it catches up."""
        number = self._phases[-1].rounds.stop
        late = {entry.bot: entry.first_round for entry in self._field.participations if entry.first_round > 1}
        for newcomer in filter(late.__contains__, self._field.bots):
            joined = late[newcomer]
            opponents = len(self._opponents(newcomer, joined))
            count = sum(
                len(phase.cycles) * self._gauntlets(opponents, cycle_bots=len(phase.bots))
                for phase in self._phases
                if joined > phase.rounds.start
            )
            if count:
                yield newcomer, range(number, number + count)
                number += count

    def _design(self, bots: Sequence[str]) -> list[list[Block]]:
        count = len(bots)
        if count not in self._designs:
            self._designs[count] = balanced_rounds(bots=count, seats=self._field.seats)
        return self._designs[count]

    def lineups(self) -> Iterator[_Lineups]:
        """Yield each round's lineups; a round may be left without any."""
        for phase in self._phases:
            yield from self._phase_lineups(phase)
        for newcomer, rounds in self._catching_up():
            for number in rounds:
                yield self._gauntlet(newcomer, number)

    def _phase_lineups(self, phase: _Phase) -> Iterator[_Lineups]:
        drawn = (tables for cycle in phase.cycles for tables in self._cycle(cycle, phase.bots))
        for number, tables in zip(phase.rounds, drawn, strict=True):
            yield self._without_withdrawn(tables, number)

    def _cycle(self, cycle: int, present: Sequence[str]) -> Iterator[_Lineups]:
        rng = self._field.rng("round robin", cycle)
        bots = shuffled(present, rng)
        for tables in shuffled(self._design(present), rng):
            yield [shuffled((bots[point] for point in block), rng) for block in tables]

    def _without_withdrawn(self, tables: _Lineups, number: int) -> _Lineups:
        if not self._field.participations:
            return tables
        present = frozenset(self._field.present(number))
        return [lineup for lineup in tables if present.issuperset(lineup)]

    def _opponents(self, newcomer: str, number: int) -> list[str]:
        """Return those present in a round that were there before a bot, which catches up against them."""
        before = set(self._field.bots[: self._field.bots.index(newcomer)])
        return [bot for bot in self._field.present(number) if bot in before]

    def _gauntlets(self, opponents: int, *, cycle_bots: int) -> int:
        """Return how many gauntlets come nearest to a cycle of so many bots; at tables of two it is one."""
        seats = self._field.seats
        if opponents < seats - 1:
            return 0
        tables = sum(map(len, self._designs[cycle_bots]))
        meetings = tables * seats * (seats - 1) / (cycle_bots * (cycle_bots - 1))
        in_a_gauntlet = lineup_count(opponents, size=seats - 1) * (seats - 1) / opponents
        return max(1, round(meetings / in_a_gauntlet))

    def _gauntlet_tables(self, newcomer: str, number: int) -> int:
        """Return how many tables a round has in which a bot catches up."""
        opponents, size = self._opponents(newcomer, number), self._field.seats - 1
        if len(opponents) < size or newcomer not in self._field.present(number):
            return 0
        return lineup_count(len(opponents), size=size)

    def _gauntlet(self, newcomer: str, number: int) -> _Lineups:
        """Return the lineups in which a bot meets everybody that was there before it equally often."""
        if not self._gauntlet_tables(newcomer, number):
            return []
        opponents, size = self._opponents(newcomer, number), self._field.seats - 1
        rng = self._field.rng("catching up", number)
        return [shuffled([newcomer, *lineup], rng) for lineup in lineups(shuffled(opponents, rng), size=size)]
