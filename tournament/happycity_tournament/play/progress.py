"""How far a tournament is, and which of its games are missing."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from happycity import Deal, HappyCityError
from happycity.errors import FieldError, suggestion
from happycity.match import one_line
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.games import BotProfile, FinishedGame, Fixture, Position, Result
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.ratings.sprt import SprtPoint, SprtState
from happycity_tournament.recorded_games import in_parts, with_recorded_luck
from happycity_tournament.schedule import Schedule, SprtSchedule, schedule_of
from happycity_tournament.standings.standings import Standings
from happycity_tournament.storage.stored import Problems, Progress, StoredTournament

if TYPE_CHECKING:  # a client of a server does without
    from happycity_tournament.storage.store import Store

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
            bots=self.config.bots,
            policy=self.config.policy,
            test=self.schedule if isinstance(self.schedule, SprtSchedule) else None,
        )

    @property
    def games_total(self) -> int:
        """How many games there are in all; a test, or rounds until an error, may end with fewer."""
        return self.schedule.total_games

    def spec_of(self, fixture: Fixture) -> MatchSpec:
        """Return what is played for a game of the schedule, by those who are disqualified at present."""
        config = self.config
        return MatchSpec(
            deal=Deal.shuffle(config.game, seed=fixture.deal_seed),
            bots=fixture.bots,
            bot_seeds=fixture.bot_seeds,
            time=config.time,
            policy=config.policy,
            tournament_id=self.tournament_id,
            position=fixture.position,
            disqualified=frozenset(self.standings.disqualified),
            concurrency=config.concurrency,
            with_luck=bool(config.luck_evaluator),
        )

    @property
    def problems(self) -> Problems:
        """What went wrong so far."""
        return Problems(
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
        result = game.result
        self.schedule.add(result)
        self.standings.add(result)

    def abandon(self, fixture: Fixture) -> None:
        """Note that a game has no result and never will."""
        self.schedule.skip(fixture)
        self.standings.skip(fixture)


class ScheduleChangedError(HappyCityError):
    """A stored game is not the one that the schedule has in its place."""

    def __init__(self, fixture: Fixture) -> None:
        super().__init__(
            f"{fixture.place} was played by another schedule than this version makes; "
            "go on with the tournament in the version that began it"
        )
        self.fixture = fixture


class MissingGames:
    """Hands out the games of a tournament that are missing, in the order in which the standings count them.

    The schedule must have the results of the games that were played already.
    """

    def __init__(self, status: TournamentStatus) -> None:
        self._status = status
        self._stages = status.schedule.stages()
        self._stage: Iterator[Fixture] = iter(())
        self._put_back: deque[Fixture] = deque()
        self._played: dict[Position, tuple[int, Sequence[str]]] = {}
        """The deal and bots of the games that were played after the first one that is missing."""
        self._last_played: Position = (0, 0, 0)

    def next_stage(self) -> bool:
        """Begin the next stage, whose games `fixtures` yields; return whether there is one.

        All games of the stage before must be settled. It may take some tenths of a second.
        """
        stage = next(self._stages, None)
        if stage is None:
            return False
        self._stage = self._without_abandoned(stage) if self._status.schedule.draws_from_results else stage
        return True

    def catch_up(self, parts: Iterable[Sequence[Result]]) -> None:
        """Count the games that were played already, which come in their order.

        Up to the first one that is missing, or was another, only numbers of them are kept.
        """
        status, complete = self._status, True
        for part in parts:
            settled = 0
            for result in part if complete else ():
                fixture = self._next_scheduled()
                played = result.position, result.deal_seed, tuple(result.bots)
                complete = fixture is not None and played == (
                    fixture.position,
                    fixture.deal_seed,
                    fixture.bots,
                )
                if not complete:
                    self._stage = itertools.chain([] if fixture is None else [fixture], self._stage)
                    break
                status.schedule.add(result)
                settled += 1
            status.standings.add_in_order(part[:settled])
            for result in part[settled:]:
                self._note(result)
        if self._status.schedule.draws_from_results:
            self._stage = self._without_abandoned(self._stage)

    def _next_scheduled(self) -> Fixture | None:
        """Return the next game of the schedule, from the next stage if need be; None after the last one."""
        while (fixture := next(self._stage, None)) is None:
            stage = next(self._stages, None)
            if stage is None:
                return None
            self._stage = stage
        return fixture

    def _note(self, result: Result) -> None:
        """Take a game that was played although one before it is missing."""
        assert result.position is not None
        self._status.schedule.add(result)
        self._status.standings.add(result)
        self._played[result.position] = result.deal_seed, tuple(result.bots)
        self._last_played = result.position

    def fixtures(self) -> Iterator[Fixture]:
        """Yield the games of the stage that have not been played; the standings expect each that is passed.

        It raises ScheduleChangedError if the others were played by another schedule.
        """
        while self._put_back:
            yield self._put_back.popleft()
        for fixture in self._stage:
            played = self._played.get(fixture.position)
            if played not in (None, (fixture.deal_seed, fixture.bots)):
                raise ScheduleChangedError(fixture)
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
    status = _status_of(store, stored)
    for results in _result_parts(store, status):
        if isinstance(status.schedule, SprtSchedule):
            for result in results:
                status.schedule.add(result)
        status.standings.add_in_order(results)
    status.state = resting_state(stored.state)
    status.schedule.total_games = stored.games_total  # results may have ended it early
    return status


def resting_state(state: TournamentState) -> TournamentState:
    """Return where a tournament stands that no host plays at present, by its stored state."""
    return TournamentState.INTERRUPTED if state in UNFINISHED else state


def load_unfinished(store: Store, tournament_id: int) -> tuple[TournamentStatus, MissingGames]:
    """Return a tournament that is to be continued, and its missing games, from the first one on.

    Raises:
        ConfigError: its configuration can't be read, or names another evaluator of luck.
        StoreError: there is no such tournament.
    """
    status = _status_of(store, store.require_tournament(tournament_id))
    check_evaluator(status.config)
    # Games that could not be played are tried again, so the remarks about them are no longer true.
    status.remarks.clear()
    missing = MissingGames(status)
    missing.catch_up(_result_parts(store, status))
    return status, missing


def check_evaluator(config: TournamentConfig) -> None:
    """Refuse to play a test that takes luck off its scores by another evaluator than that of this version.

    ConfigError if its digest is another one.
    """
    if config.luck_evaluator:
        from happycity_evaluation.evaluator import Evaluator  # noqa: PLC0415 - it imports numpy

        if config.luck_evaluator != (own := Evaluator().digest):
            named = one_line(config.luck_evaluator)[:80]
            raise FieldError("luck_evaluator", f"this version of the arena has {own}, not {named!r}")


def _result_parts(store: Store, status: TournamentStatus) -> Iterator[list[Result]]:
    """Yield the stored results of a tournament, with their luck if its test takes it off."""
    if not status.config.luck_evaluator:
        return store.result_parts(tournament_id=status.tournament_id)
    games = store.all_games(tournament_id=status.tournament_id, with_records=True)
    return in_parts(with_recorded_luck(game, record).result for game, record in games)


class TournamentFinishedError(HappyCityError):
    """A tournament is finished, so nothing of it can be changed."""


def check_disqualification(config: TournamentConfig, state: TournamentState, bot: str) -> None:
    """Refuse to disqualify a bot that has no games left to play.

    Raises:
        ConfigError: it doesn't take part.
        TournamentFinishedError: all games are played.
    """
    if bot not in config.bots:
        raise FieldError("bot", f"{bot[:80]!r} doesn't take part; {suggestion(bot[:80], config.bots)}")
    if state is TournamentState.FINISHED:
        raise TournamentFinishedError("the tournament is finished: no game is left to forfeit")


def disqualify_stored(store: Store, tournament_id: int, bot: str) -> None:
    """Disqualify a bot in a stored tournament of which no game is being played; see `check_disqualification`.

    StoreError if there is no such tournament, or it can't be stored.
    """
    stored = store.require_tournament(tournament_id)
    check_disqualification(TournamentConfig.of(stored.config), stored.state, bot)
    disqualified = tuple(dict.fromkeys((*stored.problems.disqualified, bot)))
    store.set_problems(tournament_id, replace(stored.problems, disqualified=disqualified))


def _status_of(store: Store, stored: StoredTournament) -> TournamentStatus:
    """Return a stored tournament without its results."""
    config = TournamentConfig.of(stored.config)
    status = TournamentStatus(
        stored.id,
        config,
        schedule_of(config),
        stored.created_at,
        progress=store.progress(stored.id),
        games_voided=stored.problems.games_voided,
        profiles=dict(stored.profiles),
        remarks=list(stored.problems.remarks),
    )
    for bot in stored.problems.disqualified:  # those of the organiser don't follow from the games
        status.standings.disqualify(bot)
    return status
