"""Random rounds: everybody plays in every round, and meets and sits out about as often as anybody else.

A round seats every bot at one table. Bots that don't fill a table sit the round out; nobody sits out twice
more than anybody else. A bot that joins late is taken for one that has played and met as little as anybody:
else it would never sit out, and sit with whoever is drawn first, until it had made up for rounds that are
gone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from happycity.deals import shuffled
from happycity_tournament.results import Fixture
from happycity_tournament.schedule.field import Field, check_count
from happycity_tournament.schedule.stages import FixedSchedule


def fixtures(*, bots: Sequence[str], seats: int, rounds: int, seed: int) -> Iterator[Fixture]:
    """Return all games in their order (round, table, rotation), each worked out when it is asked for.

    Raises:
        ConfigError: at once, if no tournament can be made of these numbers.
    """
    return iter(RandomRounds(Field(bots=tuple(bots), seats=seats, seed=seed), rounds=rounds))


def total_games(*, bots: Sequence[str], seats: int, rounds: int) -> int:
    """Return how many games `fixtures` will list.

    Raises:
        ConfigError: no tournament can be made of these numbers.
    """
    return RandomRounds(Field(bots=tuple(bots), seats=seats, seed=0), rounds=rounds).total_games


class RandomRounds(FixedSchedule):
    """As many rounds as wanted, of which the first ones stay the same when more are added.

    Raises:
        ConfigError: there are no rounds.
    """

    def __init__(self, field: Field, *, rounds: int) -> None:
        check_count("rounds", rounds)
        self._field = field
        self._rounds = rounds

    @property
    def total_games(self) -> int:
        """How many games there are."""
        return self._field.tables_in(self._rounds) * self._field.games_per_deal

    def __iter__(self) -> Iterator[Fixture]:
        """Return all games in their order, each worked out when it is asked for."""
        for number, tables in enumerate(random_rounds(self._field, rounds=self._rounds), start=1):
            for table, company in enumerate(tables):
                yield from self._field.deal(company, number=number, table=table)


def random_rounds(field: Field, *, rounds: int) -> Iterator[list[list[str]]]:
    """Yield the companies of each round's tables."""
    draw = _Draw(bots=len(field.bots), seats=field.seats)
    numbers = {bot: number for number, bot in enumerate(field.bots)}
    for stretch, bots in field.stretches(rounds):
        draw.change([numbers[bot] for bot in bots])
        for number in stretch:
            tables = draw.next_round(field.rng("round", number))
            yield [[field.bots[bot] for bot in company] for company in tables]


class _Draw:
    """Draws the rounds one after the other and remembers who played and who met whom.

    Bots are numbers from 0 here. Whoever has played least plays; among equals, those who met least sit
    together; what is then still open, chance decides.
    """

    def __init__(self, *, bots: int, seats: int) -> None:
        self._seats = seats
        self._present: list[int] = []
        self._played = [0] * bots
        self._meetings = [[0] * bots for _ in range(bots)]

    def change(self, present: Sequence[int]) -> None:
        """Let these bots take part from now on; those that have not before begin like those that have."""
        before = set(self._present)
        there = [bot for bot in present if bot in before]
        if there:
            for newcomer in present:
                if newcomer not in before:
                    self._welcome(newcomer, there)
                    there.append(newcomer)
        self._present = list(present)

    def _welcome(self, newcomer: int, there: Sequence[int]) -> None:
        """Let a bot begin as if it had played, and met each of those there, as little as anybody did."""
        meetings = self._meetings
        self._played[newcomer] = min(self._played[bot] for bot in there)
        for bot in there:
            least = min((meetings[bot][other] for other in there if other != bot), default=0)
            meetings[bot][newcomer] = meetings[newcomer][bot] = least

    def next_round(self, rng: random.Random) -> list[list[int]]:
        """Return the bots of each table, in the order in which they sit down."""
        waiting = self._players(rng)
        tables = []
        while waiting:
            company = self._gather([waiting.pop()], candidates=waiting, size=self._seats)
            tables.append(shuffled(company, rng))
        for company in tables:
            self._remember(company)
        return tables

    def _players(self, rng: random.Random) -> list[int]:
        """Return those who don't sit out, in random order."""
        order = shuffled(self._present, rng)
        size = len(order) - len(order) % self._seats
        if size == len(order):
            return order
        least = min(self._played[bot] for bot in order)
        due = [bot for bot in order if self._played[bot] == least]
        others = [bot for bot in order if self._played[bot] > least]
        players = self._gather([], candidates=due, size=size)
        return shuffled(self._gather(players, candidates=others, size=size), rng)

    def _gather(self, company: list[int], *, candidates: list[int], size: int) -> list[int]:
        """Fill `company` up to `size` with the `candidates` that met it least, and take them from there."""
        meetings = self._meetings
        met = [sum(meetings[bot][member] for member in company) for bot in range(len(meetings))]
        while candidates and len(company) < size:
            chosen = min(candidates, key=met.__getitem__)
            candidates.remove(chosen)
            company.append(chosen)
            met = [before + more for before, more in zip(met, meetings[chosen], strict=True)]
        return company

    def _remember(self, company: Sequence[int]) -> None:
        for bot in company:
            self._played[bot] += 1
            for other in company:
                self._meetings[bot][other] += bot != other
