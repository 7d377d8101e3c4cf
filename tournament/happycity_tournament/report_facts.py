"""What a report tells beside the ratings, counted while the games pass by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from happycity.records import FINISHED, Json, loads, metrics_of
from happycity_tournament.game_columns import Floats, Games, GamesBuilder, Ints
from happycity_tournament.moments import Moments
from happycity_tournament.played_games import PlayedGame
from happycity_tournament.ratings import LiveElo
from happycity_tournament.results import DISQUALIFIED, GameResult

MAX_LIVE_BOTS = 100
"""The live rating of more bots isn't told: its bootstrap takes 3.2 kB for each pair of them."""
MAX_METRICS = 32
"""So many metrics of a bot are told, those that it named first."""
MAX_FORFEITS_SHOWN = 20
"""So many games with forfeits are kept as notable ones."""

CLOCK_KEYS = ("think_us", "round_trip_us")
"""What a record's `clock` may tell of each decision: the bot's time, and that with the way to it and back."""

_SAMPLES = 40  # of the live rating, at least, once there are as many games
_EXACT_BELOW = 1000  # microseconds are told to three digits


class Spread:
    """How numbers are spread, from how often each occurred."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.counts.total()

    @property
    def mean(self) -> float:
        """Their mean; 0 without any."""
        return sum(value * count for value, count in self.counts.items()) / max(1, self.total)

    @property
    def deviation(self) -> float:
        """Their standard deviation; 0 with fewer than two."""
        mean = self.mean
        squares = sum(count * (value - mean) ** 2 for value, count in self.counts.items())
        return math.sqrt(squares / max(1, self.total - 1))

    def classes(self, width: int) -> dict[int, int]:
        """Return how many numbers are in each class: `width` numbers from 0 on are in class 0."""
        found: Counter[int] = Counter()
        for value, count in self.counts.items():
            found[value // width] += count
        return dict(found)

    def quantile(self, share: float) -> int:
        """Return the least number that at least this share of all do not exceed; 0 without any."""
        needed, passed = share * self.total, 0
        for value in sorted(self.counts):
            passed += self.counts[value]
            if passed >= needed:
                return value
        return 0


@dataclass(slots=True)
class BotFacts:
    """One bot's games."""

    games: int = 0
    firsts: int = 0
    """Games won, shared first places included."""
    points: Spread = field(default_factory=Spread)
    endings: Counter[str] = field(default_factory=Counter)
    """How often the bot's games ended in each way, those in quarantine among them if it was disqualified."""
    quarantined: int = 0
    """Games with a disqualified bot at the table; they count nowhere else."""
    times: dict[str, Spread] = field(default_factory=lambda: {key: Spread() for key in CLOCK_KEYS})
    """Microseconds of its decisions by what was timed, to three digits."""
    metrics: dict[str, Moments] = field(default_factory=dict)
    """The numbers that it sent with its answers, by their names."""
    best: tuple[int, PlayedGame] | None = None
    """Its most points in a game that it didn't forfeit, and the first such game."""
    worst: tuple[int, PlayedGame] | None = None
    """Its fewest points, likewise."""

    @property
    def forfeits(self) -> int:
        """Games that the bot forfeited."""
        return self.games - self.endings[FINISHED]

    @property
    def failed(self) -> bool:
        """Whether it forfeited a game, or one was forfeited for it."""
        return bool(self.forfeits or self.endings[DISQUALIFIED])

    def add_metrics(self, told: Mapping[str, float]) -> None:
        """Count the numbers of an answer."""
        for name, number in told.items():
            if name in self.metrics or len(self.metrics) < MAX_METRICS:
                self.metrics.setdefault(name, Moments()).add(number)

    def add(self, game: PlayedGame, seat: int) -> None:
        """Count a game in which the bot had `seat`."""
        points = game.points[seat]
        self.games += 1
        self.firsts += game.places[seat] == 1
        self.endings[game.endings[seat]] += 1
        self.points.counts[points] += 1
        if game.forfeited(seat):
            return
        if self.best is None or points > self.best[0]:
            self.best = (points, game)
        if self.worst is None or points < self.worst[0]:
            self.worst = (points, game)


@dataclass(slots=True)
class SeatFacts:
    """One seat at tables of one size."""

    games: int = 0
    points: int = 0
    firsts: int = 0


class RatingHistory:
    """The live ratings (`happycity_tournament.ratings`) after some of the games, evenly spread over them."""

    def __init__(self, bots: Sequence[str]) -> None:
        self._elo = LiveElo(bots)
        self._step = 1
        self._games = 0
        self._samples: list[tuple[int, list[float]]] = []

    def add(self, result: GameResult) -> None:
        """Count a game."""
        self._elo.add(result)
        self._games += 1
        if self._games % self._step:
            return
        self._sample()
        if len(self._samples) == 2 * _SAMPLES:
            self._samples = self._samples[1::2]
            self._step *= 2

    def samples(self) -> list[tuple[int, list[float]]]:
        """Return numbers of games, ascending to all games, and the Elo of all bots after them."""
        if self._games and (not self._samples or self._samples[-1][0] != self._games):
            self._sample()
        return self._samples

    def _sample(self) -> None:
        self._samples.append((self._games, [rating.elo for rating in self._elo.ratings()]))


