"""Swiss: in every round bots of about equal scores meet, and few meet again.

A bot's score of a round is the mean of its comparisons at its table: 1 for each opponent placed below it, 1/2
for a shared place. From the top of the standings each bot in turn takes those that it has met least, among
them those with the closest scores; where that lets bots meet again, tables exchange bots.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from happycity.rules.shuffling import shuffled
from happycity_tournament.games import WIN, CountedGame, Fixture, half_points
from happycity_tournament.ratings.columns import Ints
from happycity_tournament.schedule.schedule import Field, Schedule

BYE_SCORE = Fraction(1, 2)
"""What a round without a game counts: it says nothing of the bot, so it is neither won nor lost."""

_SCORE_STEPS = 1000  # a difference of scores is exact to 1/1000 of a round

_Costs = list[list[int]]


class SwissSchedule(Schedule):
    """A schedule whose rounds are stages, each drawn from the results of those before it."""

    draws_from_results = True

    def __init__(self, field: Field, *, rounds: int) -> None:
        self._field = field
        self._rounds = rounds
        self.total_games = rounds * field.tables * field.games_per_deal
        self._scored: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """Half points of each round, by bot."""
        self._possible: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """What the bot would have won with first places only."""

    def stages(self) -> Iterator[Iterator[Fixture]]:
        """Yield each round's games; the results of the round before it must be there."""
        for number, tables in enumerate(self.rounds(), start=1):
            yield self._field.round_games(tables, number=number)

    def rounds(self) -> Iterator[list[list[str]]]:
        """Yield the tables of each round, each in a random order; see `stages`."""
        bots = self._field.bots
        draw = _SwissDraw(len(bots), seats=self._field.seats)
        numbers = {bot: number for number, bot in enumerate(bots)}
        for number in range(1, self._rounds + 1):
            tables = draw.next_round(self._field.rng("swiss", number))
            yield [[bots[bot] for bot in table] for table in tables]
            draw.count({numbers[bot]: score for bot, score in self._scores(number).items()})

    def add(self, result: CountedGame) -> None:
        """Take a result; its order among the others doesn't matter."""
        number, seats = result.round, len(result.places)
        for bot, place in zip(result.bots, result.places, strict=True):
            against_itself = 1  # a seat shares its own place
            points = sum([half_points(place, other) for other in result.places]) - against_itself
            self._scored[number][bot] += points
            self._possible[number][bot] += WIN * (seats - 1)

    def _scores(self, number: int) -> dict[str, Fraction]:
        scored = self._scored[number]
        return {bot: Fraction(scored[bot], possible) for bot, possible in self._possible[number].items()}


class _SwissDraw:
    """Draws the rounds one after the other and remembers scores, who played and who met whom.

    Bots are numbers from 0 here.
    """

    def __init__(self, bots: int, *, seats: int) -> None:
        self._seats = seats
        self._played = [0] * bots
        self._scores = [Fraction(0)] * bots
        self._meetings: Ints = np.zeros((bots, bots), dtype=np.int64)

    def next_round(self, rng: random.Random) -> list[list[int]]:
        """Return the tables of the next round.

        Those sit out who did so least often, among them those with the lowest scores.
        """
        order = shuffled(range(len(self._played)), rng)
        byes = len(order) % self._seats
        sitting_out = sorted(order, key=lambda bot: (-self._played[bot], self._scores[bot]))[:byes]
        players = [bot for bot in order if bot not in sitting_out]
        ranked = sorted(players, key=self._scores.__getitem__, reverse=True)
        tables = _gathered(self._costs(ranked), seats=self._seats)
        lineups = [shuffled((ranked[place] for place in table), rng) for table in tables]
        for lineup in lineups:
            self._meetings[np.ix_(lineup, lineup)] += 1
            for bot in lineup:
                self._played[bot] += 1
        return lineups

    def count(self, scores: Mapping[int, Fraction]) -> None:
        """Add the scores of a round; a bot without one, for instance of a voided game, has a bye's."""
        for bot in range(len(self._scores)):
            self._scores[bot] += scores.get(bot, BYE_SCORE)

    def _costs(self, ranked: Sequence[int]) -> _Costs:
        """Return what it costs that two meet: meeting again more than all differences of scores together."""
        steps = np.array([round(self._scores[bot] * _SCORE_STEPS) for bot in ranked])
        meetings = self._meetings[np.ix_(ranked, ranked)]
        fewer = meetings - meetings[~np.eye(len(ranked), dtype=bool)].min()  # so that numbers stay small
        np.fill_diagonal(fewer, 0)
        again = 1 + len(ranked) ** 2 * int(np.ptp(steps)) ** 2
        costs: _Costs = (again * fewer**2 + (steps[:, None] - steps) ** 2).tolist()
        return costs


def _gathered(costs: _Costs, *, seats: int) -> list[list[int]]:
    """Return tables of low cost: from the top each takes the cheapest others, then tables exchange bots."""
    waiting = list(range(len(costs)))
    tables = []
    while waiting:
        table = [waiting.pop(0)]
        while len(table) < seats:
            chosen = min(waiting, key=lambda bot: _cost_among(costs, bot, table))
            waiting.remove(chosen)
            table.append(chosen)
        tables.append(table)
    _settle(costs, tables)
    return tables


def _settle(costs: _Costs, tables: Sequence[list[int]]) -> None:
    """Exchange bots of two tables as long as that lowers the cost; only tables that changed are looked at."""
    waiting = list(range(len(tables)))
    while waiting:
        here = waiting.pop()
        for there in range(len(tables)):
            if there != here and _exchange(costs, tables[here], tables[there]):
                waiting += [table for table in (here, there) if table not in waiting]


def _exchange(costs: _Costs, one: list[int], other: list[int]) -> bool:
    """Exchange two bots of two tables if that lowers the cost; tell whether it did."""
    for here, mine in enumerate(one):
        gain = _cost_among(costs, mine, one) - _cost_among(costs, mine, other)
        for there, theirs in enumerate(other):
            # Exchanged, the two meet each other's lineup, but still not one another.
            back = _cost_among(costs, theirs, other) - _cost_among(costs, theirs, one)
            if gain + back + 2 * costs[mine][theirs] > 0:
                one[here], other[there] = theirs, mine
                return True
    return False


def _cost_among(costs: _Costs, bot: int, lineup: Sequence[int]) -> int:
    """Return what it costs that a bot meets all of these; meeting itself costs nothing."""
    row = costs[bot]
    return sum([row[member] for member in lineup])
