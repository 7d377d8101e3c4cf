"""The registry of tournaments: starts them, continues what an earlier server left, and finds them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import structlog

from happycity import ConfigError
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_runtime.event_loop import spawn
from happycity_server.errors import ApiError, Reason, too_many
from happycity_server.places.places import Places
from happycity_server.tournaments.resting import Resting, config_of
from happycity_server.tournaments.running import Running
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.play.progress import (
    UNFINISHED,
    TournamentStatus,
    check_disqualification,
    check_evaluator,
    disqualify_stored,
    load_unfinished,
)
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.play.snapshot import Snapshot, final_ratings, listed, played
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.stored import Progress
from happycity_tournament.wire import ratings_message, tournament_message

RETRY_SECONDS = 5.0
"""How often a tournament is tried again that the store has stopped, as by a full disk."""

_log = structlog.get_logger()


class Tournaments:
    """All tournaments of a store, of which this server plays some.

    Methods raise an ApiError for a tournament that there isn't, or that this version can't read.
    """

    def __init__(
        self, places: Places, store: AsyncStore, *, most_open: int, hosted_digest: Callable[[str], str]
    ) -> None:
        """Play the tournaments of a store, of those that are asked for at most `most_open` at once.

        `hosted_digest` returns the digest of the submission that the server plays as a bot; "" if it doesn't.
        """
        self._most_open = most_open
        self._places = places
        self._store = store
        self._resting = Resting(store, places.lobby, is_played=lambda number: number in self.running)
        self.running = Running(
            places, store, self._resting, hosted_digest=hosted_digest, retry=self._begin_retry
        )
        self._starting = asyncio.Lock()
        """Held while the number of tournaments that are played grows."""
        self._changing: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """By tournament: held while it is resumed or deleted, or one of its bots disqualified."""
        self._continues = False
        """Whether tournaments that were interrupted are continued here."""
        self._retries: set[asyncio.Task[Any]] = set()
        self._rating = asyncio.Lock()
        self._rated: tuple[tuple[int, int, int], pb.FinalRatings | None] | None = None
        """The last final ratings, with the tournament's id, and its stored games and bots then."""

    async def create(self, config: TournamentConfig, *, request_key: str | None = None) -> int:
        """Set up a tournament and begin to play it; return its id.

        A request key that was used before returns the tournament of that request. ApiError if too many are
        open, ConfigError if no tournament can be made of this configuration.
        """
        self._check_room()  # first, as it is cheap
        # Schedules of hundreds of bots take long to make, and all matches would wait meanwhile.
        await asyncio.to_thread(check_evaluator, config)
        schedule = await asyncio.to_thread(schedule_of, config)
        store, created_at = self._store.store, self._places.unix_clock()
        async with self._starting:
            if request_key is not None:
                known = await self._store.read(store.tournament_of_request, request_key)
                if known is not None:
                    return known
            self._check_room()
            self.running.check_hosted(config)
            tournament_id = await self._store.write(
                store.create_tournament,
                config.json(),
                games_total=schedule.total_games,
                created_at=created_at,
                request_id=request_key,
            )
        _log.info(
            "tournament_created",
            tournament=tournament_id,
            bots=config.bots,
            format=config.format.kind,
            games=schedule.total_games,
        )
        status = TournamentStatus(tournament_id, config, schedule, created_at=created_at)
        self.running.start(TournamentRun(status, host=self._places, store=self._store))
        return tournament_id

    def _check_room(self) -> None:
        if len(self.running) >= self._most_open:
            raise too_many(self._most_open, "tournaments", advice="try again when one is over")

    async def resume_all(self) -> None:
        """Continue every tournament that an earlier server on this store left unfinished."""
        self._continues = True
        stored = await self._store.read(self._store.store.tournaments, None, states=UNFINISHED)
        for tournament in reversed(stored):
            try:
                self.running.start(await self._load(tournament.id))
            except Exception as error:  # noqa: BLE001 - one tournament must not keep the server from starting
                trace = not isinstance(error, ConfigError)
                _log.error(
                    "tournament_not_resumed", tournament=tournament.id, problem=str(error), exc_info=trace
                )

    async def resume(self, tournament_id: int, *, connect_seconds: float | None = None) -> None:
        """Continue a tournament that was stopped or interrupted; one that runs or is finished stays so.

        It waits for its bots for `connect_seconds`, by default as long as its configuration says. Where a
        stop still lets games end, their end is waited for.
        """
        async with self._lock(tournament_id):  # or two callers would have its games played twice
            playing = self.running.get(tournament_id)
            if playing is not None:
                if not playing.run.ending:
                    return
                await asyncio.wait((playing.task,))
            stored = await self._resting.stored(tournament_id)
            if stored.state is TournamentState.FINISHED:
                return
            config_of(stored)
            run = await self._load(tournament_id)
            if connect_seconds is not None:
                run.connect_seconds = connect_seconds
            async with self._starting:
                self._check_room()
                # Stored before it is answered, as a stop is.
                state = TournamentState.INTERRUPTED
                self.running.check_hosted(run.status.config)
                await self._store.write(self._store.store.set_state, tournament_id, state)
                self.running.start(run)

    async def stop(self, tournament_id: int) -> None:
        """Start no more games in a tournament until it is resumed; one that is over stays as it is."""
        # A call that waits for the games of one that is played is not waited for.
        async with nullcontext() if tournament_id in self.running else self._lock(tournament_id):
            playing = self.running.get(tournament_id)  # it may have been resumed meanwhile
            if playing is not None:
                await playing.run.stop()
                return
            stored = await self._resting.stored(tournament_id)
            if stored.state in UNFINISHED:  # the next server would continue it
                await self._store.write(self._store.store.set_state, tournament_id, TournamentState.STOPPED)

    async def delete(self, tournament_id: int) -> int:
        """Remove a tournament that is not being played; return how many games it had."""
        async with self._lock(tournament_id):
            await self._resting.stored(tournament_id)
            playing = self.running.get(tournament_id)
            if playing is not None and playing.status.state.over:  # its state is about to be stored
                await asyncio.wait((playing.task,))
            if tournament_id in self.running:
                text = f"tournament {tournament_id} is being played; stop it first"
                raise ApiError(Reason.TOURNAMENT_RUNNING, text)
            store, deleted = self._store.store, 0
            # In parts, between which finished games of others are stored.
            while some := await self._store.write(store.delete_games, tournament_id):
                deleted += some
            await self._store.write(store.delete_tournament, tournament_id)
            self._resting.forget(tournament_id)
        _log.info("tournament_deleted", tournament=tournament_id, games=deleted)
        return deleted

    async def disqualify(self, tournament_id: int, bot: str) -> None:
        """Forfeit a bot's seats in all games of a tournament that are not finished.

        ApiError if the tournament is finished, or the bot doesn't take part.
        """
        async with self._lock(tournament_id):
            stored = await self._resting.stored(tournament_id)
            check_disqualification(config_of(stored), stored.state, bot)
            playing = self.running.get(tournament_id)
            if playing is not None and not playing.status.state.over:
                await playing.run.disqualify(bot)
                return
            if playing is not None:
                await asyncio.wait((playing.task,))
            await self._store.write(disqualify_stored, self._store.store, tournament_id, bot)
            self._resting.forget(tournament_id)

    async def _load(self, tournament_id: int) -> TournamentRun:
        """Return a run that plays the missing games of a stored tournament."""
        status, missing = await self._store.read(load_unfinished, self._store.store, tournament_id)
        _log.info(
            "tournament_resumed",
            tournament=tournament_id,
            games=status.games_total,
            played=status.progress.games,
            disqualified=status.standings.disqualified,
        )
        return TournamentRun(status, host=self._places, store=self._store, missing=missing)

    def _begin_retry(self, tournament_id: int) -> bool:
        if self._continues:
            spawn(self._retry(tournament_id), self._retries)
        return self._continues

    async def _retry(self, tournament_id: int) -> None:
        """Continue a tournament as soon as that can be stored, unless it was stopped meanwhile."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                if (await self._resting.stored(tournament_id)).state in UNFINISHED:
                    await self.resume(tournament_id)
                return
            except StoreError:
                continue
            except (ApiError, ConfigError) as error:  # it was deleted, for example
                _log.error("tournament_not_resumed", tournament=tournament_id, problem=str(error))
                return

    def interrupt_all(self) -> None:
        """Let no tournament start another game, because the server is about to stop."""
        for retry in self._retries:
            retry.cancel()
        for playing in self.running.values():
            playing.run.interrupt()

    async def wait_closed(self) -> None:
        """Wait until every call is completed, and every tournament has stored where it stands."""
        while self.running:
            await asyncio.wait([playing.task for playing in self.running.values()])

    def playing(self, tournament_id: int) -> TournamentStatus | None:
        """Return a tournament that this server plays; None if it plays no such tournament."""
        playing = self.running.get(tournament_id)
        return None if playing is None else playing.status

    async def ended(self, tournament_id: int, seconds: float) -> None:
        """Wait until a tournament that is played is over, at most `seconds`."""
        playing = self.running.get(tournament_id)
        if playing is not None:
            await asyncio.wait((playing.task,), timeout=seconds)

    async def message(self, tournament_id: int) -> pb.Tournament:
        """Return a tournament with its progress, for the eyes of an organiser."""
        status = self.playing(tournament_id)
        if status is not None:
            return tournament_message(self.snapshot(status))
        return await self._resting.message(await self._resting.stored(tournament_id))

    async def newest(
        self, at_once: int, before_id: int | None, *, state: TournamentState | None, bot: str | None
    ) -> AsyncGenerator[tuple[int, pb.Tournament | None], None]:
        """Yield the ids of tournaments, newest first, each with its message if it is in the state.

        They are read from the store `at_once`, then more. With `before_id` or `bot`, only those with a lower
        id, or with this bot.
        """
        store = self._store.store
        states = _stored_states(state)
        while stored := await self._store.read(store.tournaments, at_once, before_id, states=states, bot=bot):
            for tournament in stored:
                status = self.playing(tournament.id)
                own = listed(tournament, Progress()).state if status is None else status.state
                if state not in (None, own):
                    yield tournament.id, None  # before its games are counted
                elif status is None:
                    yield tournament.id, await self._resting.message(tournament)
                else:
                    yield tournament.id, tournament_message(self.snapshot(status))
            if len(stored) < at_once:
                return
            before_id, at_once = stored[-1].id, 2 * at_once

    async def status(self, tournament_id: int) -> TournamentStatus:
        """Return a tournament with its standings, for which one that rests is loaded from the store."""
        status = self.playing(tournament_id)
        if status is not None:
            return status
        return await self._resting.status(tournament_id)

    async def final_ratings(self, status: TournamentStatus) -> pb.FinalRatings | None:
        """Rate a tournament's bots by all its stored games, in a thread: it may take seconds."""
        async with self._rating:  # one at a time, as each takes a whole core
            key = (status.tournament_id, status.progress.games, len(status.config.bots))
            if self._rated is None or self._rated[0] != key:
                ratings = await asyncio.to_thread(final_ratings, status)
                self._rated = key, None if ratings is None else ratings_message(ratings)
            return self._rated[1]

    def snapshot(self, status: TournamentStatus) -> Snapshot:
        """Return a tournament that is in memory, with the games that are being played."""
        running = self._places.running(status.tournament_id)
        return replace(
            played(status, self._places.lobby.not_connected(status.config.bots)),
            games_running=len(running),
            decisions_running=sum(match.decisions for match in running),
        )

    def _lock(self, tournament_id: int) -> asyncio.Lock:
        return self._changing.setdefault(tournament_id, asyncio.Lock())


def _stored_states(state: TournamentState | None) -> frozenset[TournamentState] | None:
    """Return the stored states that tournaments in a state may have; None for all."""
    if state is None or state is TournamentState.UNREADABLE:
        return None
    return frozenset({state}) if state in (TournamentState.FINISHED, TournamentState.STOPPED) else UNFINISHED
