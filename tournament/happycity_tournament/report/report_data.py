"""The numbers of a report besides the ratings, counted in one pass over the games and their records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from happycity.records.replay import clock_of, metrics_of, movers_of, record_at
from happycity_tournament.games import FinishedGame, Result
from happycity_tournament.ratings.columns import Ints
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.statistics import Moments, count_metrics
from happycity_tournament.recorded_games import read_record
from happycity_tournament.standings.counted import Uncounted
from happycity_tournament.standings.standings import Forfeits, Standing, standings_of
from happycity_tournament.standings.stats import GameTable, Stats
from happycity_tournament.storage.packing import unpack_times

_GAMES_AT_ONCE = 1000
_POWERS = 10 ** np.arange(17)
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
    """Counts games, one by one, in the order of their schedule."""

    def __init__(self, bots: Sequence[str]) -> None:
        self.games = self.decisions = self.timed_games = 0
        """Games that count, decisions in them, and those whose record has think times."""
        self.unrated = 0
        """Games with a disqualified bot."""
        self.started_at = math.inf
        self.finished_at = -math.inf
        """Unix times of the first game's start and the last one's end, as far as they are known."""
        self.forfeited: list[FinishedGame] = []
        """The first games with forfeits."""
        self._columns = GameTable(bots)
        self._forfeits = Forfeits(bots)
        self._results: list[Result] = []
        """Those that are not in the columns yet."""
        self._times = {bot: BotTimes() for bot in bots}
        self._numbers = {bot: number for number, bot in enumerate(bots)}
        self._thinking, self._round_trips = _Gathered(), _Gathered()

    def add(self, game: FinishedGame, record: str | bytes | None, reason: Uncounted | None = None) -> None:
        """Count a game, which may not count for a reason, with its record or packed times.

        Raises:
            RecordError: these are malformed.
        """
        if game.started_at is not None and game.finished_at is not None:
            self.started_at = min(self.started_at, game.started_at)
            self.finished_at = max(self.finished_at, game.finished_at)
        result = game.result
        if reason is not None:
            if reason is Uncounted.UNRATED:
                self.unrated += 1
                self._forfeits.add_unrated(result)
            return
        self._results.append(result)
        self._forfeits.add(result)
        self.games += 1
        self.decisions += game.decisions
        if record is not None:
            with record_at(f"game {game.match_id}"):
                self._add_record(game, record)
        if result.endings and len(self.forfeited) < MAX_FORFEITS_SHOWN:
            self.forfeited.append(game)
        if len(self._results) == _GAMES_AT_ONCE:
            self._count()

    @cached_property
    def stats(self) -> Stats:
        """The stats of the games that count, once all are there."""
        self._count()
        return self._columns.stats()

    @cached_property
    def times(self) -> Mapping[str, BotTimes]:
        """What records say of each bot, once all are there."""
        self._count()
        return self._times

    def standings(self, ratings: Ratings) -> list[Standing]:
        """Return the line of each bot in the order of the ratings, once all games are there."""
        lines = {line.bot: line for line in standings_of(self.stats, ratings, self._forfeits)}
        return [lines[line.bot] for line in ratings.lines]

    def _add_record(self, game: FinishedGame, record: str | bytes) -> None:
        times: Sequence[Sequence[int]]
        if isinstance(record, bytes):
            times = unpack_times(record, len(game.bots))
        else:
            content = read_record(record)
            for seat, numbers in metrics_of(content):
                count_metrics(self._times[game.bots[seat]].metrics, numbers)
            times = movers_of(content), *clock_of(content)
        movers, think_us, round_trip_us = times
        if think_us:
            self.timed_games += 1
            bots = np.array([self._numbers[bot] for bot in game.bots])
            self._thinking.add(bots[np.asarray(movers)], think_us)
            self._round_trips.add(bots, round_trip_us)

    def _count(self) -> None:
        """Count what has gathered."""
        self._columns.add(self._results)
        self._results = []
        self._thinking.count([times.thinking for times in self._times.values()])
        self._round_trips.count([times.round_trips for times in self._times.values()])


class _Gathered:
    """Times of bots that are counted many at once."""

    def __init__(self) -> None:
        self._bots: list[Ints] = []
        self._micros: list[Sequence[int]] = []

    def add(self, bots: Ints, micros: Sequence[int]) -> None:
        """Take times in microseconds with the numbers of their bots; 0 is none, as of a bot not asked."""
        self._bots.append(bots)
        self._micros.append(micros)

    def count(self, histograms: Sequence[Histogram]) -> None:
        """Count what has gathered, to three digits, in the histograms of all bots."""
        if not self._micros:
            return
        bots, micros = np.concatenate(self._bots), np.concatenate(self._micros).astype(np.int64)
        for number, histogram in enumerate(histograms):
            own = _three_digits(micros[(bots == number) & (micros > 0)])
            values, counts = np.unique(own, return_counts=True)
            histogram.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        self._bots, self._micros = [], []


def _three_digits(numbers: Ints) -> Ints:
    """Return whole numbers with three digits that count, as `format` rounds them: halves to even ones."""
    units = 10 ** np.maximum(0, np.searchsorted(_POWERS, numbers, side="right") - 3)
    kept, rest = np.divmod(numbers, units)
    rounded: Ints = units * (kept + ((2 * rest > units) | ((2 * rest == units) & (kept % 2 == 1))))
    return rounded
