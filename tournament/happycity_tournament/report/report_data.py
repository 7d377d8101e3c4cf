"""The numbers of a report besides the ratings, counted in one pass over the games and their records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from happycity.records.record import loads
from happycity.records.replay import clock_of, metrics_of, movers_of, record_at
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.statistics import Moments, count_metrics
from happycity_tournament.standings.counted import Uncounted
from happycity_tournament.standings.standings import Forfeits, Standing, standings_of
from happycity_tournament.standings.stats import GameTable, Stats

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
        self.times = {bot: BotTimes() for bot in bots}
        """What records say of each bot."""

    def add(self, game: FinishedGame, record: str | None, reason: Uncounted | None = None) -> None:
        """Count a game, which may not count for a reason, or raise a RecordError: its record is malformed."""
        if game.started_at is not None and game.finished_at is not None:
            self.started_at = min(self.started_at, game.started_at)
            self.finished_at = max(self.finished_at, game.finished_at)
        result = game.result
        if reason is not None:
            if reason is Uncounted.UNRATED:
                self.unrated += 1
                self._forfeits.add_unrated(result)
            return
        self._columns.add([result])
        self._forfeits.add(result)
        self.games += 1
        self.decisions += game.decisions
        if record is not None:
            with record_at(f"game {game.match_id}"):
                self._add_record(game, record)
        if game.forfeited and len(self.forfeited) < MAX_FORFEITS_SHOWN:
            self.forfeited.append(game)

    @cached_property
    def stats(self) -> Stats:
        """The stats of the games that count, once all are there."""
        return self._columns.stats()

    def standings(self, ratings: Ratings) -> list[Standing]:
        """Return the line of each bot in the order of the ratings, once all games are there."""
        lines = {line.bot: line for line in standings_of(self.stats, ratings, self._forfeits)}
        return [lines[line.bot] for line in ratings.lines]

    def _add_record(self, game: FinishedGame, text: str) -> None:
        record = loads(text)
        for seat, numbers in metrics_of(record):
            count_metrics(self.times[game.bots[seat]].metrics, numbers)
        think_us, round_trip_us = clock_of(record)
        self.timed_games += bool(think_us)
        for seat, micros in zip(movers_of(record), think_us, strict=False):
            if micros:  # else the bot was not asked
                self.times[game.bots[seat]].thinking[_three_digits(micros)] += 1
        for bot, micros in zip(game.bots, round_trip_us, strict=False):
            if micros:
                self.times[bot].round_trips[_three_digits(micros)] += 1


def _three_digits(micros: int) -> int:
    return int(float(f"{micros:.3g}"))
