"""The tournaments of this server: those running, and those in its store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import structlog

from happycity import Deal
from happycity.records import dumps
from happycity_server.lobby import Lobby
from happycity_server.matches import Match, MatchSpec, MatchState
from happycity_server.referee import Rulings
from happycity_server.refusals import Reason, Refusal
from happycity_tournament.archive import Archive
from happycity_tournament.results import Fixture
from happycity_tournament.runner import TournamentConfig, TournamentRun, TournamentStatus, load_status
from happycity_tournament.standings import Standings
from happycity_tournament.store import StoredGame

_log = structlog.get_logger()


def stored_game(match: Match, fixture: Fixture | None = None) -> StoredGame:
    """Return a finished match in the form in which it is stored."""
    spec, referee = match.spec, match.referee
    outcome = referee.game.outcome
    assert outcome is not None
    return StoredGame(
        id=match.match_id,
        tournament_id=spec.tournament_id or None,
        round=fixture.round if fixture else None,
        table=fixture.table if fixture else None,
        rotation=fixture.rotation if fixture else None,
        deal_seed=spec.deal.seed,
        bots=spec.bots,
        bot_seeds=spec.bot_seeds,
        points=outcome.points,
        coins=outcome.coins,
        places=referee.places,
        endings=tuple(referee.endings),
        decisions=referee.decision_id,
        seconds=match.seconds,
        finished_at=time.time(),
        record=dumps(referee.record()),
    )


class LobbyHost:
    """Lets a tournament play its games in this server's lobby."""

    def __init__(self, lobby: Lobby, archive: Archive) -> None:
        self._lobby = lobby
        self._archive = archive

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected, at most `seconds`; return those missing."""
        return await self._lobby.wait_for(bots, seconds)

    async def play(self, fixture: Fixture, config: TournamentConfig, tournament_id: int) -> StoredGame | None:
        """Play a game to its end and store it; None if it was voided."""
        spec = MatchSpec(
            deal=Deal.shuffle(config.game, seed=fixture.deal_seed),
            bots=fixture.bots,
            bot_seeds=fixture.bot_seeds,
            rulings=Rulings(decision_seconds=config.decision_seconds, max_strikes=config.max_strikes),
            tournament_id=tournament_id,
        )
        try:
            match = self._lobby.create(spec)
        except Refusal:  # the server is about to stop, and so is the tournament
            return None
        async with self._lobby.played(match):
            if match.state is not MatchState.FINISHED:
                return None
            game = stored_game(match, fixture)
            await self._archive.save(game)
            return game


class Tournaments:
    """Starts tournaments and finds them again."""

    def __init__(self, lobby: Lobby, archive: Archive) -> None:
        self.lobby = lobby
        self.archive = archive
        self._runs: dict[int, TournamentRun] = {}  # of this server's life
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def create(self, config: TournamentConfig) -> TournamentStatus:
        """Set up a tournament and begin to play it.

        Raises:
            ConfigError: no tournament can be made of this configuration.
        """
        config.check()
        store, created_at = self.archive.store, time.time()
        tournament_id = await self.archive.call(store.create_tournament, config.json(), created_at)
        status = TournamentStatus(
            tournament_id=tournament_id,
            config=config,
            created_at=created_at,
            standings=Standings(bots=config.bots, seats=config.game.players),
        )
        run = TournamentRun(
            status, host=LobbyHost(self.lobby, self.archive), archive=self.archive, clock=time.monotonic
        )
        self._runs[tournament_id] = run
        _log.info(
            "tournament_created",
            tournament=tournament_id,
            bots=config.bots,
            rounds=config.rounds,
            games=config.games,
        )
        self._tasks[tournament_id] = asyncio.create_task(self._run(run))
        return status

    async def status(self, tournament_id: int) -> TournamentStatus:
        """Return how far a tournament is, this server's or an earlier one's on the same store.

        Raises:
            Refusal: there is none of this id.
        """
        if tournament_id in self._runs:
            return self._runs[tournament_id].status
        status = await self.archive.call(load_status, self.archive.store, tournament_id)
        if status is None:
            raise Refusal(Reason.UNKNOWN_TOURNAMENT, f"there is no tournament {tournament_id} here")
        return status

    async def newest(self, limit: int, before_id: int | None) -> list[TournamentStatus]:
        """Return at most `limit` tournaments, newest first, only those older than `before_id` if given."""
        stored = await self.archive.call(self.archive.store.tournaments, limit, before_id)
        return [await self.status(tournament.id) for tournament in stored]

    def stop(self, tournament_id: int) -> None:
        """Start no more games in a tournament; one that is over stays as it is."""
        run = self._runs.get(tournament_id)
        if run is not None:
            run.stop()

    async def wait(self, tournament_id: int, seconds: float) -> None:
        """Wait for a tournament's end, at most `seconds`."""
        task = self._tasks.get(tournament_id)
        if task is not None:
            await asyncio.wait((task,), timeout=seconds)

    async def stop_all(self) -> None:
        """Start no more games in any tournament."""
        for run in self._runs.values():
            run.stop()

    async def wait_closed(self) -> None:
        """Wait until every tournament has stored its last game."""
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _run(self, run: TournamentRun) -> None:
        try:
            await run.run()
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            # The store keeps what was finished; the state of the run tells that it was stopped.
            _log.exception("tournament_failed", tournament=run.status.tournament_id)
