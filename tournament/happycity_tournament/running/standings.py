"""The standings of a tournament: the same after the same games, whatever the order in which they end."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from happycity import Ending, FailurePolicy, SeatResult
from happycity_tournament.games import FinishedGame, Fixture, Position, place_in_words
from happycity_tournament.ratings.disqualifications import Disqualifications
from happycity_tournament.ratings.results import BotRating, Ratings, ranks_text
from happycity_tournament.ratings.statistics import with_ranks

if TYPE_CHECKING:
    from happycity_tournament.running.figures import Figures

MAX_REASONS = 10
"""Different reasons of forfeits that are counted apart for a bot; others are counted without a reason."""

_PLACE = re.compile(r" \([^()]*:\d+\)$")  # in a bot's code, such as (mybot.py:12)
_VALUE = re.compile(r"-?\d+(\.\d+)?|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class ForfeitCount:
    """How many of a bot's games were forfeited in the same way."""

    ending: Ending
    reason: str
    """As in `SeatResult`, of the first of these games: the others may differ in numbers and quoted words."""
    games: int
    first_match_id: int
    """The first of these games."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One bot's line; all of its columns are of the same games."""

    rank: int
    """1 is best; equal ratings share a rank."""
    bot: str
    """The bot's name."""
    elo: float
    """The mean over the bots of its pool is 1500."""
    elo_low: float | None = None
    """Lower end of the 95% interval; None while the bot played fewer than two deals."""
    elo_high: float | None = None
    """Upper end of it."""
    rank_best: int = 0
    """As in `BotRating`, like `rank_worst` and `mark`; 0 if it isn't known."""
    rank_worst: int = 0
    mark: str = ""
    games: int
    """Games counted, without unrated ones; a bot that fills several seats of a game counts it for each."""
    points_mean: float
    """Points a game; 0 before the first."""
    firsts: int
    """Games won, shared first places included."""
    forfeits: int
    """Games that the bot forfeited."""
    forfeit_counts: tuple[ForfeitCount, ...]
    """Why the bot forfeited them, the most frequent first."""
    games_unrated: int
    """Games with a disqualified bot at the table. They are counted here, and in no other column."""

    @property
    def ranks(self) -> str:
        """The ranks that the games leave open, such as `2-4`."""
        return ranks_text(self.rank_best, self.rank_worst)


@dataclass(slots=True)
class _Counters:
    games: int = 0
    points: int = 0
    firsts: int = 0
    forfeits: dict[tuple[Ending, str], ForfeitCount] = field(default_factory=dict)
    unrated: int = 0

    def add(self, game: FinishedGame, seat: SeatResult) -> None:
        self.games += 1
        self.points += seat.points
        self.firsts += seat.place == 1
        if seat.forfeited:
            key, reason = (seat.ending, _kind_of(seat.reason)), seat.reason
            if key not in self.forfeits and len(self.forfeits) >= MAX_REASONS:
                key, reason = (seat.ending, ""), ""
            count = self.forfeits.get(key) or ForfeitCount(seat.ending, reason, 0, game.match_id)
            self.forfeits[key] = replace(count, games=count.games + 1)


def _kind_of(reason: str) -> str:
    """Return a reason without its values, which differ from game to game; the place in the code stays."""
    place = _PLACE.search(reason)
    end = place.start() if place else len(reason)
    return _VALUE.sub("", reason[:end]) + reason[end:]


