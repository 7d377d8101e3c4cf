"""Runs a tournament on any host that can play matches: the schedule in, results and standings out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self

import structlog

from happycity import Config, Mode, Scoring
from happycity.records import Json
from happycity_tournament.archive import Archive
from happycity_tournament.results import Fixture
from happycity_tournament.schedule import fixtures, total_games
from happycity_tournament.standings import Standings
from happycity_tournament.store import Store, StoredGame

DEFAULT_CONCURRENCY = 128
"""Many, so that messages carry many games' decisions; a bot sets its own limit."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentConfig:
    """What a tournament consists of."""

    bots: tuple[str, ...]
    game: Config
    """The kind of game; its players are the seats at a table."""
    rounds: int
    seed: int
    connect_seconds: float = 10.0
    """How long to wait for the bots to connect."""
    decision_seconds: float = 10.0
    max_strikes: int = 3
    concurrency: int = DEFAULT_CONCURRENCY
    """Games at once."""

    @property
    def games(self) -> int:
        """How many games there are in all."""
        return total_games(bots=self.bots, seats=self.game.players, rounds=self.rounds)

    def check(self) -> None:
        """Refuse what no tournament can be made of.

        Raises:
            ConfigError: the number of bots, seats or rounds, or a name, makes no sense.
        """
        total_games(bots=self.bots, seats=self.game.players, rounds=self.rounds)

    def json(self) -> Json:
        """Return the configuration as a JSON object."""
        return {
            "bots": list(self.bots),
            "players": self.game.players,
            "mode": self.game.mode.value,
            "scoring": self.game.scoring.value,
            "rounds": self.rounds,
            "seed": self.seed,
            "connect_seconds": self.connect_seconds,
            "decision_seconds": self.decision_seconds,
            "max_strikes": self.max_strikes,
            "concurrency": self.concurrency,
        }

    @classmethod
    def of(cls, stored: Json) -> Self:
        """Read what `json` wrote."""
        fields = dict(stored)
        game = Config(
            players=fields.pop("players"),
            mode=Mode(fields.pop("mode")),
            scoring=Scoring(fields.pop("scoring")),
        )
        return cls(**{**fields, "bots": tuple(fields["bots"])}, game=game)


class TournamentState(Enum):
    """Where a tournament stands."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"


@dataclass(slots=True, kw_only=True)
class TournamentStatus:
    """How far a tournament is."""

    tournament_id: int
    config: TournamentConfig
    created_at: float
    """Unix time in seconds."""
    standings: Standings
    state: TournamentState = TournamentState.WAITING
    games_finished: int = 0
    """Games that are stored."""
    decisions: int = 0
    """Decisions in those games."""
    seconds: float = 0.0
    """From the first game's start to the last finished game's end."""

    @property
    def over(self) -> bool:
        """Whether no game will be played any more."""
        return self.state in (TournamentState.FINISHED, TournamentState.STOPPED)


def load_status(store: Store, tournament_id: int) -> TournamentStatus | None:
    """Return a tournament of an earlier day as its store tells it; None if there is none.

    One that was broken off is stopped now, whatever it was about to do.
    """
    stored = store.tournament(tournament_id)
    if stored is None:
        return None
    config = TournamentConfig.of(stored.config)
    progress = store.progress(tournament_id)
    standings = Standings(bots=config.bots, seats=config.game.players)
    for result in store.results(tournament_id):
        standings.add(result)
    standings.flush()
    finished = stored.state == TournamentState.FINISHED.value
    return TournamentStatus(
        tournament_id=tournament_id,
        config=config,
        created_at=stored.created_at,
        standings=standings,
        state=TournamentState.FINISHED if finished else TournamentState.STOPPED,
        games_finished=progress.games,
        decisions=progress.decisions,
        seconds=progress.seconds,
    )


class MatchHost(Protocol):
    """Whoever can play matches between bots."""

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are there, at most `seconds`; return those missing."""

    async def play(self, fixture: Fixture, config: TournamentConfig, tournament_id: int) -> StoredGame | None:
        """Play a game to its end and store it; None if it was voided."""


class TournamentRun:
    """One tournament, from its first game to its last."""

    def __init__(
        self,
        status: TournamentStatus,
        *,
        host: MatchHost,
        archive: Archive,
        clock: Callable[[], float],
    ) -> None:
        self.status = status
        self._host = host
        self._archive = archive
        self._clock = clock
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Start no more games; those running are finished and count."""
        self._stopping.set()

    async def run(self) -> None:
        """Play all games; the host stores each before it counts here.

        Raises:
            StoreError: the store failed; what it holds is what was finished.
        """
        await self._wait_for_bots()
        await self._change_state(TournamentState.RUNNING)
        status, config = self.status, self.status.config
        started = self._clock()
        free = asyncio.Semaphore(config.concurrency)
        try:
            async with asyncio.TaskGroup() as games:
                for fixture in fixtures(
                    bots=config.bots, seats=config.game.players, rounds=config.rounds, seed=config.seed
                ):
                    await free.acquire()
                    if self._stopping.is_set():
                        break
                    games.create_task(self._play(fixture, started, free))
        except* Exception as group:  # noqa: BLE001 - only unwraps the task group's error
            # One failure is enough to stop; the others are the same store's.
            raise group.exceptions[0] from None
        finally:
            status.standings.flush()
            done = status.games_finished == config.games
            await self._change_state(TournamentState.FINISHED if done else TournamentState.STOPPED)
        _log.info(
            "tournament_over",
            tournament=status.tournament_id,
            state=status.state.value,
            games=status.games_finished,
        )

    async def _wait_for_bots(self) -> None:
        config = self.status.config
        waiting = asyncio.ensure_future(self._host.wait_for(config.bots, config.connect_seconds))
        stopped = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((waiting, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not waiting.done():
            waiting.cancel()
        elif missing := waiting.result():
            _log.warning("bots_missing", tournament=self.status.tournament_id, bots=missing)

    async def _play(self, fixture: Fixture, started: float, free: asyncio.Semaphore) -> None:
        try:
            game = await self._host.play(fixture, self.status.config, self.status.tournament_id)
            if game is None:
                self.status.standings.skip(fixture)
                return
            self._count(game, started)
        finally:
            free.release()

    def _count(self, game: StoredGame, started: float) -> None:
        status, result = self.status, game.result
        status.games_finished += 1
        status.decisions += result.decisions
        status.seconds = self._clock() - started
        status.standings.add(result)

    async def _change_state(self, state: TournamentState) -> None:
        self.status.state = state
        await self._archive.call(self._archive.store.set_state, self.status.tournament_id, state.value)
