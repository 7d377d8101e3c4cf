"""Runs a tournament on any host that can play matches: the schedule in, results and standings out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import structlog

from happycity import HappyCityError
from happycity_tournament.archive import Archive
from happycity_tournament.course import Course
from happycity_tournament.results import Fixture, VoidReason
from happycity_tournament.roster import Change, RosterError, change_roster
from happycity_tournament.status import TournamentState, TournamentStatus, Unfinished, load_unfinished
from happycity_tournament.store import Store, StoredGame

MAX_ATTEMPTS = 3
"""How often a game is begun at most; a game that is voided time and again has found a fault of the arena."""

_log = structlog.get_logger()
_T = TypeVar("_T")


class MatchHost(Protocol):
    """Whoever can play matches between bots."""

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are there, at most `seconds`; return those missing."""

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        """Wait until one of `bots` is there, however long it takes."""

    async def play(self, fixture: Fixture, status: TournamentStatus) -> StoredGame | VoidReason:
        """Play a tournament's game to its end and store it, or tell why it was voided.

        Seats of bots that are disqualified in the tournament's standings are forfeited from the start.

        Raises:
            StoreError: it could not be stored.
        """

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the games of a tournament that wait or run, and let it know."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A change of the roster that somebody waits for."""

    change: Change
    made: asyncio.Future[None]

    def refuse(self, error: Exception) -> None:
        """Say why there is no change, if anybody still waits for it."""
        if not self.made.cancelled():
            self.made.set_exception(error)


