"""How far a tournament is, and which of its games are missing."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from happycity import HappyCityError
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.games import BotProfile, FinishedGame, Fixture
from happycity_tournament.ratings.sprt import SprtPoint, SprtState
from happycity_tournament.running.standings import Standings
from happycity_tournament.running.terms import Terms
from happycity_tournament.schedule import Schedule, SprtSchedule, schedule_of
from happycity_tournament.storage import Progress, StoredTournament, Troubles

if TYPE_CHECKING:  # a client of a server does without
    from happycity_tournament.storage import Store

UNFINISHED = frozenset({TournamentState.WAITING, TournamentState.RUNNING, TournamentState.INTERRUPTED})
"""The states in which a host that starts finds the tournaments that it continues."""


@dataclass(slots=True)
class TournamentStatus:
    """A tournament, its results and how far it is."""

    tournament_id: int
    config: TournamentConfig
    schedule: Schedule
    """It is made of the configuration, and knows the results of the games that are stored."""
    created_at: float
    """Unix time in seconds."""
    state: TournamentState = TournamentState.WAITING
    progress: Progress = field(default_factory=Progress)
    """What is stored."""
    games_voided: int = 0
    """How often one of its games was voided."""
    remarks: list[str] = field(default_factory=list)
    """What the organiser should know, a line each."""
    profiles: dict[str, BotProfile] = field(default_factory=dict)
    """What its bots said of themselves when they connected last."""
    standings: Standings = field(init=False)

    def __post_init__(self) -> None:
        """Begin without results."""
        self.standings = Standings(
            bots=self.config.bots, policy=self.config.policy, error_factor=self.schedule.error_factor
        )

    @property
    def games_total(self) -> int:
        """How many games there are in all; a test, or rounds until an error, may end with fewer."""
        return self.schedule.total_games

    @property
    def terms(self) -> Terms:
        """What its games have in common at present."""
        config = self.config
        return Terms(
            tournament_id=self.tournament_id,
            game=config.game,
            time=config.time,
            policy=config.policy,
            concurrency=config.concurrency,
            disqualified=tuple(self.standings.disqualified),
        )

    @property
    def troubles(self) -> Troubles:
        """What went wrong so far."""
        return Troubles(
            games_voided=self.games_voided,
            games_unrated=self.standings.games_unrated,
            disqualified=self.standings.disqualified,
            remarks=tuple(self.remarks),
        )

    @property
    def test(self) -> SprtState | None:
        """Where the sequential test stands; None if the format is another one."""
        return self.schedule.state if isinstance(self.schedule, SprtSchedule) else None

    @property
    def test_history(self) -> tuple[SprtPoint, ...]:
        """How the sequential test got there; empty if the format is another one."""
        return self.schedule.history if isinstance(self.schedule, SprtSchedule) else ()

    @property
    def complete(self) -> bool:
        """Whether there is nothing left to play: results have ended the schedule, or all games count."""
        if isinstance(self.schedule, SprtSchedule):  # blocks that lack a game don't count
            return self.schedule.decided
        return self.schedule.decided or self.progress.games >= self.games_total

    def add_result(self, game: FinishedGame) -> None:
        """Count a stored game."""
        self.progress = self.progress.plus(game)
        self.schedule.add(game)
        self._note_decision()
        self.standings.add(game)

    def abandon(self, fixture: Fixture) -> None:
        """Note that a game has no result and never will."""
        self.schedule.skip(fixture)
        self._note_decision()
        self.standings.skip(fixture)

    def _note_decision(self) -> None:
        """Leave games out of the standings that were still running when a test had decided."""
        if isinstance(self.schedule, SprtSchedule):
            self.standings.last_round = self.schedule.last_round


class ScheduleChangedError(HappyCityError):
    """A stored game is not the one that the schedule has in its place."""

    def __init__(self, fixture: Fixture) -> None:
        super().__init__(
            f"{fixture.place} was played by another schedule than this version makes; "
            "go on with the tournament in the version that began it"
        )
        self.fixture = fixture


class Missing:
    """Hands out the games of a tournament that are missing, in the order in which the standings count them.

    The schedule must have the results of the games that were played already.
    """

    def __init__(self, status: TournamentStatus, played: Sequence[FinishedGame] = ()) -> None:
        self._status = status
        self._stages = status.schedule.stages()
        self._stage: Iterator[Fixture] = iter(())
        self._put_back: deque[Fixture] = deque()
        self._played = {result.fixture.position: result.fixture for result in played}
        self._last_played = max(self._played, default=(0, 0, 0))

    def next_stage(self) -> bool:
        """Begin the next stage, whose games `fixtures` yields; return whether there is one.

        All games of the stage before must be settled. It may take some tenths of a second.
        """
        stage = next(self._stages, None)
        if stage is None:
            return False
        self._stage = self._without_abandoned(stage) if self._status.schedule.draws_from_results else stage
        return True

    def catch_up(self) -> None:
        """Skip the games that were played already, up to the first one that wasn't, or was another."""
        while self.next_stage():
            for fixture in self._stage:
                if self._played.get(fixture.position) != fixture:
                    self._stage = itertools.chain([fixture], self._stage)
                    return
                self._status.standings.expect(fixture)

    def fixtures(self) -> Iterator[Fixture]:
        """Yield the games of the stage that have not been played; the standings expect each that is passed.

        It raises ScheduleChangedError if the others were played by another schedule.
        """
        while self._put_back:
            yield self._put_back.popleft()
        for fixture in self._stage:
            played = self._played.get(fixture.position)
            if played is not None and played != fixture:
                raise ScheduleChangedError(played)
            self._status.standings.expect(fixture)
            if played is None:
                yield fixture

    def put_back(self, fixture: Fixture) -> None:
        """Take back a game that was not begun; it comes first when the stage continues."""
        self._put_back.append(fixture)

    def _without_abandoned(self, stage: Iterator[Fixture]) -> Iterator[Fixture]:
        """Return a stage without its missing games, if the next stage was drawn without them."""
        games = list(stage)
        if not games or games[-1].position >= self._last_played:
            return iter(games)
        for fixture in games:
            if fixture.position not in self._played:
                self._status.abandon(fixture)
                self._status.remarks.append(
                    f"{fixture.place} could not be played; later games depend on that, so it is left out"
                )
        return (fixture for fixture in games if fixture.position in self._played)