class Facts:
    """Counts games, one by one, in the order of their schedule."""

    def __init__(self, bots: Sequence[str]) -> None:
        count = len(bots)
        self.bots = {bot: BotFacts() for bot in bots}
        """By the bots' names."""
        self.games = self.decisions = self.timed_games = 0
        """Finished games that count, decisions in them, and those whose record tells think times."""
        self.quarantined = 0
        """Games with a disqualified bot, which count apart."""
        self.started_at = math.inf
        self.finished_at = -math.inf
        """Unix times of the first game's start and the last one's end, as far as they are known."""
        self.seats: dict[int, list[SeatFacts]] = {}
        """By the number of seats."""
        self.scores: Floats = np.zeros((count, count))
        """What the row's bot scored against the column's: 1 for a better place, 1/2 for a shared one."""
        self.meetings: Ints = np.zeros((count, count), dtype=np.int64)
        """How often they met."""
        self.forfeited: list[PlayedGame] = []
        """The first games with forfeits."""
        self.history = RatingHistory(bots) if count <= MAX_LIVE_BOTS else None
        """None with too many bots."""
        self._index = {bot: index for index, bot in enumerate(bots)}
        self._builder = GamesBuilder(bots)
        self._deals: dict[int, int] = {}

    def add(self, game: PlayedGame) -> None:
        """Count a game."""
        self._add_time(game)
        if game.quarantined:
            self._add_quarantined(game)
            return
        deal = self._deals.setdefault(game.deal_seed, len(self._deals) + 1)
        result = game.result(deal=deal)
        self._builder.add(result, deal=deal)
        if self.history is not None:
            self.history.add(result)
        self.games += 1
        self.decisions += game.decisions
        self._add_seats(game)
        self._add_pairs(game)
        self._add_record(game)
        if set(game.endings) != {FINISHED} and len(self.forfeited) < MAX_FORFEITS_SHOWN:
            self.forfeited.append(game)

    def _add_time(self, game: PlayedGame) -> None:
        if game.finished_at is not None:
            self.started_at = min(self.started_at, game.finished_at - (game.seconds or 0.0))
            self.finished_at = max(self.finished_at, game.finished_at)

    def _add_quarantined(self, game: PlayedGame) -> None:
        self.quarantined += 1
        for bot, ending in zip(game.bots, game.endings, strict=True):
            self.bots[bot].quarantined += 1
            if ending == DISQUALIFIED:
                self.bots[bot].endings[ending] += 1

    def columns(self) -> Games:
        """Return the games as the final ratings take them."""
        return self._builder.build()

    def _add_seats(self, game: PlayedGame) -> None:
        seats = self.seats.setdefault(len(game.bots), [SeatFacts() for _ in game.bots])
        for seat, (bot, facts) in enumerate(zip(game.bots, seats, strict=True)):
            self.bots[bot].add(game, seat)
            facts.games += 1
            facts.points += game.points[seat]
            facts.firsts += game.places[seat] == 1

    def _add_pairs(self, game: PlayedGame) -> None:
        seated = [(self._index[bot], place) for bot, place in zip(game.bots, game.places, strict=True)]
        for (bot, place), (other, other_place) in combinations(seated, 2):
            score = 0.5 if place == other_place else float(place < other_place)
            self.scores[bot, other] += score
            self.scores[other, bot] += 1 - score
            self.meetings[bot, other] += 1
            self.meetings[other, bot] += 1

    def _add_record(self, game: PlayedGame) -> None:
        record: Json = loads(game.record) if game.record is not None else {}
        for seat, told in metrics_of(record):
            self.bots[game.bots[seat]].add_metrics(told)
        timed = times_of(record)
        self.timed_games += bool(timed)
        for key, seat, micros in timed:
            self.bots[game.bots[seat]].times[key].counts[_three_digits(micros)] += 1


def times_of(record: Json) -> list[tuple[str, int, int]]:
    """Return what was timed (of `CLOCK_KEYS`), seat and microseconds, for each time that a record tells.

    A record's key `clock` has lists with a number for each of its moves, null where nobody was asked. Older
    records have none; lists of other lengths are left out, as nobody knows whose times they are.
    """
    clock, moves = record.get("clock"), record.get("moves")
    if not isinstance(clock, dict) or not isinstance(moves, list):
        return []
    return [
        (key, move["seat"], round(micros))
        for key in CLOCK_KEYS
        if isinstance(clock.get(key), list) and len(clock[key]) == len(moves)
        for move, micros in zip(moves, clock[key], strict=True)
        if micros is not None
    ]


def _three_digits(micros: int) -> int:
    if micros < _EXACT_BELOW:
        return micros
    unit: int = 10 ** (len(str(micros)) - 3)
    return round(micros / unit) * unit


def counted(bots: Sequence[str], games: Iterable[PlayedGame]) -> Facts:
    """Count all games."""
    facts = Facts(bots)
    for game in games:
        facts.add(game)
    return facts
