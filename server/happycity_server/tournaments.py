"""The tournaments of this server: those running, and those in its store."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence

import structlog

from happycity import ConfigError, Deal, HappyCityError
from happycity.records import dumps
from happycity.v1 import tournament_service_pb2 as pb
from happycity_server.lobby import Lobby
from happycity_server.matches import Match, MatchSpec, MatchState
from happycity_server.refusals import Reason, Refusal
from happycity_tournament.archive import Archive
from happycity_tournament.config import TournamentConfig
from happycity_tournament.course import ScheduleChangedError
from happycity_tournament.messages import rated
from happycity_tournament.results import Fixture, VoidReason
from happycity_tournament.roster import Change, RosterError, change_roster, changed, joining, leaving
from happycity_tournament.runner import TournamentRun
from happycity_tournament.status import (
    UNFINISHED,
    TournamentState,
    TournamentStatus,
    load_status,
    load_unfinished,
)
from happycity_tournament.store import StoredGame, StoreError

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
        record=dumps(match.record()),
    )


class LobbyHost:
    """Lets a tournament play its games in this server's lobby."""

    def __init__(self, lobby: Lobby, archive: Archive) -> None:
        self._lobby = lobby
        self._archive = archive

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected, at most `seconds`; return those missing."""
        return await self._lobby.wait_for(bots, seconds)

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        """Wait until one of `bots` is connected, however long it takes."""
        await self._lobby.wait_for_any(bots)

    async def play(self, fixture: Fixture, status: TournamentStatus) -> StoredGame | VoidReason:
        """Play a game to its end and store it, or tell why it was voided.

        A game that the store refuses, others taken, is the arena's fault like any other.

        Raises:
            StoreError: the store takes no games at all.
        """
        try:
            match = self._lobby.create(_spec(fixture, status))
        except Refusal:  # the server is about to stop, and so is the tournament
            return VoidReason.SHUTDOWN
        async with self._lobby.played(match):
            if match.state is not MatchState.FINISHED:
                assert match.void_reason is not None
                return VoidReason[
                    match.void_reason.name
                ]  # one is named as in the contract, one as it is stored
            game = stored_game(match, fixture)
            try:
                await self._archive.save(game)
            except StoreError as error:
                if error.for_all:
                    raise
                _log.exception("game_not_stored", match=match.match_id)
                return VoidReason.SERVER_ERROR
            return game

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the games of a tournament that wait or run, and let it know."""
        self._lobby.disqualify(bot, tournament_id, text)


def _spec(fixture: Fixture, status: TournamentStatus) -> MatchSpec:
    config = status.config
    return MatchSpec(
        deal=Deal.shuffle(config.game, seed=fixture.deal_seed),
        bots=fixture.bots,
        bot_seeds=fixture.bot_seeds,
        time=config.time,
        policy=config.policy,
        tournament_id=status.tournament_id,
        disqualified=frozenset(status.standings.disqualified),
    )


