"""The ladder as it is played: who is there is paired, deal after deal, and rated."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import structlog

from happycity import Ending, VoidReason
from happycity_server.ladder.challenges import Challenges
from happycity_server.ladder.presence import Presence
from happycity_server.ladder.queue import DealQueue
from happycity_server.ladder.ratings import Ratings
from happycity_server.ladder.seasons import Archiving, Seasons
from happycity_server.places.host import PlacesHost
from happycity_server.places.places import Places
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import Deal
from happycity_tournament.running.runner import MAX_ATTEMPTS
from happycity_tournament.running.terms import Terms
from happycity_tournament.schedule import bot_seeds
from happycity_tournament.storage import AsyncStore, StoreError
from happycity_tournament.storage.ladder import LadderStore

GATHER_SECONDS = 0.1
"""How long changes gather before bots are paired."""
RETRY_SECONDS = 5.0
"""How long the ladder rests after the store has failed."""
NOTE_SECONDS = 60.0
"""How often it is stored which bots are connected."""

_log = structlog.get_logger()


class Ladder:
    """The ladder of a server. All methods are called on the event loop."""

    def __init__(
        self,
        config: LadderConfig,
        places: Places,
        host: PlacesHost,
        store: AsyncStore,
        clock: Callable[[], float],
        *,
        owner_of: Callable[[str], str] = lambda bot: bot,
        rng: random.Random | None = None,
    ) -> None:
        """Keep a ladder on a server's places and store.

        `clock` returns Unix time in seconds, `owner_of` who owns a bot, and `rng` stands for chance.
        """
        self.config = config
        self.store = store
        self.clock = clock
        self.house = frozenset(places.house)
        """The names of the bots of the house."""
        self.challenges = Challenges(config, store, clock, house=self.house, on_change=self._note_challenges)
        self.presence = Presence(config, places, store, clock, owner_of=owner_of)
        self.ratings = Ratings(config, store, clock)
        self.seasons = Seasons(config, store, clock, self.ratings, self.presence)
        self.playing = PlayedDeals(config, host, self._note_end)
        """The deals that are being played."""
        self.deals_finished = 0
        """Deals that were finished since the start."""
        self._queue = DealQueue(
            config,
            store,
            clock,
            self.challenges,
            self.ratings,
            can_meet=places.can_meet,
            rng=rng or random.SystemRandom(),
        )
        self._host = host
        self._stored = LadderStore(store.store)
        self._archiving = Archiving(config, store)
        self._changed = asyncio.Event()
        self._challenges_changed = True
        self._finished = asyncio.Event()
        self._noted_at = 0.0
        self._rests_until = 0.0  # by the loop's clock
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        places.change_listeners.append(self._changed.set)
        places.match_over_listeners.append(self._changed.set)

    def is_open(self, deal_id: int) -> bool:
        """Return whether a deal that has begun is not over, so that its cards are secret."""
        return deal_id in self.playing or deal_id in self._queue

    async def start(self) -> None:
        """Begin to play, also the deals that an earlier server has left.

        Raises:
            StoreError: the store can't be read, or written to.
        """
        if self.config.anchor not in self.house:
            text = (
                f"{self.config.anchor} is not in the house (--house): nothing fixes the scale of the ratings"
            )
            _log.warning("ladder_without_anchor", text=text)
        await self.seasons.begin()
        await self.store.write(self._stored.forget_names)
        await self.ratings.load()
        await self._queue.read_interrupted()
        self._start(self._play())
        self._start(self._rate())
        self._start(self._archiving.run())

    def interrupt(self) -> None:
        """Begin no more deals, because the server is about to stop."""
        self._closing.set()
        self._changed.set()
        self._finished.set()
        self.ratings.close_soon()
        self._archiving.stop()
        self._host.drop_ladder()

    async def wait_closed(self) -> None:
        """Wait until nothing is being played, and store what is known."""
        await self.playing.wait_closed()
        await asyncio.gather(*self._tasks)
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self.ratings.catch_up()
            await self.presence.note_present()
            await self.ratings.save()
        except StoreError as error:  # all of it follows from the games
            _log.error("ladder_not_stored", problem=str(error))
        self.ratings.close()

    async def _play(self) -> None:
        """Begin deals whenever something has changed."""
        while not self._closing.is_set():
            self._changed.clear()
            if not await self._guarded(self._begin_deals()):
                self._challenges_changed = True  # what the store has noted of the turn is not known
                self._rest()
            await self._changed.wait()
            await self._pause(GATHER_SECONDS)
            while (rest := self._rests_until - asyncio.get_running_loop().time()) > 0:
                await self._pause(rest)

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds, or until the server is about to stop; then nothing rests."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
                self._rests_until = 0.0

    async def _begin_deals(self) -> None:
        """Begin all deals for which bots have room."""
        presence, queue, now = self.presence, self._queue, self.clock()
        await presence.refresh()
        if now - self._noted_at >= NOTE_SECONDS:
            self._noted_at = now
            self._challenges_changed = True  # some may have expired that wait for an answer
            await presence.note_present()
        if self._challenges_changed or (queue.next_expiry or now) < now:
            self._challenges_changed = False
            await queue.read_challenges()
        season = await self.seasons.turn()
        for deal, bots, played in await queue.resume(presence.versions, self.playing):
            self._begin(deal, bots, played=played)
        limit = self.config.deals_at_once - len(self.playing)
        rooms = presence.rooms(self.playing.by_bot, limit=limit)
        new = await queue.new_deals(presence, rooms, limit=limit)
        if new and not self._closing.is_set():
            begun = await self.store.write(self._stored.begin_deals, season.id, new, now)
            for deal, planned in zip(begun, new, strict=True):
                self._begin(deal, planned.bots)
        self._wake_at_next_time(now)

    def _begin(self, deal: Deal, bots: tuple[str, ...], *, played: frozenset[int] = frozenset()) -> None:
        if self._closing.is_set():
            return  # the next server plays it
        for bot in bots:
            self.presence.note_begin(bot)
        self.playing.begin(deal, bots, played=played)

    def _wake_at_next_time(self, now: float) -> None:
        """Look again at the first time at which there may be more to do although nothing changes."""
        times = [
            self._noted_at + NOTE_SECONDS,
            self.seasons.planned_end,
            *self._queue.next_times,
            *map(self.presence.pause_end, self.presence.versions),
        ]
        first = min(time for time in times if time is not None and time > now)
        if self._timer is not None:
            self._timer.cancel()
        seconds = max(GATHER_SECONDS, first - self.clock())
        self._timer = asyncio.get_running_loop().call_later(seconds, self._changed.set)

    async def _guarded(self, turn: Coroutine[Any, Any, None]) -> bool:
        """Do one turn; return whether it succeeded, as no failure ends the ladder."""
        try:
            await turn
        except StoreError as error:
            _log.error("ladder_store_failed", problem=str(error), again_in=RETRY_SECONDS)
            return False
        except Exception:  # noqa: BLE001 - the boundary of a task that goes on for months
            _log.exception("ladder_failed", again_in=RETRY_SECONDS)
            return False
        return True

    def _note_challenges(self) -> None:
        """Note that there are other challenges."""
        self._challenges_changed = True
        self._changed.set()

    def _note_end(self, played: PlayedDeal) -> None:
        """Note that a deal is played no longer."""
        self._changed.set()
        if played.end is DealEnd.INTERRUPTED:
            self._rest(played.deal.id)
            return
        if played.deal.challenge_id is not None:
            self._challenges_changed = True
        if played.end is DealEnd.FAILED:
            self._start(self._drop(played.deal.id))
            return
        self.deals_finished += 1
        self._finished.set()
        for bot in played.bots:
            self.presence.note_end(bot, forfeited=bot in played.forfeited)

    async def _drop(self, deal_id: int) -> None:
        try:
            await self._queue.drop(deal_id, reason="a game of it was voided again and again")
        except StoreError as error:
            _log.error("ladder_deal_not_dropped", deal=deal_id, problem=str(error))
            self._rest(deal_id)

    def _rest(self, *interrupted: int) -> None:
        """Begin nothing for a while, then go on with the open deals of the store, these among them."""
        self._queue.note_interrupted(*interrupted)
        self._rests_until = asyncio.get_running_loop().time() + RETRY_SECONDS
        self._changed.set()

    async def _rate(self) -> None:
        """Rate what is finished, some deals at once."""
        while not self._closing.is_set():
            self._finished.clear()
            if await self._guarded(self.ratings.catch_up()):
                await self._finished.wait()
            else:
                await self._pause(RETRY_SECONDS)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class DealEnd(Enum):
    """How the playing of a deal has ended."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    """The server stops, or the store has failed: it may be played on."""
    FAILED = "failed"
    """A game of it was voided again and again, by the arena's fault."""


