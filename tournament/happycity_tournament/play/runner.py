"""Runs a tournament on any host that can play matches: the schedule in, results and standings out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import structlog

from happycity import VoidReason
from happycity.errors import near_name
from happycity_tournament.config import STOP_SECONDS, TournamentState
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.play.progress import MissingGames, TournamentStatus
from happycity_tournament.standings.digest import failures
from happycity_tournament.storage.async_store import AsyncStore

MAX_ATTEMPTS = 3
"""How often a game is begun at most; one that is voided each time has found a fault of the arena."""
DID_YOU_MEAN = "did you mean"
"""In a remark about missing bots: one seems to be there under another name."""
FIRST_GAMES = 64
"""Games that begin at once at first, at each place. With all of them none would end for long."""
WIDENING = 12
"""How many more games may run at once after each one that has ended."""

_log = structlog.get_logger()
_T = TypeVar("_T")


NAMES_SHOWN = 10
"""Bots that are named in a line about missing ones."""


class MatchHost(Protocol):
    """Plays matches between bots."""

    change_listeners: list[Callable[[], None]]
    """Are called when places come or go, and perhaps at other times."""

    @property
    def places(self) -> int:
        """How many places play side by side now, each as many games at once as the tournament allows."""

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are there, at most `seconds`; return those missing."""

    def connected(self) -> list[str]:
        """Return the names of all bots that are there."""

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        """Wait until one of `bots` is there, however long it takes."""

    async def play(self, spec: MatchSpec) -> FinishedGame | VoidReason:
        """Play a game to its end and store it, or return why it was voided; StoreError if it can't be."""

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the games of a tournament that wait or run, and notify the bot."""

    def drop_waiting(self, tournament_id: int) -> None:
        """Void the games of a tournament that wait for room at a bot, by `VoidReason.STOPPED`."""

    def void_slow_matches(self, tournament_id: int, seconds: float) -> None:
        """Void the running games of a tournament that would take longer, by `VoidReason.STOPPED`."""


class TournamentRun:
    """One tournament, from the first game that is missing to the last.

    Games that are voided are played again, with the same deal and seeds.
    """

    def __init__(
        self,
        status: TournamentStatus,
        *,
        host: MatchHost,
        store: AsyncStore,
        missing: MissingGames | None = None,
    ) -> None:
        """Take a tournament over, with the games to play unless it is a new one."""
        self.status = status
        self._host = host
        self._store = store
        self.connect_seconds = status.config.time.connect_seconds
        """How long it waits for its bots before the first game."""
        self._resumed = missing is not None
        self._missing = missing or MissingGames(status)
        self._ending: TournamentState | None = None  # how it is to end before its last game
        self._at_once = FIRST_GAMES  # games at each place
        self._called = asyncio.Event()  # to end early
        self._deadline: asyncio.TimerHandle | None = None  # of the games that run at a stop

    @property
    def ending(self) -> bool:
        """Whether it is to end before its last game."""
        return self._ending is not None

    async def stop(self) -> None:
        """Start no more games; one that is over stays as it is.

        Running games that end within `STOP_SECONDS` count. The others are played again when it is resumed.
        It is stored at once, so that no server continues the tournament even if this process dies.
        """
        if self.status.state.over:
            return
        self._end(TournamentState.STOPPED)
        drop, tournament_id = self._host.void_slow_matches, self.status.tournament_id
        drop(tournament_id, STOP_SECONDS)
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(STOP_SECONDS, drop, tournament_id, 0.0)
        await self._store_state(TournamentState.STOPPED)

    def interrupt(self) -> None:
        """Start no more games, because the host is about to stop; the next host continues."""
        if self._ending is None:
            self._end(TournamentState.INTERRUPTED)

    async def disqualify(self, bot: str) -> None:
        """Forfeit the bot's seats in all games that are not finished; the decision is the organiser's."""
        self.status.standings.disqualify(bot)
        tournament_id = self.status.tournament_id
        _log.warning("bot_disqualified", tournament=tournament_id, bot=bot, reason="by the organiser")
        why = "was taken out by the organiser; its other seats are forfeited"
        text = f"disqualified from tournament {tournament_id}: {bot} {why}"
        self._host.disqualify(bot, tournament_id, text)
        self._end_if_unrated()
        await self._store_problems()

    async def run(self) -> None:
        """Play all games that are missing; the host stores each before it counts here.

        Raises:
            StoreError: the store failed; what it holds is what was finished.
            ScheduleChangedError: what it holds was played by another schedule.
        """
        try:
            await self._play_on()
        except Exception:
            self.interrupt()
            raise
        finally:
            if self._deadline is not None:
                self._deadline.cancel()
            status = self.status
            status.standings.count_held_back()
            await self._store_problems()  # those of an earlier host may be over
            if status.schedule.decided:  # results have ended it
                change = partial(self._store.store.set_config, games_total=status.games_total)
                await self._store.write(change, status.tournament_id, status.config.json())
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
        """Wait for the bots at first, and play until the end, or until a stop."""
        self._end_if_unrated()
        if self.status.state is not TournamentState.RUNNING and not (self.status.complete or self.ending):
            await self._wait_for_bots()
        if not self._called.is_set():
            await self._play_missing()

    async def _wait_for_bots(self) -> None:
        """Wait for the bots for `connect_seconds`; stop it if they don't come.

        It is not stopped if it may begin incomplete, or has begun: missing bots forfeit their games then.

        In a tournament that is resumed the time begins with the first of them, as bots find a restarted
        server only after a while; without any there would be no game, only forfeits.
        """
        config, standings = self.status.config, self.status.standings
        bots = [bot for bot in config.bots if bot not in standings.disqualified]
        if self._resumed and bots:
            await self._unless_ended_early(self._host.wait_for_any(bots))
        absent = await self._unless_ended_early(self._host.wait_for(bots, self.connect_seconds)) or ()
        missing = [bot for bot in absent if bot not in standings.disqualified]
        if not missing:
            return
        _log.warning("bots_missing", tournament=self.status.tournament_id, bots=missing)
        if not config.begin_incomplete and not self.status.progress.games:
            waited = f"within {self.connect_seconds:g} s"
            self.status.remarks.append(_missing_bots(missing, waited, bots, self._host.connected()))
            self._end(TournamentState.STOPPED)

    async def _unless_ended_early(self, waiting: Awaitable[_T]) -> _T | None:
        """Wait for something, but not beyond an early end; return None then."""
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
            await self._play_stage()  # the rest of a stage that was resumed or called off
            # Some stages take long to draw, and all other matches of the host would wait meanwhile.
            while not self._called.is_set() and await asyncio.to_thread(self._missing.next_stage):
                await self._play_stage()
        except* Exception as group:  # noqa: BLE001 - only unwraps the task group's error
            # One failure is enough to stop; the others are the same store's.
            raise group.exceptions[0] from None

    async def _play_stage(self) -> None:
        """Play the missing games of a stage, as many at once as there is room for at the host's places."""
        missing, playing, is_over = self._missing.fixtures(), 0, False

        def room() -> int:
            most = min(self.status.config.concurrency, self._at_once)
            return most * self._host.places - playing  # places come and go

        def fill() -> None:
            nonlocal playing
            while room() > 0 and not is_over:
                playing += 1
                players.create_task(play_in_turn())

        def fill_new_places() -> None:
            if playing:
                fill()

        async def play_in_turn() -> None:
            nonlocal playing, is_over
            try:
                while room() >= 0:
                    # Taken when it begins, not before: the ids of games follow the schedule.
                    if self._called.is_set() or (fixture := next(missing, None)) is None:
                        is_over = True
                        break
                    await self._play(fixture)
                    self._at_once += WIDENING
                    fill()
            except BaseException:
                playing = 0  # nothing more begins, as all others are cancelled
                raise
            playing -= 1

        self._host.change_listeners.append(fill_new_places)
        try:
            async with asyncio.TaskGroup() as players:
                fill()
        finally:
            self._host.change_listeners.remove(fill_new_places)

    async def _play(self, fixture: Fixture) -> None:
        """Play a game, and again if it is voided, until it counts; put it back if it is called off."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            played = await self._host.play(self.status.spec_of(fixture))
            if isinstance(played, FinishedGame):
                self._count(played)
                return
            if played is VoidReason.STOPPED and self._called.is_set():
                self._missing.put_back(fixture)
                return
            if played is VoidReason.SHUTDOWN:
                self.interrupt()
                return
            self.status.games_voided += 1
            _log.warning("game_voided", **self._log_fields(fixture), reason=played.value, attempt=attempt)
            await self._store_problems()
            if self._ending is not None:
                return
        await self._give_up(fixture)

    def _count(self, game: FinishedGame) -> None:
        standings = self.status.standings
        before = len(standings.disqualified)
        self.status.add_result(game)
        disqualified = standings.disqualified[before:]
        for bot in disqualified:
            why = failures(next(line for line in standings.lines() if line.bot == bot))
            tournament_id = self.status.tournament_id
            _log.warning("bot_disqualified", tournament=tournament_id, bot=bot, reason=why)
            text = f"disqualified from tournament {tournament_id}: {bot} {why}; its other seats are forfeited"
            self._host.disqualify(bot, tournament_id, text)
        if disqualified:
            self._end_if_unrated()

    def _end_if_unrated(self) -> None:
        """Stop the tournament if disqualified bots would be at every table: no game would be rated."""
        status = self.status
        disqualified = status.standings.disqualified
        if self._ending is None and not status.complete and not status.config.can_be_rated(disqualified):
            status.remarks.append(
                f"no table can be filled without {_shortened(disqualified)}, and games of disqualified bots "
                "are not rated: the tournament ends here"
            )
            self._end(TournamentState.STOPPED)

    async def _give_up(self, fixture: Fixture) -> None:
        """Continue without a game; the tournament can no longer be complete."""
        self.status.remarks.append(
            f"{fixture.place} could not be played: it was voided {MAX_ATTEMPTS} times, and the server's log "
            "says why"
        )
        _log.error("game_given_up", **self._log_fields(fixture), attempts=MAX_ATTEMPTS)
        self.status.abandon(fixture)
        await self._store_problems()

    def _log_fields(self, fixture: Fixture) -> dict[str, int]:
        """Return a game for log lines, which must not reveal its deal."""
        return {
            "tournament": self.status.tournament_id,
            "round": fixture.round,
            "table": fixture.table,
            "rotation": fixture.rotation,
        }

    def _end(self, state: TournamentState) -> None:
        self._ending = state
        self._called.set()
        # Those that wait for room at a slow bot would take long to be finished.
        self._host.drop_waiting(self.status.tournament_id)

    async def _store_problems(self) -> None:
        status = self.status
        await self._store.write(self._store.store.set_problems, status.tournament_id, status.problems)

    async def _change_state(self, state: TournamentState) -> None:
        self.status.state = state
        await self._store_state(state)

    async def _store_state(self, state: TournamentState) -> None:
        await self._store.write(self._store.store.set_state, self.status.tournament_id, state)


def _missing_bots(missing: Sequence[str], waited: str, bots: Sequence[str], connected: Sequence[str]) -> str:
    """Return in one line which bots are missing, and which are there: one of them may be meant."""
    others = sorted(set(connected).difference(bots))
    there = [*others, *(bot for bot in bots if bot in connected)]
    text = f"{_shortened(missing)} did not connect {waited}; connected: {_shortened(there) or 'no bot'}"
    for bot in missing[:NAMES_SHOWN]:
        if near := near_name(bot, others):
            text += f"; {DID_YOU_MEAN} {near} by {bot}?"
    return text


def _shortened(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
