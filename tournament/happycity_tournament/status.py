"""How far a tournament is, as its store tells it and as it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from happycity_tournament.config import TournamentConfig
from happycity_tournament.course import Course
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.schedule import Duel, Schedule
from happycity_tournament.sprt import SprtState, Verdict
from happycity_tournament.standings import Standings
from happycity_tournament.store import Progress, Store, StoredGame, StoredTournament


class TournamentState(Enum):
    """Where a tournament stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    """None of its games is played unless somebody asks for it to go on."""
    INTERRUPTED = "interrupted"
    """Its host stopped; the next one on the same store goes on with it."""


UNFINISHED = frozenset({TournamentState.WAITING, TournamentState.RUNNING, TournamentState.INTERRUPTED})
"""The states in which a host that starts finds the tournaments that it goes on with."""


@dataclass(slots=True, kw_only=True)
class TournamentStatus:
    """How far a tournament is."""

    tournament_id: int
    config: TournamentConfig
    created_at: float
    """Unix time in seconds."""
    standings: Standings
    schedule: Schedule
    """It knows the results of the games that are stored."""
    state: TournamentState = TournamentState.WAITING
    progress: Progress = field(default_factory=Progress)
    """What is stored."""
    games_voided: int = 0
    """How often one of its games was voided."""
    remarks: list[str] = field(default_factory=list)
    """What a person should know of it, a line each."""

    @classmethod
    def new(cls, tournament_id: int, config: TournamentConfig, *, created_at: float) -> Self:
        """Return the status of a tournament of which no game has been played.

        Raises:
            ConfigError: no tournament can be made of the configuration.
        """
        return cls(
            tournament_id=tournament_id,
            config=config,
            created_at=created_at,
            standings=Standings(bots=config.bots, policy=config.policy),
            schedule=config.schedule(),
        )

    @property
    def over(self) -> bool:
        """Whether this host plays no more of its games."""
        return self.state not in (TournamentState.WAITING, TournamentState.RUNNING)

    @property
    def revealed(self) -> bool:
        """Whether its deals are out of play for good, so that they need not be kept secret any more."""
        return self.state in (TournamentState.FINISHED, TournamentState.STOPPED)

    @property
    def games_total(self) -> int:
        """How many games there are in all; a test may end with fewer."""
        return self.schedule.total_games

    @property
    def test(self) -> SprtState | None:
        """Where the sequential test stands; None if the format is another one."""
        return self.schedule.state if isinstance(self.schedule, Duel) else None

    @property
    def complete(self) -> bool:
        """Whether there is nothing left to play: a test has decided, or all games of another format count."""
        test = self.test
        if test is not None:
            return test.verdict is not Verdict.RUNNING
        return self.progress.games >= self.games_total

    def count(self, game: StoredGame) -> None:
        """Note a game that is stored."""
        self.progress = self.progress.plus(game)
        self.take(game.result)

    def take(self, result: GameResult) -> None:
        """Let schedule and standings have the result of a game that is in `progress` already."""
        self.schedule.add(result)
        self._close_if_decided()
        self.standings.add(result)

    def skip(self, fixture: Fixture) -> None:
        """Note that a game has no result and never will."""
        self.schedule.skip(fixture)
        self._close_if_decided()
        self.standings.skip(fixture)

    def _close_if_decided(self) -> None:
        """Keep games out of the standings that went on when a test had decided: it is chance how many did."""
        if isinstance(self.schedule, Duel) and self.schedule.last_round is not None:
            self.standings.close(self.schedule.last_round)


def load_status(store: Store, tournament_id: int) -> TournamentStatus | None:
    """Return a tournament that nobody plays at present as its store tells it; None if there is none."""
    stored = store.tournament(tournament_id)
    if stored is None:
        return None
    status, _ = _load(store, stored)
    status.standings.flush()
    state = TournamentState(stored.state)
    status.state = TournamentState.INTERRUPTED if state in UNFINISHED else state
    return status


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A tournament that another host left before its end."""

    status: TournamentStatus
    """The games that are stored count in it."""
    course: Course
    """It has come to the first game that is missing."""


def load_unfinished(store: Store, tournament_id: int) -> Unfinished:
    """Return an unfinished tournament in the form in which it can be gone on with.

    Raises:
        ConfigError: its configuration makes no sense.
    """
    stored = store.tournament(tournament_id)
    assert stored is not None
    status, results = _load(store, stored)
    # Games that could not be played are tried again, so what was said of them is no longer true.
    status.remarks.clear()
    course = Course(status, results)
    course.catch_up()
    return Unfinished(status=status, course=course)


def _load(store: Store, stored: StoredTournament) -> tuple[TournamentStatus, list[GameResult]]:
    status = TournamentStatus.new(stored.id, TournamentConfig.of(stored.config), created_at=stored.created_at)
    status.progress = store.progress(stored.id)
    status.games_voided = stored.games_voided
    status.remarks = list(stored.remarks)
    results = store.results(stored.id)
    for result in results:
        status.take(result)
    return status, results
