"""The registry of tournaments: starts them, continues what an earlier server left, and finds them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import structlog

from happycity import ConfigError
from happycity.errors import FieldError
from happycity.runtime.event_loop import spawn
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_server.errors import ApiError, Reason, invalid, too_many
from happycity_server.places.places import Places
from happycity_server.play.clock import UnixClock
from happycity_server.play.session import Session
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.games import BotProfile
from happycity_tournament.play.progress import (
    UNFINISHED,
    ScheduleChangedError,
    TournamentStatus,
    check_disqualification,
    check_evaluator,
    disqualify_stored,
    load_status,
    load_unfinished,
)
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.play.snapshot import Snapshot, final_ratings, listed, played
from happycity_tournament.schedule import Schedule, schedule_of
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.database import StoreError
from happycity_tournament.storage.stored import Progress, StoredTournament
from happycity_tournament.wire import ratings_message, timestamp, tournament_message

KEPT_PROGRESS = 1000
"""Maximum number of resting tournaments whose progress is kept in memory."""
KEPT_STATUSES = 4
"""Maximum number of statuses of resting tournaments that are kept in memory."""

RETRY_SECONDS = 5.0
"""How often a tournament is tried again that the store has stopped, as by a full disk."""

_log = structlog.get_logger()


@dataclass(slots=True)
class _Run:
    """A tournament that this server plays, and the task that does so."""

    run: TournamentRun
    task: asyncio.Task[None]


class Tournaments:
    """All tournaments of a store, of which this server plays some.

    Only a tournament that is played is kept; everything about others comes from the store. Methods raise an
    ApiError for a tournament that there isn't, or that this version can't read.
    """

    def __init__(
        self,
        places: Places,
        store: AsyncStore,
        unix_clock: UnixClock,
        *,
        most_open: int,
        hosted_digest: Callable[[str], str],
    ) -> None:
        """Play the tournaments of a store, of those that are asked for at most `most_open` at once.

        `hosted_digest` returns the digest of the submission that the server plays as a bot; "" if it doesn't.
        """
        self._most_open = most_open
        self._places = places
        self._store = store
        self._unix_clock = unix_clock
        places.events.arrived.append(self._note_arrival)
        self._runs: dict[int, _Run] = {}
        self._starting = asyncio.Lock()
        self._hosted_digest = hosted_digest
        self._changing: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """By tournament: held while it is resumed or deleted, or one of its bots disqualified."""
        self._storing: set[asyncio.Task[Any]] = set()
        """What stores profiles."""
        self._continues = False
        """Whether tournaments that were interrupted are continued here."""
        self._retries: set[asyncio.Task[Any]] = set()
        self._unstored_profiles: dict[int, dict[str, BotProfile]] = {}
        """By tournament whose bots' profiles are being stored: those that came meanwhile."""
        self._resting: dict[int, tuple[StoredTournament, TournamentStatus]] = {}
        """By tournament, its row then and its status; the one that was asked for last at the end."""
        self._progress: dict[int, Progress] = {}
        """By tournament that rests: how far it is, as counting its games takes the longer the more it has."""
        self._loading = asyncio.Lock()
        self._rating = asyncio.Lock()
        self._rated: tuple[tuple[int, int, int], pb.FinalRatings | None] | None = None
        """The last final ratings, with the tournament's id, and its stored games and bots then."""

    @property
    def open_count(self) -> int:
        """How many tournaments wait or are being played."""
        return len(self._runs)

    async def create(self, config: TournamentConfig, *, request_key: str | None = None) -> int:
        """Set up a tournament and begin to play it; return its id.

        A request key that was used before returns the tournament of that request.

        Raises:
            ApiError: too many are open.
            ConfigError: no tournament can be made of this configuration.
        """
        self._check_room()  # first, as it is cheap
        # Schedules of hundreds of bots take long to make, and all matches would wait meanwhile.
        schedule = await asyncio.to_thread(_new_schedule, config)
        store, created_at = self._store.store, self._unix_clock()
        async with self._starting:
            if request_key is not None:
                known = await self._store.read(store.tournament_of_request, request_key)
                if known is not None:
                    return known
            self._check_room()
            self._check_hosted(config)
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
        self._start(TournamentRun(status, host=self._places, store=self._store))
        return tournament_id

    def _check_hosted(self, config: TournamentConfig) -> None:
        """Require that the submissions play which a tournament names; else ConfigError."""
        for bot, digest in config.hosted_bots.items():
            if (playing := self._hosted_digest(bot)) != digest:
                found = f"plays as {playing[:12]}" if playing else "isn't hosted"
                raise FieldError("hosted_bots", f"{bot} {found}, and not as {digest[:12]}")

    def pins(self, bot: str) -> bool:
        """Return whether a tournament that is played has named the submission that plays as a bot."""
        return any(bot in playing.run.status.config.hosted_bots for playing in self._runs.values())

    def _check_room(self) -> None:
        if len(self._runs) >= self._most_open:
            raise too_many(self._most_open, "tournaments", advice="try again when one is over")

    async def resume_all(self) -> None:
        """Continue every tournament that an earlier server on this store left unfinished."""
        self._continues = True
        stored = await self._store.read(self._store.store.tournaments, None, states=UNFINISHED)
        for tournament in reversed(stored):
            try:
                self._start(await self._load(tournament.id))
            except Exception as error:  # noqa: BLE001 - one tournament must not keep the server from starting
                trace = not isinstance(error, ConfigError)
                _log.error(
                    "tournament_not_resumed", tournament=tournament.id, problem=str(error), exc_info=trace
                )

    async def resume(self, tournament_id: int) -> None:
        """Continue a tournament that was stopped or interrupted; one that runs or is finished stays so.

        Where a stop still lets games end, their end is waited for.
        """
        async with self._lock(tournament_id):  # or two callers would have its games played twice
            playing = self._runs.get(tournament_id)
            if playing is not None:
                if not playing.run.ending:
                    return
                await asyncio.wait((playing.task,))
            stored = await self._stored(tournament_id)
            if stored.state is TournamentState.FINISHED:
                return
            _config(stored)
            run = await self._load(tournament_id)
            async with self._starting:
                self._check_room()
                # Stored before it is answered, as a stop is.
                state = TournamentState.INTERRUPTED
                self._check_hosted(run.status.config)
                await self._store.write(self._store.store.set_state, tournament_id, state)
                self._start(run)

    async def stop(self, tournament_id: int) -> None:
        """Start no more games in a tournament until it is resumed; one that is over stays as it is."""
        playing = self._runs.get(tournament_id)
        if playing is not None:  # a call that waits for its games is not waited for
            await playing.run.stop()
            return
        async with self._lock(tournament_id):
            playing = self._runs.get(tournament_id)  # it may have been resumed meanwhile
            if playing is not None:
                await playing.run.stop()
            elif (await self._stored(tournament_id)).state in UNFINISHED:  # the next server would continue it
                await self._store.write(self._store.store.set_state, tournament_id, TournamentState.STOPPED)

    async def delete(self, tournament_id: int) -> int:
        """Remove a tournament that is not being played; return how many games it had."""
        async with self._lock(tournament_id):
            await self._stored(tournament_id)
            playing = self._runs.get(tournament_id)
            if playing is not None and playing.run.status.state.over:  # its state is about to be stored
                await asyncio.wait((playing.task,))
            if tournament_id in self._runs:
                text = f"tournament {tournament_id} is being played; stop it first"
                raise ApiError(Reason.TOURNAMENT_RUNNING, text)
            store, deleted = self._store.store, 0
            # In parts, between which finished games of others are stored.
            while some := await self._store.write(store.delete_games, tournament_id):
                deleted += some
            await self._store.write(store.delete_tournament, tournament_id)
            self._resting.pop(tournament_id, None)
            self._progress.pop(tournament_id, None)
        _log.info("tournament_deleted", tournament=tournament_id, games=deleted)
        return deleted

    async def disqualify(self, tournament_id: int, bot: str) -> None:
        """Forfeit a bot's seats in all games of a tournament that are not finished.

        Raises:
            ApiError: the tournament is finished, or the bot doesn't take part.
        """
        async with self._lock(tournament_id):
            stored = await self._stored(tournament_id)
            check_disqualification(_config(stored), stored.state, bot)
            playing = self._runs.get(tournament_id)
            if playing is not None and not playing.run.status.state.over:
                await playing.run.disqualify(bot)
                return
            if playing is not None:
                await asyncio.wait((playing.task,))
            await self._store.write(disqualify_stored, self._store.store, tournament_id, bot)
            self._resting.pop(tournament_id, None)

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

    def _start(self, run: TournamentRun) -> None:
        self._check_hosted(run.status.config)  # here, so that nothing comes between it and `pins`
        tournament_id = run.status.tournament_id
        self._progress.pop(tournament_id, None)
        task = asyncio.create_task(self._play(run))
        self._runs[tournament_id] = _Run(run, task)
        task.add_done_callback(lambda _: self._runs.pop(tournament_id, None))
        self._note_profiles(run, self._places.profiles())

    def _note_arrival(self, session: Session) -> None:
        """Note what a bot says that has just connected."""
        for playing in self._runs.values():
            self._note_profiles(playing.run, {session.name: session.profile})

    def _note_profiles(self, run: TournamentRun, said: Mapping[str, BotProfile]) -> None:
        """Note what bots of a tournament say of themselves, and have it stored if it is new."""
        status = run.status
        new = {
            bot: profile
            for bot, profile in said.items()
            if status.profiles.get(bot) != profile and bot in status.config.bots
        }
        if new:
            status.profiles.update(new)
            unstored = self._unstored_profiles.get(status.tournament_id)
            if unstored is not None:  # they are stored when the present write has ended
                unstored.update(new)
                return
            self._unstored_profiles[status.tournament_id] = new
            spawn(self._store_profiles(status.tournament_id), self._storing)

    async def _store_profiles(self, tournament_id: int) -> None:
        """Store what bots say, one write at a time, as a bot may reconnect as fast as it can."""
        try:
            while said := dict(self._unstored_profiles[tournament_id]):
                self._unstored_profiles[tournament_id].clear()
                await self._store.write(self._store.store.set_profiles, tournament_id, said)
        except StoreError as error:  # the games are stored all the same, or the server ends
            _log.error("profiles_not_stored", tournament=tournament_id, problem=str(error))
        finally:
            del self._unstored_profiles[tournament_id]

    async def _play(self, run: TournamentRun) -> None:
        tournament_id = run.status.tournament_id
        try:
            await run.run()
        except ScheduleChangedError as error:
            problem = str(error)
        except StoreError as error:
            problem = f"the server's store {error.problem}"
            _log.error("tournament_failed", tournament=tournament_id, problem=str(error))
            if error.for_all and self._continues:
                problem += "; the tournament goes on when games can be stored again"
                spawn(self._retry(tournament_id), self._retries)
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            problem = "the server failed in this tournament; its log says why"
            _log.exception("tournament_failed", tournament=tournament_id)
        else:
            with suppress(StoreError):  # it is loaded when it is asked for
                self._keep(await self._stored(tournament_id), run.status)
            return
        finally:
            self._places.drop_waiting(tournament_id)
        status = run.status  # another one after a change of the roster
        status.remarks.append(problem)
        with suppress(StoreError):
            await self._store.write(self._store.store.set_problems, tournament_id, status.problems)

    async def _retry(self, tournament_id: int) -> None:
        """Continue a tournament as soon as that can be stored, unless it was stopped meanwhile."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                if (await self._stored(tournament_id)).state in UNFINISHED:
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
        for playing in self._runs.values():
            playing.run.interrupt()

    async def wait_closed(self) -> None:
        """Wait until every call is completed, and every tournament has stored where it stands."""
        while pending := {*self._storing, *(playing.task for playing in self._runs.values())}:
            await asyncio.wait(pending)

    def playing(self, tournament_id: int) -> TournamentStatus | None:
        """Return a tournament that this server plays; None if it plays no such tournament."""
        playing = self._runs.get(tournament_id)
        return None if playing is None else playing.run.status

    async def ended(self, tournament_id: int, seconds: float) -> None:
        """Wait until a tournament that is played is over, at most `seconds`."""
        playing = self._runs.get(tournament_id)
        if playing is not None:
            await asyncio.wait((playing.task,), timeout=seconds)

    async def message(self, tournament_id: int) -> pb.Tournament:
        """Return a tournament with its progress, for the eyes of an organiser."""
        status = self.playing(tournament_id)
        if status is not None:
            return tournament_message(self.snapshot(status))
        return await self._resting_message(await self._stored(tournament_id))

    async def newest(
        self,
        at_once: int,
        before_id: int | None,
        *,
        state: TournamentState | None,
        bot: str | None,
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
                    yield tournament.id, await self._resting_message(tournament)
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
        async with self._loading:  # one at a time, as each may take seconds
            stored = await self._stored(tournament_id)
            games = (await self._resting_progress(tournament_id)).games
            kept, status = self._resting.get(tournament_id, (None, None))
            if status is None or (kept, status.progress.games) != (stored, games):
                _config(stored)
                status = await self._store.load(load_status, self._store.store, stored)
            self._keep(stored, status)
            return status

    def _keep(self, stored: StoredTournament, status: TournamentStatus) -> None:
        """Keep a status as the one that was asked for last, and let go of the oldest beyond the maximum."""
        self._resting.pop(stored.id, None)
        self._resting[stored.id] = stored, status
        while len(self._resting) > KEPT_STATUSES:
            del self._resting[next(iter(self._resting))]

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

    async def _resting_message(self, stored: StoredTournament) -> pb.Tournament:
        progress = await self._resting_progress(stored.id)
        try:
            snapshot = listed(stored, progress)
            missing = self._places.lobby.not_connected(snapshot.bots)
            return tournament_message(replace(snapshot, missing_bots=tuple(missing)))
        except (ValueError, TypeError, AttributeError):  # a damaged row must hide no other
            unreadable = pb.TournamentProgress(state=pb.TOURNAMENT_STATE_UNREADABLE)
            return pb.Tournament(tournament_id=stored.id, create_time=timestamp(0.0), progress=unreadable)

    async def _resting_progress(self, tournament_id: int) -> Progress:
        """Return the progress of a tournament that isn't played; it stays so until this server plays it."""
        progress = self._progress.get(tournament_id)
        if progress is None:
            rested = tournament_id not in self._runs
            progress = await self._store.read(self._store.store.progress, tournament_id)
            if rested and tournament_id not in self._runs:
                self._progress[tournament_id] = progress
                while len(self._progress) > KEPT_PROGRESS:
                    del self._progress[next(iter(self._progress))]
        return progress

    async def _stored(self, tournament_id: int) -> StoredTournament:
        stored = await self._store.read(self._store.store.tournament, tournament_id)
        if stored is None:
            raise ApiError(Reason.UNKNOWN_TOURNAMENT, f"there is no tournament {tournament_id} here")
        return stored

    def _lock(self, tournament_id: int) -> asyncio.Lock:
        return self._changing.setdefault(tournament_id, asyncio.Lock())


def _new_schedule(config: TournamentConfig) -> Schedule:
    """Return the schedule of a new tournament; a ConfigError says why it can't be played."""
    check_evaluator(config)
    return schedule_of(config)


def _stored_states(state: TournamentState | None) -> frozenset[TournamentState] | None:
    """Return the stored states that tournaments in a state may have; None for all."""
    if state is None or state is TournamentState.UNREADABLE:
        return None
    return frozenset({state}) if state in (TournamentState.FINISHED, TournamentState.STOPPED) else UNFINISHED


def _config(stored: StoredTournament) -> TournamentConfig:
    """Read what a stored tournament consists of; refuse the call if this version can't read it."""
    try:
        return TournamentConfig.of(stored.config)
    except ConfigError as error:
        raise invalid("tournament_id", f"{error}") from None