class Tournaments:
    """Starts tournaments, goes on with those that an earlier server left, and finds them all again."""

    def __init__(self, lobby: Lobby, archive: Archive) -> None:
        self.lobby = lobby
        self.archive = archive
        self._host = LobbyHost(lobby, archive)
        self._runs: dict[int, TournamentRun] = {}  # of this server's life
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._changing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By tournament: held by whoever resumes it or changes its roster."""
        self._rating = asyncio.Lock()
        self._rated: tuple[tuple[int, int, int], pb.FinalRatings | None] | None = None
        """The last final ratings, with the tournament's id, and its bots and stored games then."""

    @property
    def open_count(self) -> int:
        """How many tournaments wait or are being played; may be asked from any thread."""
        return sum(not run.status.over for run in list(self._runs.values()))

    async def create(self, config: TournamentConfig) -> TournamentStatus:
        """Set up a tournament and begin to play it.

        Raises:
            ConfigError: no tournament can be made of this configuration.
        """
        config.check()
        store, created_at = self.archive.store, time.time()
        tournament_id = await self.archive.call(store.create_tournament, config.json(), created_at)
        status = TournamentStatus.new(tournament_id, config, created_at=created_at)
        _log.info(
            "tournament_created",
            tournament=tournament_id,
            bots=config.bots,
            rounds=config.rounds,
            games=status.games_total,
        )
        self._start(TournamentRun(status, host=self._host, archive=self.archive))
        return status

    async def resume_all(self) -> None:
        """Go on with every tournament that an earlier server on this store left unfinished."""
        states = [state.value for state in UNFINISHED]
        for stored in await self.archive.call(self.archive.store.tournaments_in, states):
            try:
                await self._go_on(stored.id)
            except HappyCityError as error:
                _log.error("tournament_not_resumed", tournament=stored.id, problem=str(error))

    async def resume(self, tournament_id: int) -> TournamentStatus:
        """Go on with a tournament that was stopped or interrupted; one that runs or is finished stays so.

        Where a stop still lets games end, their end is waited for.

        Raises:
            Refusal: there is none of this id.
            ConfigError: its configuration makes no sense to this version.
        """
        await self.status(tournament_id)  # there are no locks of tournaments that aren't there
        async with self._changing[tournament_id]:  # or two callers would have its games played twice
            status = await self.status(tournament_id)
            run = self._runs.get(tournament_id)
            if run is not None and run.ending:
                await asyncio.wait((self._tasks[tournament_id],))
            if not status.over or status.state is TournamentState.FINISHED:
                return status
            # Kept before it is answered, as a stop is.
            await self.archive.call(
                self.archive.store.set_state, tournament_id, TournamentState.INTERRUPTED.value
            )
            return await self._go_on(tournament_id)

    async def add_bots(self, tournament_id: int, bots: Sequence[str]) -> TournamentStatus:
        """Let bots take part in a tournament from its next round on.

        Where games are played, bots that aren't connected are waited for as at the start; they play on
        meanwhile.

        Raises:
            Refusal: there is no such tournament, its bots can't be changed any more, or one didn't come.
            ConfigError: a bot is in it already, or no tournament can be made of so many.
        """
        status = await self.status(tournament_id)
        await self._check(status, joining(bots))
        if status.state is TournamentState.RUNNING and not self._runs[tournament_id].ending:
            missing = await self.lobby.wait_for(bots, status.config.time.connect_seconds)
            if missing:
                raise Refusal(
                    Reason.BOTS_MISSING,
                    f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not connected; "
                    "connect first, then join",
                    bots=",".join(missing),
                )
        return await self._change_roster(tournament_id, joining(bots))

    async def withdraw_bot(self, tournament_id: int, bot: str) -> TournamentStatus:
        """Let a bot take part in no round of a tournament that hasn't begun; its games so far count.

        Raises:
            Refusal: there is no such tournament, or its bots can't be changed any more.
            ConfigError: the bot isn't in it, or those that are left can't fill a table.
        """
        return await self._change_roster(tournament_id, leaving(bot))

    async def _change_roster(self, tournament_id: int, change: Change) -> TournamentStatus:
        """Change the roster from the first round that has no game begun when the running games have ended."""
        await self._check(await self.status(tournament_id), change)
        async with self._changing[tournament_id]:
            run = self._runs.get(tournament_id)
            try:
                if run is not None and not run.status.over:
                    await run.change_roster(change)
                else:
                    if run is not None:
                        await asyncio.wait((self._tasks[tournament_id],))
                    await self.archive.call(change_roster, self.archive.store, tournament_id, change)
                    self._runs.pop(tournament_id, None)  # what it knows is out of date
                    self._tasks.pop(tournament_id, None)
            except RosterError as error:
                raise Refusal(Reason.ROSTER_CLOSED, str(error)) from None
            status = await self.status(tournament_id)
        _log.info(
            "roster_changed", tournament=tournament_id, bots=status.config.bots, roster=status.config.roster
        )
        return status

    async def _check(self, status: TournamentStatus, change: Change) -> None:
        """Refuse a change that makes no sense before anything waits for it."""
        if status.state is TournamentState.FINISHED:
            raise Refusal(Reason.ROSTER_CLOSED, f"tournament {status.tournament_id} is finished")
        played = await self.archive.call(self.archive.store.last_round, status.tournament_id)
        try:
            await asyncio.to_thread(changed, status.config, change, first_round=played + 1)
        except RosterError as error:
            raise Refusal(Reason.ROSTER_CLOSED, str(error)) from None

    async def _go_on(self, tournament_id: int) -> TournamentStatus:
        """Begin to play the games of a stored tournament that are missing.

        Raises:
            ConfigError: its configuration makes no sense to this version.
        """
        unfinished = await self.archive.call(load_unfinished, self.archive.store, tournament_id)
        status = unfinished.status
        _log.info(
            "tournament_resumed",
            tournament=tournament_id,
            games=status.games_total,
            played=status.progress.games,
            disqualified=status.standings.disqualified,
        )
        self._start(TournamentRun(status, host=self._host, archive=self.archive, course=unfinished.course))
        return status

    async def final_ratings(self, status: TournamentStatus) -> pb.FinalRatings | None:
        """Rate a tournament's bots by all its stored games, in a thread: it may take seconds."""
        async with self._rating:  # one at a time, as each takes a whole core
            key = (status.tournament_id, len(status.config.bots), status.progress.games)
            if self._rated is None or self._rated[0] != key:
                results = await self.archive.call(self.archive.store.results, status.tournament_id)
                self._rated = key, await asyncio.to_thread(rated, status.config, results)
            return self._rated[1]

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

    async def newest(self, limit: int, before_id: int | None) -> tuple[list[TournamentStatus], int | None]:
        """Return a page of tournaments, newest first, and the id before which the next page begins, if any.

        Tournaments that this version can't read are left out.
        """
        stored = await self.archive.call(self.archive.store.tournaments, limit + 1, before_id)
        found = []
        for tournament in stored[:limit]:
            try:
                found.append(await self.status(tournament.id))
            except ConfigError as error:
                _log.warning("tournament_unreadable", tournament=tournament.id, problem=str(error))
        return found, stored[limit - 1].id if len(stored) > limit else None

    async def stop(self, tournament_id: int) -> TournamentStatus:
        """Start no more games in a tournament until it is resumed; one that is over stays as it is.

        Raises:
            Refusal: there is none of this id.
        """
        status = await self.status(tournament_id)
        if not status.over:
            await self._runs[tournament_id].stop()
        elif status.state is TournamentState.INTERRUPTED:  # the next server would go on with it
            status.state = TournamentState.STOPPED
            await self.archive.call(self.archive.store.set_state, tournament_id, status.state.value)
        return status

    async def wait(self, tournament_id: int, seconds: float) -> None:
        """Wait for a tournament's end, at most `seconds`."""
        task = self._tasks.get(tournament_id)
        if task is not None:
            await asyncio.wait((task,), timeout=seconds)

    def interrupt_all(self) -> None:
        """Start no more games in any tournament; the next server on this store goes on with them."""
        for run in self._runs.values():
            run.interrupt()

    async def wait_closed(self) -> None:
        """Wait until every tournament has stored its last game."""
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def _start(self, run: TournamentRun) -> None:
        tournament_id = run.status.tournament_id
        self._runs[tournament_id] = run
        self._tasks[tournament_id] = asyncio.create_task(self._run(run))

    async def _run(self, run: TournamentRun) -> None:
        try:
            await run.run()
        except ScheduleChangedError as error:
            run.status.remarks.append(str(error))
            _log.error("tournament_not_resumed", tournament=run.status.tournament_id, problem=str(error))
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            # The store keeps what was finished; the state of the run tells that it was interrupted.
            run.status.remarks.append("the server failed in this tournament; its log says why")
            _log.exception("tournament_failed", tournament=run.status.tournament_id)
