"""Random rounds: everybody plays in every round, and meets and sits out about as often as anybody else.

A round seats every bot at one table. Bots that don't fill a table sit the round out; nobody sits out twice
more than anybody else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from happycity.rules.shuffling import shuffled
from happycity_tournament.schedule.schedule import Field, FixedSchedule


class RandomRoundsSchedule(FixedSchedule):
    """As many rounds as wanted, of which the first ones stay the same when more are added."""

    def __init__(self, field: Field, *, rounds: int) -> None:
        self._rounds = rounds
        super().__init__(field, tables=rounds * field.tables)

    def lineups(self) -> Iterator[list[list[str]]]:
        """Yield the lineups of each round's tables."""
        field = self._field
        draw = _RandomDraw(bots=len(field.bots), seats=field.seats)
        for number in range(1, self._rounds + 1):
            tables = draw.next_round(field.rng("round", number))
            yield [[field.bots[bot] for bot in lineup] for lineup in tables]


class _RandomDraw:
    """Draws the rounds one after the other and remembers who played and who met whom.

    Bots are numbers from 0 here. Those who have played least play; among equals, those who met least sit
    together; what is then still open, chance decides.
    """

    def __init__(self, *, bots: int, seats: int) -> None:
        self._seats = seats
        self._played = [0] * bots
        self._meetings = [[0] * bots for _ in range(bots)]

    def next_round(self, rng: random.Random) -> list[list[int]]:
        """Return the bots of each table, in the order in which they sit down."""
        waiting = self._players(rng)
        tables = []
        while waiting:
            lineup = self._gather([waiting.pop()], candidates=waiting, size=self._seats)
            tables.append(shuffled(lineup, rng))
        for lineup in tables:
            for bot in lineup:
                self._played[bot] += 1
                for other in lineup:
                    self._meetings[bot][other] += bot != other
        return tables

    def _players(self, rng: random.Random) -> list[int]:
        """Return those who don't sit out, in random order."""
        order = shuffled(range(len(self._played)), rng)
        size = len(order) - len(order) % self._seats
        if size == len(order):
            return order
        least = min(self._played[bot] for bot in order)
        due = [bot for bot in order if self._played[bot] == least]
        others = [bot for bot in order if self._played[bot] > least]
        players = self._gather([], candidates=due, size=size)
        return shuffled(self._gather(players, candidates=others, size=size), rng)

    def _gather(self, lineup: list[int], *, candidates: list[int], size: int) -> list[int]:
        """Fill `lineup` up to `size` with the `candidates` that met it least, and take them from there."""
        meetings = self._meetings
        met = [sum(meetings[bot][member] for member in lineup) for bot in range(len(meetings))]
        while candidates and len(lineup) < size:
            chosen = min(candidates, key=met.__getitem__)
            candidates.remove(chosen)
            lineup.append(chosen)
            met = [before + more for before, more in zip(met, meetings[chosen], strict=True)]
        return lineup