class TournamentRun:
    """One tournament, from the first game that is missing to the last.

    Games that are voided are played again, with the same deal and seeds. The status is another one after the
    roster was changed.
    """

    def __init__(
        self,
        status: TournamentStatus,
        *,
        host: MatchHost,
        archive: Archive,
        course: Course | None = None,
    ) -> None:
        """Take a tournament over.

        Args:
            status: how far it is.
            host: plays its games.
            archive: holds what is stored of it.
            course: which games are missing; None for a new tournament.
        """
        self.status = status
        self._host = host
        self._archive = archive
        self._resumed = course is not None
        self._course = course or Course(status)
        self._ending: TournamentState | None = None  # how it is to end before its last game
        self._request: _Request | None = None
        self._called = asyncio.Event()  # to end early, or to change the roster

    @property
    def ending(self) -> bool:
        """Whether it is to end before its last game."""
        return self._ending is not None

    async def stop(self) -> None:
        """Start no more games; those running are finished and count.

        It is stored at once, so that nobody goes on with the tournament even if this process dies.
        """
        self._end(TournamentState.STOPPED)
        await self._archive.call(
            self._archive.store.set_state, self.status.tournament_id, TournamentState.STOPPED.value
        )

    def interrupt(self) -> None:
        """Start no more games, because the host is about to stop; the next host goes on."""
        if self._ending is None:
            self._end(TournamentState.INTERRUPTED)

    async def change_roster(self, change: Change) -> None:
        """Change who takes part, from the first round of which no game has begun when the running games end.

        No game begins until then, but the tournament is not stopped. It must not be over, and one change is
        made at a time.

        Raises:
            RosterError: the bots can't be changed, or the tournament ended before that.
            ConfigError: the change makes no sense.
            StoreError: it can't be stored.
        """
        assert self._request is None or self._request.made.cancelled()
        self._request = _Request(change, asyncio.get_running_loop().create_future())
        self._called.set()
        await self._request.made

    async def run(self) -> None:
        """Play all games that are missing; the host stores each before it counts here.

        Raises:
            StoreError: the store failed; what it holds is what was finished.
            ScheduleChangedError: what it holds was played by another schedule.
        """
        try:
            await self._play_on()
            while self._request is not None:
                await self._change(self._request)
                await self._play_on()
        except Exception:
            self.interrupt()
            raise
        finally:
            if self._request is not None:
                self._request.refuse(RosterError("the tournament ended before its bots were changed"))
            status = self.status
            status.standings.flush()
            # Without a reason to end early, what is missing are games that could not be played.
            await self._change_state(
                TournamentState.FINISHED if status.complete else self._ending or TournamentState.STOPPED
            )
        _log.info(
            "tournament_over",
            tournament=status.tournament_id,
            state=status.state.value,
            games=status.progress.games,
            voided=status.games_voided,
        )

    async def _play_on(self) -> None:
        """Wait for the bots at first, and play until the end, or until something is asked for."""
        if self.status.state is not TournamentState.RUNNING and not self.status.complete:
            await self._wait_for_bots()
        if not self._called.is_set():
            await self._play_missing()

    async def _change(self, request: _Request) -> None:
        """Make a change, and have the schedule anew; after a change that is refused it goes on as it is."""
        self._request = None
        if self._ending is None:
            self._called.clear()
        if request.made.cancelled():
            return
        try:
            changed = await self._archive.call(
                _changed, self._archive.store, self.status.tournament_id, request.change
            )
        except HappyCityError as error:
            request.refuse(error)
            return
        except Exception as error:
            request.refuse(error)
            raise
        changed.status.state = self.status.state
        self.status, self._course = changed.status, changed.course
        if not request.made.cancelled():
            request.made.set_result(None)

    async def _wait_for_bots(self) -> None:
        """Wait for the bots as long as a match would.

        In a tournament that is resumed the time begins with the first of them, who find the server again when
        they do; without any there would be no game, only forfeits.
        """
        config = self.status.config
        bots = [bot for bot in config.remaining if bot not in self.status.standings.disqualified]
        if self._resumed and bots:
            await self._unless_called(self._host.wait_for_any(bots))
        if missing := await self._unless_called(self._host.wait_for(bots, config.time.connect_seconds)):
            _log.warning("bots_missing", tournament=self.status.tournament_id, bots=missing)

    async def _unless_called(self, waiting: Awaitable[_T]) -> _T | None:
        """Wait for something, but not beyond an early end or a change; return None then."""
        awaited = asyncio.ensure_future(waiting)
        called = asyncio.ensure_future(self._called.wait())
        await asyncio.wait((awaited, called), return_when=asyncio.FIRST_COMPLETED)
        called.cancel()
        if not self._called.is_set():
            return awaited.result()
        awaited.cancel()
        return None

    async def _play_missing(self) -> None:
        if self.status.state is not TournamentState.RUNNING:
            await self._change_state(TournamentState.RUNNING)
        try:
            await self._play_stage()  # what a course that was resumed, or called off, has left of it
            # Some stages take long to draw, and all other matches of the host would wait meanwhile.
            while not self._called.is_set() and await asyncio.to_thread(self._course.draw):
                await self._play_stage()
        except* Exception as group:  # noqa: BLE001 - only unwraps the task group's error
            # One failure is enough to stop; the others are the same store's.
            raise group.exceptions[0] from None

    async def _play_stage(self) -> None:
        """Play the missing games of a stage, many at once."""
        free = asyncio.Semaphore(self.status.config.concurrency)
        missing = self._course.missing()
        async with asyncio.TaskGroup() as games:
            while True:
                await free.acquire()  # first, as a game that is drawn from the course has to be played
                fixture = None if self._called.is_set() else next(missing, None)
                if fixture is None:
                    break
                games.create_task(self._play(fixture)).add_done_callback(lambda _: free.release())

    async def _play(self, fixture: Fixture) -> None:
        """Play a game, and again if it is voided, until it counts."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            played = await self._host.play(fixture, self.status)
            if isinstance(played, StoredGame):
                self._count(played)
                return
            if played is VoidReason.SHUTDOWN:
                self.interrupt()
                return
            await self._note_voided(fixture, played, attempt=attempt)
            if self._ending is not None:
                return
        await self._give_up(fixture)

    def _count(self, game: StoredGame) -> None:
        standings = self.status.standings
        before = len(standings.disqualified)
        self.status.count(game)
        for bot in standings.disqualified[before:]:
            _log.warning("bot_disqualified", tournament=self.status.tournament_id, bot=bot)
            self._host.disqualify(bot, self.status.tournament_id, self._verdict())

    def _verdict(self) -> str:
        policy = self.status.config.policy
        return (
            f"disqualified from tournament {self.status.tournament_id}: more than "
            f"{policy.disqualify_share:.0%} of {policy.disqualify_games} or more games were forfeited; "
            "so are the remaining ones"
        )

    async def _note_voided(self, fixture: Fixture, reason: VoidReason, *, attempt: int) -> None:
        self.status.games_voided += 1
        _log.warning("game_voided", **self._told(fixture), reason=reason.value, attempt=attempt)
        await self._store_troubles()

    async def _give_up(self, fixture: Fixture) -> None:
        """Go on without a game; the tournament can't be complete any more."""
        self.status.remarks.append(
            f"{fixture.place} could not be played: it was voided {MAX_ATTEMPTS} times, and the server's log "
            "says why"
        )
        _log.error("game_given_up", **self._told(fixture), attempts=MAX_ATTEMPTS)
        self.status.skip(fixture)
        await self._store_troubles()

    def _told(self, fixture: Fixture) -> dict[str, int]:
        """Return a game as log lines tell it; of its deal they say nothing."""
        return {
            "tournament": self.status.tournament_id,
            "round": fixture.round,
            "table": fixture.table,
            "rotation": fixture.rotation,
        }

    def _end(self, state: TournamentState) -> None:
        self._ending = state
        self._called.set()

    async def _store_troubles(self) -> None:
        status = self.status
        await self._archive.call(
            self._archive.store.set_troubles, status.tournament_id, status.games_voided, status.remarks
        )

    async def _change_state(self, state: TournamentState) -> None:
        self.status.state = state
        await self._archive.call(self._archive.store.set_state, self.status.tournament_id, state.value)


def _changed(store: Store, tournament_id: int, change: Change) -> Unfinished:
    """Change a tournament's roster and return it as it goes on."""
    change_roster(store, tournament_id, change)
    return load_unfinished(store, tournament_id)