class Standings:
    """Counts results in the order of the schedule, which `expect` sets.

    A result that comes early is held back, with all of its columns, until those before it are there. So the
    standings after so many games don't depend on how many were played at once, and short games, which end
    first, don't count for more. For the same reason disqualification goes by the games that count.
    Games of a bot that is disqualified are not rated.
    """

    def __init__(
        self,
        *,
        bots: Sequence[str],
        policy: FailurePolicy | None = None,
        error_factor: float = 1.0,
    ) -> None:
        """Begin without games; without a policy no bot is disqualified.

        Errors are `error_factor` times those of a fixed schedule.
        """
        self._disqualifications = Disqualifications(policy or FailurePolicy(disqualify_share=0))
        from happycity_tournament.running.figures import FiguresCounter  # noqa: PLC0415 - it imports numpy

        self._figures = FiguresCounter(bots, error_factor=error_factor)
        self._counters = {bot: _Counters() for bot in bots}
        self._expected: deque[Position] = deque()
        """The games that are to count next."""
        self._passed: Position = (0, 0, 0)
        """The position of the last game that was counted or skipped."""
        self._early: dict[Position, FinishedGame | None] = {}
        """The games after a gap: a result, or None for a game that was skipped."""
        self.last_round: int | None = None
        """Games of later rounds don't count, as when a test has decided; None: all count."""
        self.games = 0
        """How many games are counted, unrated ones among them."""
        self.games_unrated = 0
        """How many games are unrated, because a bot at the table is disqualified."""
        self._computed: tuple[int, list[Standing]] = (-1, [])
        """After how many games the standings were computed last, and what they were."""
        self._computing = Lock()

    @property
    def disqualified(self) -> tuple[str, ...]:
        """The disqualified bots, the first one first."""
        return self._disqualifications.bots

    def expect(self, fixture: Fixture) -> None:
        """Let a game count after all those that were expected before it; positions rise."""
        self._expected.append(fixture.position)
        self._advance()

    def add(self, result: FinishedGame) -> None:
        """Take a result, in any order; it counts once it is expected and all games before it do.

        Raises:
            ValueError: the game was added or skipped before.
        """
        self._settle(result.fixture.position, result)

    def skip(self, fixture: Fixture) -> None:
        """Note, as `add` does, that a game has no result and never will; those after it don't wait for it."""
        self._settle(fixture.position, None)

    def flush(self) -> None:
        """Count all that is held back, as when a tournament is stopped and the gaps won't be filled."""
        for position, result in sorted(self._early.items()):
            self._count(result)
            self._early[position] = None

    def lines(self) -> list[Standing]:
        """Return the standings after the games that count, best first, equal ratings by the bots' order."""
        return self.lines_later()()

    def lines_later(self) -> Callable[[], list[Standing]]:
        """Return what computes `lines` of the games so far, in any thread, while more games are counted.

        They are computed once for all readers, by one thread at a time. A reader that waited may get those
        after more games.
        """
        if self._computed[0] == self.games:
            return self._computed[1].copy
        games, estimate, bots = self.games, self._figures.ratings.later(), self._counters.items()
        counters = {bot: replace(own, forfeits=dict(own.forfeits)) for bot, own in bots}

        def lines() -> list[Standing]:
            with self._computing:
                if self._computed[0] < games:
                    self._computed = games, _standings(estimate(), counters)
                return self._computed[1].copy()

        return lines

    def figures_later(self) -> Callable[[], Figures]:
        """Return what computes `figures` of the games so far, in any thread, while more games are counted."""
        return self._figures.later()

    def figures(self) -> Figures:
        """Return what the games that count show beside the standings; with many games it takes seconds."""
        return self.figures_later()()

    def _settle(self, position: Position, result: FinishedGame | None) -> None:
        if position <= self._passed or position in self._early:
            raise ValueError(f"{place_in_words(position)} is settled already")
        self._early[position] = result
        self._advance()

    def _advance(self) -> None:
        while self._expected and self._expected[0] in self._early:
            self._passed = self._expected.popleft()
            self._count(self._early.pop(self._passed))

    def _count(self, result: FinishedGame | None) -> None:
        if result is None:
            return
        if self.last_round is not None and result.round > self.last_round:
            return
        self.games += 1
        if not self._disqualifications.admit(result):
            self.games_unrated += 1
            for bot in set(result.bots):
                self._counters[bot].unrated += 1
            return
        self._figures.add(result)
        for bot, seat in zip(result.bots, result.seats, strict=True):
            self._counters[bot].add(result, seat)


def _standings(ratings: Ratings, counters: Mapping[str, _Counters]) -> list[Standing]:
    """Return the standings, best first, equal ratings in the order of the counters."""
    by_bot = {line.bot: line for line in ratings.lines}
    ordered = with_ranks((by_bot[bot] for bot in counters), lambda line: line.elo)
    return [_line(rating, counters[rating.bot], rank=rank) for rank, rating in ordered]


def _line(rating: BotRating, counters: _Counters, *, rank: int) -> Standing:
    counts = tuple(sorted(counters.forfeits.values(), key=lambda count: -count.games))
    return Standing(
        rank=rank,
        bot=rating.bot,
        elo=rating.elo,
        elo_low=rating.low,
        elo_high=rating.high,
        rank_best=rating.rank_best,
        rank_worst=rating.rank_worst,
        mark=rating.mark,
        games=counters.games,
        points_mean=counters.points / counters.games if counters.games else 0.0,
        firsts=counters.firsts,
        forfeits=sum(count.games for count in counts),
        forfeit_counts=counts,
        games_unrated=counters.unrated,
    )