def load_status(store: Store, stored: StoredTournament) -> TournamentStatus:
    """Return a tournament that no host plays at present; raise ConfigError if it can't be read."""
    status, _ = _load(store, stored)
    status.standings.flush()
    status.state = resting_state(stored.state)
    status.schedule.total_games = stored.games_total  # results may have ended it early
    return status


def resting_state(state: TournamentState) -> TournamentState:
    """Return where a tournament stands that no host plays at present, by its stored state."""
    return TournamentState.INTERRUPTED if state in UNFINISHED else state


def load_unfinished(store: Store, tournament_id: int) -> tuple[TournamentStatus, Missing]:
    """Return a tournament that is to be continued, and its missing games, from the first one on.

    Raises:
        ConfigError: its configuration can't be read.
        StoreError: there is no such tournament.
    """
    status, results = _load(store, store.require_tournament(tournament_id))
    # Games that could not be played are tried again, so the remarks about them are no longer true.
    status.remarks.clear()
    missing = Missing(status, results)
    missing.catch_up()
    return status, missing


def _load(store: Store, stored: StoredTournament) -> tuple[TournamentStatus, list[FinishedGame]]:
    config = TournamentConfig.of(stored.config)
    status = TournamentStatus(
        stored.id,
        config,
        schedule_of(config),
        stored.created_at,
        games_voided=stored.troubles.games_voided,
        profiles=dict(stored.profiles),
        remarks=list(stored.troubles.remarks),
    )
    results = store.results(stored.id)
    for result in results:
        status.add_result(result)
    return status, results