@dataclass(slots=True, eq=False)
class PlayedDeal:
    """A deal that is being played, and what has become of it."""

    deal: Deal
    bots: tuple[str, ...]
    """The bots of its versions, in their order."""
    missing: tuple[int, ...]
    """The rotations that are to be played, one at least."""
    end: DealEnd = DealEnd.INTERRUPTED
    forfeited: set[str] = field(default_factory=set)
    """The bots that have forfeited a game of it, also by a goodbye: it spoils the games of others, too."""

    def fixture(self, rotation: int) -> Fixture:
        """Return the game of a rotation."""
        order = self.bots[rotation:] + self.bots[:rotation]
        deal = self.deal
        seeds = bot_seeds(f"ladder {deal.deal_seed} {deal.id}", bots=order)
        return Fixture(deal.id, 0, rotation, deal.deal_seed, order, seeds)


class PlayedDeals:
    """The deals that are being played."""

    def __init__(self, config: LadderConfig, host: PlacesHost, on_end: Callable[[PlayedDeal], None]) -> None:
        """Play on a host; `on_end` is called with each deal that is played no longer."""
        self._config = config
        self._host = host
        self._on_end = on_end
        self._tasks: dict[int, asyncio.Task[None]] = {}  # by deal
        self.by_bot: Counter[str] = Counter()
        """How many deals each bot plays."""

    def __len__(self) -> int:
        """Return how many deals are being played."""
        return len(self._tasks)

    def __contains__(self, deal_id: object) -> bool:
        """Return whether a deal is being played."""
        return deal_id in self._tasks

    def __iter__(self) -> Iterator[int]:
        """Yield the ids of the deals that are being played."""
        return iter(self._tasks)

    def begin(self, deal: Deal, bots: Sequence[str], *, played: Collection[int] = ()) -> None:
        """Play a deal between bots, in the order of its versions, except for rotations that were played."""
        missing = tuple(rotation for rotation in range(len(bots)) if rotation not in played)
        playing = PlayedDeal(deal, tuple(bots), missing)
        task = asyncio.create_task(self._play(playing))
        self._tasks[deal.id] = task
        self.by_bot.update(playing.bots)
        task.add_done_callback(lambda _: self._note_end(playing))

    async def wait_closed(self) -> None:
        """Wait until no deal is being played."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    def _note_end(self, playing: PlayedDeal) -> None:
        del self._tasks[playing.deal.id]
        self.by_bot.subtract(playing.bots)
        for bot in playing.bots:
            if not self.by_bot[bot]:
                del self.by_bot[bot]
        self._on_end(playing)

    async def _play(self, playing: PlayedDeal) -> None:
        board = self._config.board(playing.deal.board)
        terms = Terms(
            tournament_id=0,
            game=board.game,
            time=self._config.time,
            policy=self._config.policy,
            concurrency=self._config.deals_at_once * board.players,
        )
        games = [self._play_game(playing, rotation, terms) for rotation in playing.missing]
        ends = await asyncio.gather(*games, return_exceptions=True)
        problem = next((end for end in ends if isinstance(end, BaseException)), None)
        if problem is not None:  # this task isn't awaited, so its failure ends here
            trace = None if isinstance(problem, StoreError) else problem
            _log.error("ladder_deal_interrupted", deal=playing.deal.id, problem=str(problem), exc_info=trace)
            return
        worst_first = (DealEnd.FAILED, DealEnd.INTERRUPTED, DealEnd.FINISHED)
        playing.end = next(end for end in worst_first if end in ends)

    async def _play_game(self, playing: PlayedDeal, rotation: int, terms: Terms) -> DealEnd:
        """Play a game, and again if it is voided, until it is stored."""
        fixture = playing.fixture(rotation)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            played = await self._host.play(fixture, terms)
            if isinstance(played, FinishedGame):
                playing.forfeited.update(
                    bot
                    for bot, seat in zip(played.bots, played.seats, strict=True)
                    if seat.ending is not Ending.FINISHED
                )
                return DealEnd.FINISHED
            if played in (VoidReason.SHUTDOWN, VoidReason.STOPPED):
                return DealEnd.INTERRUPTED
            fields = {"deal": playing.deal.id, "rotation": rotation, "attempt": attempt}
            _log.warning("ladder_game_voided", **fields, reason=played.value)
        return DealEnd.FAILED
