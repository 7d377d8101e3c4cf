"""The standings of a tournament: the same after the same games, in any order of their ends."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from happycity import Ending, FailurePolicy
from happycity_tournament.games import Fixture, Position, Result, place_in_words
from happycity_tournament.ratings.results import BotRating, BotStats, Ratings
from happycity_tournament.ratings.statistics import with_ranks
from happycity_tournament.schedule import SprtSchedule
from happycity_tournament.standings.counted import CountingRule, Uncounted

if TYPE_CHECKING:
    from happycity_tournament.standings.stats import Stats

MAX_REASONS = 10
"""Different reasons of forfeits that are counted apart for a bot; others are counted without a reason."""

_PLACE = re.compile(r" \([^()]*:\d+\)$")  # in a bot's code, such as (mybot.py:12)
_VALUE = re.compile(r"-?\d+(\.\d+)?|'[^']*'|\"[^\"]*\"")


def score_text(score: float | None) -> str:
    """Return a score in percent, such as `62.5%`; `-` if there is none."""
    return "-" if score is None else f"{100 * score:.1f}%"


@dataclass(frozen=True, slots=True)
class ForfeitCount:
    """How many of a bot's games were forfeited in the same way."""

    ending: Ending
    reason: str
    """As in `SeatResult`, of the first of these games: the others may differ in numbers and quoted words."""
    games: int
    first_match_id: int
    """The first of these games."""


@dataclass(frozen=True, kw_only=True)
class Standing(BotRating, BotStats):
    """One bot's line: its rating, and what the same games show; all of its columns are of the same games."""

    rank: int
    """1 is best; equal ratings share a rank."""
    forfeits: int
    """Games that the bot forfeited."""
    forfeit_counts: tuple[ForfeitCount, ...]
    """Why the bot forfeited them, the most frequent first."""
    games_unrated: int
    """Games with a disqualified bot at the table. They are counted here, and in no other column."""

    @property
    def endings(self) -> Counter[Ending]:
        """How often the bot forfeited games in each way."""
        counts = Counter[Ending]()
        for count in self.forfeit_counts:
            counts[count.ending] += count.games
        return counts


class Forfeits:
    """Counts the forfeits of bots by ending and reason, and the games that are not rated."""

    def __init__(self, bots: Sequence[str]) -> None:
        """Begin without games."""
        self.unrated = dict.fromkeys(bots, 0)
        """By bot: games with a disqualified bot at the table."""
        self._counts: dict[str, dict[tuple[Ending, str], ForfeitCount]] = {bot: {} for bot in bots}

    def add(self, game: Result) -> None:
        """Count the forfeits of a game that counts."""
        if not game.endings:
            return
        reasons = game.reasons or [""] * len(game.bots)
        for bot, ending, reason in zip(game.bots, game.endings, reasons, strict=True):
            if ending is Ending.FINISHED:
                continue
            counts, key = self._counts[bot], (ending, _kind_of(reason))
            if key not in counts and len(counts) >= MAX_REASONS:
                key = (ending, "")
            shown = reason if key[1] else ""
            count = counts.get(key) or ForfeitCount(ending, shown, 0, game.match_id)
            counts[key] = replace(count, games=count.games + 1)

    def add_unrated(self, game: Result) -> None:
        """Count a game that isn't rated."""
        for bot in set(game.bots):
            self.unrated[bot] += 1

    def counts(self, bot: str) -> tuple[ForfeitCount, ...]:
        """Return the forfeits of a bot so far, the most frequent first."""
        return tuple(sorted(self._counts[bot].values(), key=lambda count: -count.games))

    def copy(self) -> Forfeits:
        """Return what is counted so far, which doesn't change any more."""
        copied = Forfeits(())
        copied.unrated = dict(self.unrated)
        copied._counts = {bot: dict(counts) for bot, counts in self._counts.items()}
        return copied


def standings_of(stats: Stats, ratings: Ratings, forfeits: Forfeits) -> list[Standing]:
    """Return the lines of all bots, best first, equal ratings by the bots' order."""
    rated = {line.bot: line for line in ratings.lines}
    return [
        Standing(
            rank=rank,
            forfeits=sum(count.games for count in forfeits.counts(line.bot)),
            forfeit_counts=forfeits.counts(line.bot),
            games_unrated=forfeits.unrated[line.bot],
            **{**vars(stats.bots[line.bot]), **asdict(line)},
        )
        for rank, line in with_ranks((rated[bot] for bot in stats.bots), lambda line: line.elo)
    ]


def _kind_of(reason: str) -> str:
    """Return a reason without its values, which differ from game to game; the place in the code stays."""
    place = _PLACE.search(reason)
    end = place.start() if place else len(reason)
    return _VALUE.sub("", reason[:end]) + reason[end:]


