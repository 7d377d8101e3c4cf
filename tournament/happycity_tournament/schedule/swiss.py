"""Swiss: in every round bots of about equal scores meet, and as few as possible meet again.

A bot's score of a round is the mean of its comparisons at its table: 1 for each opponent placed below it, 1/2
for a shared place. Tables of two come from a matching of least cost (Edmonds 1965; for Swiss tournaments
Olafsson 1990), larger ones from the order of the scores, improved by exchanges.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import rustworkx

from happycity.rules.shuffling import shuffled
from happycity_tournament.games import WIN, CountedGame, Fixture, half_points
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.schedule import CHOSEN_ERROR_RATIOS, Schedule

BYE_SCORE = Fraction(1, 2)
"""What a round without a game counts: it says nothing of the bot, so it is neither won nor lost."""

_SCORE_STEPS = 1000  # a difference of scores is exact to 1/1000 of a round
_CHANCE_BITS = 20
_MOST_STEPS = 25
_STEPS_TIMES_BOTS = 1500  # 0.1 to 0.2 s for 64 bots
_RING = 4

_Costs = list[list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRound:
    """A round that is over."""

    tables: Sequence[Sequence[str]]
    """The bots of each table; those at none sat out."""
    scores: Mapping[str, Fraction]
    """Each bot's score, 0 to 1; one that isn't there, for instance of a voided game, counts as a bye's."""


def round_pairings(
    bots: Sequence[str], history: Sequence[PlayedRound], *, seats: int, rng: random.Random
) -> list[list[str]]:
    """Return the tables of the next round, each in a random order.

    A bot that joined late has sat out before, each time with a bye. Those sit out who did so least often,
    among them those with the lowest scores. Of the rest as few as possible meet again, and among the ways to
    do so those with close scores meet; `rng` decides the rest.
    For tables of three and more, both are a local optimum.
    """
    order = shuffled(bots, rng)
    scores = {
        bot: sum((past.scores.get(bot, BYE_SCORE) for past in history), start=Fraction(0)) for bot in bots
    }
    players = _without_byes(order, history, scores=scores, byes=len(bots) % seats)
    ranked = sorted(players, key=scores.__getitem__, reverse=True)
    lineups = [table for past in history for table in past.tables]
    meetings = Counter(frozenset(pair) for table in lineups for pair in itertools.combinations(table, 2))
    costs = _pair_costs(ranked, scores=scores, meetings=meetings)
    tables = _matched(costs, rng) if seats == 2 else _searched(costs, rng, seats=seats)
    return [shuffled((ranked[place] for place in table), rng) for table in tables]


class SwissSchedule(Schedule):
    """A schedule whose rounds are stages, each drawn from the results of those before it."""

    draws_from_results = True
    error_ratios = CHOSEN_ERROR_RATIOS

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
        history: list[PlayedRound] = []
        for number in range(1, self._rounds + 1):
            tables = round_pairings(
                self._field.bots,
                history,
                seats=self._field.seats,
                rng=self._field.rng("swiss", number),
            )
            yield self._field.round_games(tables, number=number)
            history.append(PlayedRound(tables=tables, scores=self._scores(number)))

    def add(self, result: CountedGame) -> None:
        """Take a result; its order among the others doesn't matter."""
        number, seats = result.round, len(result.places)
        for bot, place in zip(result.bots, result.places, strict=True):
            against_itself = 1  # a seat shares its own place
            points = sum(half_points(place, other) for other in result.places) - against_itself
            self._scored[number][bot] += points
            self._possible[number][bot] += WIN * (seats - 1)

    def _scores(self, number: int) -> dict[str, Fraction]:
        scored = self._scored[number]
        return {bot: Fraction(scored[bot], possible) for bot, possible in self._possible[number].items()}


def _without_byes(
    order: Sequence[str], history: Sequence[PlayedRound], *, scores: Mapping[str, Fraction], byes: int
) -> list[str]:
    """Return those who play, in the same order."""
    played = Counter(bot for past in history for table in past.tables for bot in table)
    sitting_out = sorted(order, key=lambda bot: (-played[bot], scores[bot]))[:byes]
    return [bot for bot in order if bot not in sitting_out]


def _pair_costs(
    ranked: Sequence[str], *, scores: Mapping[str, Fraction], meetings: Mapping[frozenset[str], int]
) -> _Costs:
    """Return what it costs that two meet: any meeting again more than all differences of scores together."""
    steps = [round(scores[bot] * _SCORE_STEPS) for bot in ranked]
    pairs = len(ranked) * len(ranked)
    again = 1 + pairs * (steps[0] - steps[-1]) ** 2
    return [
        [
            again * meetings.get(frozenset((one, other)), 0) ** 2 + (step - other_step) ** 2
            for other, other_step in zip(ranked, steps, strict=True)
        ]
        for one, step in zip(ranked, steps, strict=True)
    ]


def _matched(costs: _Costs, rng: random.Random) -> list[list[int]]:
    """Return the perfect matching of least cost.

    Chance decides among equals by a cost of its own, too small to outweigh any other: the optimum is then
    the same whatever the order in which a release of the library looks at the edges.
    """
    pairs = list(itertools.combinations(range(len(costs)), 2))
    scale = len(costs) << _CHANCE_BITS
    weights = [-(costs[one][other] * scale + int(rng.random() * (1 << _CHANCE_BITS))) for one, other in pairs]
    graph: rustworkx.PyGraph[int, int] = rustworkx.PyGraph()
    graph.add_nodes_from(range(len(costs)))
    graph.add_edges_from([(one, other, weight) for (one, other), weight in zip(pairs, weights, strict=True)])
    matching = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    return sorted(sorted(pair) for pair in matching)


def _searched(costs: _Costs, rng: random.Random, *, seats: int) -> list[list[int]]:
    """Return tables of low cost by iterated local search (Lourenco, Martin & Stutzle 2003).

    It begins with neighbours in rank. The larger the field, the longer a step takes and the less there is to
    gain, so there are fewer of them.
    """
    places = range(len(costs))
    best = [list(places[first : first + seats]) for first in range(0, len(costs), seats)]
    _settle(costs, best, changed=range(len(best)))
    for _ in range(min(_MOST_STEPS, _STEPS_TIMES_BOTS // len(costs))):
        tables = _shaken(best, rng)
        _settle(costs, tables, changed=range(min(_RING, len(tables))))
        if _cost(costs, tables) < _cost(costs, best):
            best = tables
    return best


def _shaken(tables: Sequence[Sequence[int]], rng: random.Random) -> list[list[int]]:
    """Return the tables after bots of the first few changed places in a ring, which no exchange can do."""
    mixed = shuffled((shuffled(table, rng) for table in tables), rng)
    for seat in range(2):
        ring = mixed[:_RING]
        moving = [table[seat] for table in ring]
        for table, bot in zip(ring, [*moving[1:], moving[0]], strict=True):
            table[seat] = bot
    return mixed


def _settle(costs: _Costs, tables: Sequence[list[int]], *, changed: Iterable[int]) -> None:
    """Exchange bots of two tables as long as that lowers the cost; only tables that changed are looked at."""
    waiting = list(changed)
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


def _cost(costs: _Costs, tables: Sequence[Sequence[int]]) -> int:
    return sum(costs[one][other] for table in tables for one, other in itertools.combinations(table, 2))
