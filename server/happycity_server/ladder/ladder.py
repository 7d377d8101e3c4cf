"""The ladder as it is played: who is there is paired, deal after deal, and rated."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

import structlog

from happycity.v1 import play_service_pb2 as play
from happycity_server.ladder.archiving import Archiving
from happycity_server.ladder.challenge_deals import ChallengeDeals
from happycity_server.ladder.challenges import Challenges
from happycity_server.ladder.deals import DealEnd, Deals, PlayedDeal
from happycity_server.ladder.pauses import RECONNECTED_SHARE
from happycity_server.ladder.presence import Presence
from happycity_server.ladder.ratings import Ratings
from happycity_server.ladder.returning import ReturningDeals
from happycity_server.ladder.seasons import Seasons
from happycity_server.places.places import Places
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import Deal, DealKind, NewDeal, Rating, Season
from happycity_tournament.ladder.pairing import Entrant, Lineup, Pairing
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
        self.house = frozenset(places.lobby.house)
        """The names of the bots of the house."""
        self.challenges = Challenges(config, store, house=lambda: self.house, clock=clock)
        self.deals_finished = 0
        """Deals that were finished since the start."""
        self._places = places
        self._store = store
        self._clock = clock
        self._rng = rng or random.SystemRandom()
        self._ladder = LadderStore(store.store)
        self._presence = Presence(config, places, store, clock, owner_of=owner_of)
        self._ratings = Ratings(config, store, clock)
        self._challenge_deals = ChallengeDeals(config, self.challenges, store, clock)
        self._deals = Deals(config, places, self._note_end)
        self._returning = ReturningDeals(config, store, clock)
        self._seasons = Seasons(config, store, self._ratings, clock)
        self._archiving = Archiving(config, store)
        self._pairing = Pairing(config)
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

    @property
    def present(self) -> dict[str, int]:
        """The versions of the connected bots, by the bots' names; those of the house too."""
        return {bot: version.id for bot, version in self._presence.versions.items()}

    @property
    def deals_running(self) -> int:
        """How many deals are being played."""
        return len(self._deals)

    def is_open(self, deal_id: int) -> bool:
        """Return whether a deal is not over, so that its cards are secret."""
        return deal_id in self._deals or deal_id in self._returning

    @property
    def ratings_behind(self) -> bool:
        """Whether the ratings still lack deals that were finished before the start."""
        return self._ratings.behind

    @property
    def waiting(self) -> int:
        """How many bots with room play no deal, those of the house not counted."""
        return len(self._presence.waits())

    def longest_wait(self) -> float:
        """Return for how long a bot with room has waited for a game at most, in seconds.

        Nobody waits as long as there are too few bots for a table.
        """
        sides = {
            (version.house, bot if version.house else version.owner)
            for bot, version in self._presence.versions.items()
        }
        if len(sides) < min(board.players for board in self.config.boards):
            return 0.0
        return max(self._presence.waits().values(), default=0.0)

    async def ratings(self, board: str) -> dict[int, Rating]:
        """Return what is known of all versions on a board now."""
        return await self._ratings.of(board)

    async def close_season(self, season_id: int) -> Season:
        """End a season and begin the next one; return the present one.

        A season that has ended already stays as it is.

        Raises:
            StoreError: it can't be stored.
        """
        return await self._seasons.close(season_id, self.present)

    def challenges_changed(self) -> None:
        """Note that there are other challenges."""
        self._challenges_changed = True
        self._changed.set()

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
        await self._seasons.begin()
        await self._store.write(self._ladder.forget_names)
        await self._ratings.load()
        await self._returning.load()
        self._start(self._play())
        self._start(self._rate())
        self._archiving.start()

    def interrupt(self) -> None:
        """Begin no more deals, because the server is about to stop."""
        self._closing.set()
        self._changed.set()
        self._finished.set()
        self._ratings.close_soon()
        self._archiving.stop()
        self._places.drop_ladder()

    async def wait_closed(self) -> None:
        """Wait until nothing is being played, and keep what is known."""
        await self._deals.wait_closed()
        await asyncio.gather(*self._tasks)
        if self._timer is not None:
            self._timer.cancel()
        await self._archiving.wait_closed()
        try:
            await self._ratings.catch_up()
            await self._presence.note_present()
            await self._ratings.keep()
        except StoreError as error:  # all of it follows from the games
            _log.error("ladder_not_kept", problem=str(error))
        self._ratings.close()

    # Pairing

    async def _play(self) -> None:
        """Begin deals whenever something has changed."""
        while not self._closing.is_set():
            self._changed.clear()
            if not await self._guarded(self._begin_deals()):
                self._challenges_changed = True  # what the store has noted of the turn is not known
                self._play_again()
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
        presence, now = self._presence, self._clock()
        await presence.refresh()
        if now - self._noted_at >= NOTE_SECONDS:
            self._noted_at = now
            self._challenges_changed = True  # some may have expired that wait for an answer
            await presence.note_present()
        if self._challenges_changed or (self._challenge_deals.next_expiry or now) < now:
            self._challenges_changed = False
            await self._challenge_deals.refresh()
        season = await self._seasons.turn(self.present)
        for deal, bots, played in await self._returning.take(presence.versions, self._deals):
            self._begin(deal, bots, played=played)
        rooms = presence.rooms(self._deals.by_bot)
        limit = self.config.deals_at_once - len(self._deals)
        self._prefer_idle(rooms, limit)
        new = await self._challenge_deals.take_unrated(presence.versions, rooms, self._rng, limit=limit)
        entrants = [
            Entrant(
                version=version.id,
                bot=bot,
                owner=version.owner,
                house=version.house,
                room=rooms[bot],
                waiting_since=presence.free_since(bot),
                wanted=self._challenge_deals.wanted(bot),
            )
            for bot, version in presence.versions.items()
        ]
        lineups = await self._ratings.using(
            lambda beliefs: self._pairing.lineups(
                entrants, beliefs, now=now, rng=self._rng, limit=limit - len(new)
            )
        )
        new += self._new_deals(lineups, {entrant.version: entrant.bot for entrant in entrants})
        if new and not self._closing.is_set():
            begun = await self._store.write(self._ladder.begin_deals, season.id, new, now)
            for begun_deal, planned in zip(begun, new, strict=True):
                self._begin(begun_deal, planned.bots)
        self._wake_at(self._next_turn(entrants, now))

    def _prefer_idle(self, rooms: Counter[str], limit: int) -> None:
        """Where few more deals may begin, leave them to the guests that play none."""
        guests = [bot for bot, version in self._presence.versions.items() if not version.house and rooms[bot]]
        idle = [bot for bot in guests if not self._deals.by_bot[bot]]
        if len(idle) >= limit * max(board.players for board in self.config.boards):
            for bot in set(guests).difference(idle):
                rooms[bot] = 0

    def _new_deals(self, lineups: list[Lineup], bots: Mapping[int, str]) -> list[NewDeal]:
        return [
            NewDeal(
                board=lineup.board,
                kind=DealKind.RATED,
                versions=lineup.versions,
                bots=tuple(bots[version] for version in lineup.versions),
                challenge_id=None
                if lineup.wanted_by is None
                else self._challenge_deals.take_rated(bots[lineup.wanted_by], lineup.board),
            )
            for lineup in lineups
        ]

    def _begin(self, deal: Deal, bots: tuple[str, ...], *, played: frozenset[int] = frozenset()) -> None:
        if self._closing.is_set():
            return  # the next server plays it
        for bot in bots:
            self._presence.begin_deal(bot)
        self._deals.begin(deal, bots, played=played)

    def _next_turn(self, entrants: list[Entrant], now: float) -> float:
        """Return when to look again if nothing changes, Unix time."""
        times = [
            self._noted_at + NOTE_SECONDS,
            self._pairing.next_call(entrants, now=now),
            self._returning.deadline,
            self._seasons.planned_end,
            self._challenge_deals.next_expiry,
            *(self._presence.pauses.until(bot) for bot in self._presence.versions),
        ]
        return min(time for time in times if time is not None and time > now)

    def _wake_at(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        seconds = max(GATHER_SECONDS, moment - self._clock())
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

    # What becomes of deals

    def _note_end(self, playing: PlayedDeal) -> None:
        """Note that a deal is played no longer."""
        deal, now = playing.deal, self._clock()
        self._changed.set()
        if playing.end is DealEnd.INTERRUPTED:
            self._play_again()
            return
        if deal.challenge_id is not None:
            self._challenges_changed = True
        if playing.end is DealEnd.FAILED:
            _log.error("ladder_deal_dropped", deal=deal.id, bots=playing.bots, reason="voided")
            self._start(self._drop(deal.id, now))
            return
        self.deals_finished += 1
        self._finished.set()
        for bot in playing.bots:
            if bot not in self.house:
                pause = self._presence.pauses.note_deal(bot, now, forfeited=bot in playing.forfeited)
                if pause:
                    self._notify_pause(bot, pause)

    def _notify_pause(self, bot: str, seconds: float) -> None:
        """Let everybody know why a bot gets no games."""
        _log.warning("ladder_bot_pauses", bot=bot, seconds=seconds)
        text = (
            f"{bot} has forfeited games in several deals of the ladder in a row; it gets no more for "
            f"{seconds:g} s, or {seconds * RECONNECTED_SHARE:g} s if it connects again"
        )
        self._places.lobby.send_notice(bot, play.NOTICE_KIND_PAUSED, text)

    def _play_again(self) -> None:
        """Let the open deals of the store that nobody plays go on after a rest, in which nothing begins."""
        self._returning.stale = True
        self._rests_until = asyncio.get_running_loop().time() + RETRY_SECONDS
        self._changed.set()

    async def _drop(self, deal_id: int, now: float) -> None:
        try:
            await self._store.write(self._ladder.drop_deal, deal_id, now)
        except StoreError as error:
            _log.error("ladder_deal_not_dropped", deal=deal_id, problem=str(error))
            self._play_again()

    async def _rate(self) -> None:
        """Rate what is finished, some deals at once."""
        while not self._closing.is_set():
            self._finished.clear()
            if await self._guarded(self._ratings.catch_up()):
                await self._finished.wait()
            else:
                await self._pause(RETRY_SECONDS)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