class Standings:
    """Counts results in the order of the schedule, which `expect` sets.

    A result that comes early is held back, with all of its columns, until those before it are there. So the
    standings after any number of games don't depend on how many were played at once, and short games, which
    end first, don't count for more. For the same reason disqualification goes by the games that count.
    Games of a bot that is disqualified are not rated.
    """

    def __init__(
        self, *, bots: Sequence[str], policy: FailurePolicy | None = None, test: SprtSchedule | None = None
    ) -> None:
        """Begin without games; without a policy no bot is disqualified.

        `test` is the schedule of a sequential test, which others give the results.
        """
        from happycity_tournament.standings.stats import GameTable  # noqa: PLC0415 - it imports numpy

        self._rule = CountingRule(policy, test=test)
        self._named: list[str] = []
        """The bots that the organiser has disqualified."""
        self._columns = GameTable(bots)
        self._stats: Stats | None = None
        """Those that were asked for last."""
        self._forfeits = Forfeits(bots)
        self._expected: deque[Position] = deque()
        """The games that are to count next."""
        self._passed: Position = (0, 0, 0)
        """The position of the last game that was counted or skipped."""
        self._early: dict[Position, Result | None] = {}
        """The games after a gap: a result, or None for a game that was skipped."""
        self._computed: tuple[int, list[Standing]] = (-1, [])
        """After how many games the standings were computed last, and what they were."""
        self._computing = Lock()

    @property
    def games(self) -> int:
        """How many games are counted, unrated ones among them."""
        return len(self._columns) + self.games_unrated

    @property
    def games_unrated(self) -> int:
        """How many games are unrated, because a bot at the table is disqualified."""
        return self._rule.uncounted[Uncounted.UNRATED]

    @property
    def disqualified(self) -> tuple[str, ...]:
        """The disqualified bots: by their games, the first one first, then by the organiser."""
        return tuple(dict.fromkeys((*self._rule.disqualified, *self._named)))

    def disqualify(self, bot: str) -> None:
        """Note that the organiser has disqualified a bot.

        Its games so far count; those in which its seat is forfeited for that are not rated.
        """
        self._named.append(bot)

    def expect(self, fixture: Fixture) -> None:
        """Let a game count after all those that were expected before it; positions rise."""
        self._expected.append(fixture.position)
        self._advance()

    def add(self, result: Result) -> None:
        """Take a result, in any order; it counts once it is expected and all games before it do.

        Raises:
            ValueError: the game was added or skipped before, or is not of a tournament.
        """
        if result.position is None:
            raise ValueError(f"game {result.match_id} belongs to no tournament")
        self._settle(result.position, result)

    def add_in_order(self, results: Sequence[Result]) -> None:
        """Count the next games of the schedule at once; none before them is missing, or ever comes.

        It is for games from a store, before any is expected.
        """
        if results:
            self._passed = results[-1].position or self._passed
            self._count(results)

    def skip(self, fixture: Fixture) -> None:
        """Note, as `add` does, that a game has no result and never will; those after it don't wait for it."""
        self._settle(fixture.position, None)

    def count_held_back(self) -> None:
        """Count all that is held back, as when a tournament is stopped and the gaps won't be filled."""
        early = sorted(self._early.items())
        self._early = dict.fromkeys(self._early)
        self._count([result for _, result in early if result is not None])

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
        games, stats, forfeits = self.games, self.stats(), self._forfeits.copy()

        def lines() -> list[Standing]:
            with self._computing:
                if self._computed[0] < games:
                    self._computed = games, standings_of(stats, stats.ratings, forfeits)
                return self._computed[1].copy()

        return lines

    def stats(self) -> Stats:
        """Return what the games that count so far show; its parts are computed when they are asked for."""
        if self._stats is None or len(self._stats) < len(self._columns):
            self._stats = self._columns.stats()
        return self._stats

    def _settle(self, position: Position, result: Result | None) -> None:
        if position <= self._passed or position in self._early:
            raise ValueError(f"{place_in_words(position)} is settled already")
        self._early[position] = result
        self._advance()

    def _advance(self) -> None:
        while self._expected and self._expected[0] in self._early:
            self._passed = self._expected.popleft()
            result = self._early.pop(self._passed)
            if result is not None:
                self._count([result])

    def _count(self, results: Sequence[Result]) -> None:
        counted, unrated = self._rule.divide(results)
        self._columns.add(counted)
        for game in counted:
            self._forfeits.add(game)
        for game in unrated:
            self._forfeits.add_unrated(game)
