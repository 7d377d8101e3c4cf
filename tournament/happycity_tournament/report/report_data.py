"""The numbers of a report besides the ratings, counted in one pass over the games and their records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from happycity.records.record import Json
from happycity.records.replay import clock_of, metrics_of, movers_of, record_at
from happycity_tournament.games import Result
from happycity_tournament.ratings.columns import Ints
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.statistics import Moments, count_metrics
from happycity_tournament.recorded_games import read_record
from happycity_tournament.standings.standings import Forfeits, Standing, standings_of
from happycity_tournament.standings.stats import GameTable, Stats
from happycity_tournament.storage.packing import MICROS, unpack_times

_TIMES_AT_ONCE = 300_000
_POWERS = 10 ** np.arange(17)
_BITS = (4, 10)
"""Those of an exponent and of three digits, which may be 1000."""
MAX_FORFEITS_SHOWN = 20
"""Games with forfeits that are kept as notable ones."""


class Histogram(Counter[int]):
    """How often each number occurred."""

    @property
    def mean(self) -> float:
        """Their mean; 0 without any."""
        return sum(value * count for value, count in self.items()) / max(1, self.total())

    def quantile(self, share: float) -> int:
        """Return the least number that at least this share of all do not exceed; 0 without any."""
        needed, passed = share * self.total(), 0
        for value in sorted(self):
            passed += self[value]
            if passed >= needed:
                return value
        return 0


@dataclass(slots=True)
class BotTimes:
    """What records say of a bot."""

    thinking: Histogram = field(default_factory=Histogram)
    """Microseconds of its decisions, to three digits."""
    round_trips: Histogram = field(default_factory=Histogram)
    """Microseconds of its last round trip in each game, to three digits."""
    metrics: dict[str, Moments] = field(default_factory=dict)
    """The numbers that it sent with its answers, by their names."""


class ReportData:
    """Counts games, some at once, in the order of their schedule."""

    def __init__(self, bots: Sequence[str]) -> None:
        self.games = self.decisions = self.timed_games = 0
        """Games that count, decisions in them, and those whose record has think times."""
        self.unrated = 0
        """Games with a disqualified bot."""
        self.started_at = math.inf
        self.finished_at = -math.inf
        """Unix times of the first game's start and the last one's end, as far as they are known."""
        self.forfeited: list[int] = []
        """The match ids of the first games with forfeits."""
        self._columns = GameTable(bots)
        self._forfeits = Forfeits(bots)
        self._times = {bot: BotTimes() for bot in bots}
        self._numbers = {bot: number for number, bot in enumerate(bots)}
        self._thinking = _Gathered([times.thinking for times in self._times.values()])
        self._round_trips = _Gathered([times.round_trips for times in self._times.values()])

    def add(self, counted: Sequence[Result], unrated: Sequence[Result] = ()) -> None:
        """Count games with their records or packed times, and note those that are unrated.

        Raises:
            RecordError: a record is malformed.
        """
        for game in (*counted, *unrated):
            if game.started_at is not None and game.finished_at is not None:
                self.started_at = min(self.started_at, game.started_at)
                self.finished_at = max(self.finished_at, game.finished_at)
        for game in unrated:
            self._forfeits.add_unrated(game)
        for game in counted:
            self._forfeits.add(game)
        self.unrated += len(unrated)
        self.games += len(counted)
        self.decisions += sum(game.decisions for game in counted)
        self._columns.add(counted)
        self._add_times(counted)
        with_forfeits = [game.match_id for game in counted if game.endings]
        self.forfeited += with_forfeits[: MAX_FORFEITS_SHOWN - len(self.forfeited)]

    @cached_property
    def stats(self) -> Stats:
        """The stats of the games that count, once all are there."""
        return self._columns.stats()

    @cached_property
    def times(self) -> Mapping[str, BotTimes]:
        """What records say of each bot, once all are there."""
        self._thinking.count()
        self._round_trips.count()
        return self._times

    def standings(self, ratings: Ratings) -> list[Standing]:
        """Return the line of each bot in the order of the ratings, once all games are there."""
        lines = {line.bot: line for line in standings_of(self.stats, ratings, self._forfeits)}
        return [lines[line.bot] for line in ratings.lines]

    def _add_times(self, games: Sequence[Result]) -> None:
        """Take the times in the records of games, and the numbers that their bots sent."""
        timed, packed = list[Result](), list[tuple[bytes, bytes, bytes]]()
        for game in games:
            with record_at(f"game {game.match_id}"):
                if isinstance(game.record, bytes):
                    timed.append(game)
                    packed.append(unpack_times(game.record, len(game.bots)))
                elif game.record is not None:
                    self._add_record(game, read_record(game.record))
        if timed:
            movers, *times = map(b"".join, zip(*packed, strict=True))
            think_us, round_trip_us = (np.frombuffer(each, MICROS) for each in times)
            decisions = [len(of_game) for of_game, *_ in packed]
            self._add(timed, decisions, np.frombuffer(movers, np.uint8), think_us, round_trip_us)

    def _add_record(self, game: Result, record: Json) -> None:
        for seat, numbers in metrics_of(record):
            count_metrics(self._times[game.bots[seat]].metrics, numbers)
        times = clock_of(record)
        if times[0]:
            movers, think_us, round_trip_us = map(np.array, (movers_of(record), *times))
            self._add([game], [len(movers)], movers, think_us, round_trip_us)

    def _add(
        self,
        games: Sequence[Result],
        decisions: Sequence[int],
        movers: Ints,
        think_us: Ints,
        round_trip_us: Ints,
    ) -> None:
        """Take the seats of the `decisions` of each game, their times, and the round trips by seat."""
        self.timed_games += len(games)
        bots = np.array([self._numbers[bot] for game in games for bot in game.bots])
        firsts = np.cumsum([0, *(len(game.bots) for game in games[:-1])])
        self._thinking.add(bots[movers + np.repeat(firsts, decisions)], think_us)
        self._round_trips.add(bots, round_trip_us)


class _Gathered:
    """Times that are counted many at once, to three digits, in the histogram of each bot."""

    def __init__(self, histograms: Sequence[Histogram]) -> None:
        self._histograms = histograms
        self._keys: list[Ints] = []
        """Of each time: its bot, the exponent of ten and three digits, by `_BITS` of a number."""
        self._gathered = 0

    def add(self, bots: Ints, micros: Ints) -> None:
        """Take times in microseconds with the numbers of their bots; 0 is none, as of a bot not asked."""
        exponents, digits = _three_digits(micros.astype(np.int64))
        keys = (bots << sum(_BITS)) + (exponents << _BITS[1]) + digits
        self._keys.append(keys[micros > 0].astype(np.int32))
        self._gathered += len(keys)
        if self._gathered > _TIMES_AT_ONCE:
            self.count()

    def count(self) -> None:
        """Count what has gathered."""
        keys, counts = np.unique(np.concatenate([*self._keys, np.empty(0, np.int32)]), return_counts=True)
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            exponent, digits = divmod(key & (1 << sum(_BITS)) - 1, 1 << _BITS[1])
            self._histograms[key >> sum(_BITS)][digits * 10**exponent] += count
        self._keys, self._gathered = [], 0


def _three_digits(numbers: Ints) -> tuple[Ints, Ints]:
    """Return exponents of ten and the three digits that count, as `format` rounds: halves to even ones."""
    exponents = np.maximum(0, np.searchsorted(_POWERS, numbers, side="right") - 3)
    units = _POWERS[exponents]
    kept, rest = np.divmod(numbers, units)
    return exponents, kept + ((2 * rest > units) | ((2 * rest == units) & (kept % 2 == 1)))
