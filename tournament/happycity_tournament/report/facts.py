"""The numbers of a report beside the ratings, counted in one pass over the games."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from happycity import Ending
from happycity.records.record import loads
from happycity.records.replay import clock_of, metrics_of
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Games, GamesBuilder
from happycity_tournament.ratings.live import MAX_HISTORY_BOTS, RatingHistory
from happycity_tournament.ratings.spread import Spread
from happycity_tournament.ratings.statistics import BotMetrics, Moments, count_metrics
from happycity_tournament.report.export import errors_name
from happycity_tournament.storage.sources import RecordedGame, movers

MAX_FORFEITS_SHOWN = 20
"""Games with forfeits that are kept as notable ones."""


@dataclass(slots=True)
class BotFacts:
    """One bot's games; a game in which it fills several seats counts once for each."""

    games: int = 0
    firsts: int = 0
    """Games won, shared first places included."""
    points: Spread = field(default_factory=Spread)
    endings: Counter[Ending] = field(default_factory=Counter)
    """How often the bot's games ended in each way, also those in which it was disqualified."""
    unrated: int = 0
    """Games with a disqualified bot at the table; they are counted in no other number but `endings`."""
    thinking: Spread = field(default_factory=Spread)
    """Microseconds of its decisions, to three digits."""
    round_trips: Spread = field(default_factory=Spread)
    """Microseconds of its last round trip in each game, to three digits."""
    metrics: dict[str, Moments] = field(default_factory=dict)
    """The numbers that it sent with its answers, by their names."""
    reasons: Counter[tuple[Ending, str]] = field(default_factory=Counter)
    """How often it forfeited games, by ending and reason."""
    best: tuple[int, FinishedGame] | None = None
    """Its most points in a game that it didn't forfeit, and the first such game."""
    worst: tuple[int, FinishedGame] | None = None
    """Its fewest points in a game that it didn't forfeit, and the first such game."""

    @property
    def forfeits(self) -> int:
        """Games that the bot forfeited."""
        return self.games - self.endings[Ending.FINISHED]

    @property
    def failed(self) -> bool:
        """Whether it forfeited a game, or one was forfeited for it."""
        return bool(self.forfeits or self.endings[Ending.DISQUALIFIED])

    def add(self, game: FinishedGame, seat: int) -> None:
        """Count a game in which the bot had `seat`."""
        result = game.seats[seat]
        self.games += 1
        self.firsts += result.place == 1
        self.endings[result.ending] += 1
        self.points[result.points] += 1
        if result.forfeited:
            self.reasons[result.ending, result.reason] += 1
            return
        if self.best is None or result.points > self.best[0]:
            self.best = (result.points, game)
        if self.worst is None or result.points < self.worst[0]:
            self.worst = (result.points, game)


@dataclass(slots=True)
class SeatFacts:
    """One seat at tables of one size."""

    games: int = 0
    points: int = 0
    firsts: int = 0


class Facts:
    """Counts games, one by one, in the order of their schedule."""

    def __init__(self, bots: Sequence[str]) -> None:
        count = len(bots)
        self.bots = {bot: BotFacts() for bot in bots}
        """By the bots' names."""
        self.games = self.decisions = self.timed_games = 0
        """Rated games, decisions in them, and those whose record has think times."""
        self.unrated = 0
        """Games with a disqualified bot."""
        self.started_at = math.inf
        self.finished_at = -math.inf
        """Unix times of the first game's start and the last one's end, as far as they are known."""
        self.seats: dict[int, list[SeatFacts]] = {}
        """By the number of seats."""
        self.forfeited: list[FinishedGame] = []
        """The first games with forfeits."""
        self.history = RatingHistory(bots) if count <= MAX_HISTORY_BOTS else None
        """None with too many bots."""
        self._builder = GamesBuilder(bots) if self.history is None else self.history.ratings.builder

    def add(self, game: FinishedGame, record: str | None) -> None:
        """Count a game, or raise a RecordError: its record is malformed."""
        if game.started_at is not None and game.finished_at is not None:
            self.started_at = min(self.started_at, game.started_at)
            self.finished_at = max(self.finished_at, game.finished_at)
        if game.unrated:
            self._add_unrated(game)
            return
        if self.history is not None:
            self.history.add(game)
        else:
            self._builder.add(game)
        self.games += 1
        self.decisions += game.decisions
        self._add_seats(game)
        if record is not None:
            with errors_name(game):
                self._add_record(game, record)
        if any(seat.forfeited for seat in game.seats) and len(self.forfeited) < MAX_FORFEITS_SHOWN:
            self.forfeited.append(game)

    def columns(self) -> Games:
        """Return the games as the final ratings take them."""
        return self._builder.build()

    def _add_unrated(self, game: FinishedGame) -> None:
        self.unrated += 1
        for bot in set(game.bots):
            self.bots[bot].unrated += 1
        for bot, seat in zip(game.bots, game.seats, strict=True):
            if seat.ending is Ending.DISQUALIFIED:
                self.bots[bot].endings[seat.ending] += 1

    def _add_seats(self, game: FinishedGame) -> None:
        seats = self.seats.setdefault(len(game.bots), [SeatFacts() for _ in game.bots])
        for seat, (bot, facts) in enumerate(zip(game.bots, seats, strict=True)):
            self.bots[bot].add(game, seat)
            facts.games += 1
            facts.points += game.seats[seat].points
            facts.firsts += game.seats[seat].place == 1

    def _add_record(self, game: FinishedGame, text: str) -> None:
        record = loads(text)
        for seat, numbers in metrics_of(record):
            count_metrics(self.bots[game.bots[seat]].metrics, numbers)
        think_us, round_trip_us = clock_of(record)
        self.timed_games += bool(think_us)
        for seat, micros in zip(movers(record), think_us, strict=False):
            if micros:  # else the bot was not asked
                self.bots[game.bots[seat]].thinking[_three_digits(micros)] += 1
        for bot, micros in zip(game.bots, round_trip_us, strict=False):
            if micros:
                self.bots[bot].round_trips[_three_digits(micros)] += 1


def _three_digits(micros: int) -> int:
    return int(float(f"{micros:.3g}"))


def count_games(bots: Sequence[str], games: Iterable[RecordedGame]) -> Facts:
    """Count all games."""
    facts = Facts(bots)
    for game, record in games:
        facts.add(game, record)
    return facts


def bot_metrics(games: Iterable[RecordedGame]) -> BotMetrics:
    """Return what the metrics of games' records come to, by bot and by name."""
    counted: defaultdict[str, dict[str, Moments]] = defaultdict(dict)
    for game, text in games:
        for seat, numbers in [] if text is None else metrics_of(loads(text)):
            count_metrics(counted[game.bots[seat]], numbers)
    return dict(counted)
