"""The ladder as it is played: who is there is paired, deal after deal, and rated."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import structlog

from happycity import Deal, Ending, RecordError, VoidReason
from happycity.errors import FieldError
from happycity.records.record import loads
from happycity_evaluation.evaluator import Evaluator
from happycity_ladder.book import Book
from happycity_ladder.entries import ActionKind, DealKind, LadderDeal, ModerationAction, Season
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.leaderboard import LeaderboardLine, leaderboard
from happycity_runtime.event_loop import spawn
from happycity_server.errors import ApiError, Reason
from happycity_server.ladder.challenges import Challenges, not_in_ladder
from happycity_server.ladder.presence import Presence
from happycity_server.ladder.queue import DealQueue
from happycity_server.ladder.ratings import LadderRatings
from happycity_server.ladder.served_book import ServedBook
from happycity_server.places.places import Places
from happycity_tournament.games import FinishedGame
from happycity_tournament.luck_adjusted import luck_of
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.play.runner import MAX_ATTEMPTS
from happycity_tournament.schedule import bot_seeds
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError

GATHER_SECONDS = 0.1
"""How long changes gather before bots are paired."""
RETRY_SECONDS = 5.0
"""How long the ladder rests after the store has failed."""
LUCK_SHARE = 0.1
"""The share of the time in which the luck of finished deals is computed at most, in a thread."""
MAX_WITHOUT_LUCK = 1000
"""Finished deals whose luck is still to be computed; without the oldest ones if there are more."""
NOTE_SECONDS = 60.0
"""How often it is stored which bots are connected."""

_DAY = 86400.0
_STOPPED = frozenset({VoidReason.SHUTDOWN, VoidReason.STOPPED})
"""Why games are voided that are played later."""

_log = structlog.get_logger()


class Ladder:
    """The ladder of a server. All methods are called on the event loop."""

    def __init__(
        self,
        config: LadderConfig,
        places: Places,
        store: AsyncStore,
        *,
        owner_of: Callable[[str], str | None],
    ) -> None:
        """Keep a ladder on a server's places and store; `owner_of` returns who owns a bot."""
        self.config = config
        self.book = book = ServedBook(config, store, places.unix_clock)
        self.house = frozenset(places.lobby.house)
        """The names of the bots of the house."""
        self.challenges = Challenges(book, house=self.house, on_change=self._note_challenges)
        self.presence = Presence(book, places, owner_of=owner_of)
        self.ratings = LadderRatings(book)
        self.season: Season
        """The present season, from `start` on."""
        self.deals: dict[int, asyncio.Task[None]] = {}
        """What plays the deals that are being played, by their ids."""
        self.deals_finished = 0
        """Deals that were finished since the start."""
        self._queue = DealQueue(book, self.challenges, self.ratings, rng=random.SystemRandom())
        self._places = places
        self._changed = asyncio.Event()
        self._challenges_changed = True
        self._turn = asyncio.Lock()  # held while deals begin, and while an organiser acts
        self._finished = asyncio.Event()
        self._without_luck = deque[int](maxlen=MAX_WITHOUT_LUCK)
        self._has_without_luck = asyncio.Event()
        self._noted_at = 0.0
        self._rests_until = 0.0  # by the loop's clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        places.events.changed.append(self._changed.set)
        places.events.match_over.append(self._changed.set)

    async def start(self) -> None:
        """Begin to play, also the deals that an earlier server has left; StoreError if the store fails."""
        if self.config.anchor not in self.house:
            text = (
                f"{self.config.anchor} is not in the house (--house): nothing fixes the scale of the ratings"
            )
            _log.warning("ladder_without_anchor", text=text)
        self.season = await self.book.write(self.book.open_season, self.book.clock(), self.config.json())
        await self.book.write(self.book.forget_names)
        await self._read_suspended()
        await self.ratings.load()
        await self._queue.read_interrupted()
        spawn(self._play(), self._tasks)
        spawn(self._rate(), self._tasks)
        spawn(self._compute_luck(), self._tasks)

    async def close_season(self, season_id: int) -> None:
        """End a season between two turns, unless it has ended already."""
        async with self._turn:
            await self._close_season(season_id)

    async def leaderboard(self, board: str, season_id: int, at: float | None = None) -> list[LeaderboardLine]:
        """Return the lines of a board, by default as they are now, with the scores of a season."""
        at = self.book.clock() if at is None else at
        ratings = await self.ratings.of(board, at)
        versions = await self.book.read(self.book.versions, ratings)
        scores = await self.book.read(self.book.scores, season_id, board)
        make = partial(leaderboard, present=self.presence.versions, at=at)
        return await asyncio.to_thread(make, versions.values(), ratings, scores, self.config)

    async def moderate(
        self,
        action: ModerationAction,
        deal_ids: Collection[int] = (),
        new_owner: str | None = None,
        *,
        rename_elsewhere: Callable[[], bool] = lambda: False,
    ) -> ModerationAction:
        """Carry out an action of an organiser, between two turns; return it as it is stored.

        `rename_elsewhere` renames a participant outside the ladder, and returns whether it has tokens.
        ApiError if the bot is not in the ladder, or one that is to be deleted is still there; a ConfigError
        names the field of the action that is wrong.
        """
        book, read, write = self.book, self.book.read, self.book.write
        async with self._turn:
            if action.kind is ActionKind.VOID:
                stored = await self.ratings.void(action, deal_ids)
            elif action.owner is not None:
                bots = await read(book.bots_of, action.owner)
                # Bots of both have come back while an action was interrupted, which is repeated now.
                if new_owner and set(await read(book.bots_of, new_owner)) - set(bots):
                    text = f"{new_owner!r} is another participant; choose another name"
                    raise FieldError("new_owner", text)
                has_tokens = await asyncio.to_thread(rename_elsewhere)
                if action.kind is ActionKind.DELETE:
                    self._check_away(bots)
                    self.ratings.forget_names(bots)
                stored = await write(partial(book.rename, has_tokens=has_tokens), action, new_owner)
            elif await read(book.versions_of, action.bot or ""):
                stored = await write(book.add_action, action)
            else:
                raise not_in_ladder("bot", action.bot or "")
            await self._read_suspended()
        _log.warning("ladder_act", act=stored.id, kind=action.kind.value, bot=stored.bot, owner=stored.owner)
        if action.bot is not None:
            self.presence.send_suspension(action.bot)
        self._changed.set()
        self._finished.set()
        return stored

    @property
    def _season_end(self) -> float | None:
        """When the present season ends by itself; None if it ends by a call."""
        days = self.config.season_days
        return self.season.started_at + days * _DAY if days else None

    async def _close_season(self, season_id: int) -> None:
        """End a season, unless it has ended already; the caller has the turn."""
        if season_id != self.season.id:
            return
        while self.season.id == season_id:  # until no deal is finished meanwhile
            last = await self.book.read(self.book.last_finished)
            await self.ratings.catch_up()
            at = self.book.clock()
            boards = {one.name: await self.leaderboard(one.name, season_id, at) for one in self.config.boards}
            close = partial(self.book.close_season, last=last)
            self.season = await self.book.write(close, season_id, boards, at, self.config.json())
        _log.info("ladder_season_closed", season=season_id)

    async def _read_suspended(self) -> None:
        self.presence.suspended = await self.book.read(self.book.suspended)

    def _check_away(self, bots: Sequence[str]) -> None:
        """Refuse to remove bots from the store whose names a match would bring back."""
        busy = {bot for match in self._places.newest_matches() for bot in match.bots}
        busy.update(self._places.connected(), self.presence.versions)
        for bot in busy.intersection(bots):
            text = f"the tokens are revoked, but {bot} is still connected or plays; repeat this soon"
            raise ApiError(Reason.MATCH_RUNNING, text, retry_seconds=1.0)

    def stop_starting(self) -> None:
        """Begin no more deals, because the server is about to stop."""
        self._closing.set()
        self._changed.set()
        self._finished.set()
        self._has_without_luck.set()
        self.ratings.begin_close()
        self._places.drop_ladder()

    async def wait_closed(self) -> None:
        """Wait until nothing is being played, and store what is known."""
        while self.deals:
            await asyncio.wait(self.deals.values())
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for last in (self.ratings.catch_up, self.presence.note_present, self.ratings.save):
            await self._try_turn(last())  # all of it follows from the games
        self.ratings.close()

    async def _play(self) -> None:
        """Begin deals whenever something has changed."""
        while not self._closing.is_set():
            self._changed.clear()
            started = self.book.clock()
            async with self._turn:
                has_begun = await self._try_turn(self._begin_deals())
            if not has_begun:
                self._challenges_changed = True  # what the store has noted of the turn is not known
                self._rest()
            await self._try_turn(self._next_time(started))
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
        presence, queue, now = self.presence, self._queue, self.book.clock()
        await presence.refresh()
        if now - self._noted_at >= NOTE_SECONDS:
            self._noted_at = now
            self._challenges_changed = True  # some may have expired that wait for an answer
            await presence.note_present()
        if self._challenges_changed or (queue.next_expiry or now) < now:
            self._challenges_changed = False
            await queue.read_challenges()
        if self._season_end is not None and now >= self._season_end:
            await self._close_season(self.season.id)
        for deal, bots, played in await queue.resume(presence.versions, self.deals):
            self._begin(deal, bots, played=played)
        limit = self.config.deals_at_once - len(self.deals)
        rooms = presence.rooms(limit=limit)
        new = await queue.new_deals(presence, rooms, limit=limit)
        if new and not self._closing.is_set():
            begun = await self.book.write(self.book.begin_deals, new, now)
            for deal, planned in zip(begun, new, strict=True):
                self._begin(deal, planned.bots)
        presence.is_full = len(self.deals) >= self.config.deals_at_once

    def _begin(self, deal: LadderDeal, bots: tuple[str, ...], *, played: Collection[int] = ()) -> None:
        """Play a deal between bots, in the order of its versions, but for rotations that were played."""
        if self._closing.is_set():
            return  # the next server plays it
        for bot in bots:
            self.presence.note_begin(bot)
        rotations = [rotation for rotation in range(len(bots)) if rotation not in played]
        self.deals[deal.id] = asyncio.create_task(self._play_deal(deal, bots, rotations))

    async def _next_time(self, since: float) -> None:
        """Wait until something changes, or there may be more to do than at a time although nothing does."""
        times = [
            since + NOTE_SECONDS,
            self._noted_at + NOTE_SECONDS,
            self._season_end,
            *self._queue.next_times,
            *map(self.presence.pause_end, self.presence.versions),
        ]
        seconds = min(time for time in times if time is not None and time > since) - self.book.clock()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def _try_turn(self, turn: Coroutine[Any, Any, None]) -> bool:
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

    async def _play_deal(self, deal: LadderDeal, bots: tuple[str, ...], rotations: Sequence[int]) -> None:
        """Play rotations of a deal, and free its bots whatever happens; a failure interrupts the deal."""
        forfeited: Collection[str] | None = None
        try:
            forfeited = await self._play_rotations(deal, bots, rotations)
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            _log.exception("ladder_deal_interrupted", deal=deal.id)
            self._rest()
        finally:
            del self.deals[deal.id]
            for bot in bots:
                self.presence.note_end(bot, forfeited=None if forfeited is None else bot in forfeited)
            self._challenges_changed = self._challenges_changed or deal.challenge_id is not None
            self._changed.set()

    async def _play_rotations(
        self, deal: LadderDeal, bots: tuple[str, ...], rotations: Sequence[int]
    ) -> set[str] | None:
        """Play rotations of a deal; return the bots that forfeited one, None if the deal isn't finished."""
        games = [self._play_game(deal, bots, rotation) for rotation in rotations]
        played = await asyncio.gather(*games, return_exceptions=True)
        finished = [game for game in played if isinstance(game, FinishedGame)]
        problem = next((end for end in played if isinstance(end, BaseException)), None)
        if problem is not None:
            trace = None if isinstance(problem, StoreError) else problem
            _log.error("ladder_deal_interrupted", deal=deal.id, problem=str(problem), exc_info=trace)
            self._rest()
        elif len(finished) == len(rotations):
            self.deals_finished += 1
            self._finished.set()
            if deal.kind is DealKind.RATED:
                self._without_luck.append(deal.id)
                self._has_without_luck.set()
            return {
                bot
                for game in finished
                for bot, seat in zip(game.bots, game.seats, strict=True)
                if seat.ending is not Ending.FINISHED
            }
        elif _STOPPED.issuperset(end for end in played if not isinstance(end, FinishedGame)):
            self._rest()
        else:
            drop = self._queue.drop(deal.id, reason="a game of it was voided again and again")
            if not await self._try_turn(drop):
                self._rest()
        return None

    async def _play_game(
        self, deal: LadderDeal, bots: tuple[str, ...], rotation: int
    ) -> FinishedGame | VoidReason:
        """Play a game, and again if it is voided, until it is stored; return it, or why it isn't."""
        board, order = self.config.board(deal.board), bots[rotation:] + bots[:rotation]
        spec = MatchSpec(
            deal=Deal.shuffle(board.game, seed=deal.deal_seed),
            bots=order,
            bot_seeds=bot_seeds(f"ladder {deal.deal_seed} {deal.id}", bots=order),
            time=self.config.time,
            policy=self.config.policy,
            ladder_deal_id=deal.id,
            position=(deal.id, 0, rotation),
            concurrency=self.config.deals_at_once * board.players,
        )
        for attempt in range(1, MAX_ATTEMPTS + 1):
            played = await self._places.play(spec)
            if isinstance(played, FinishedGame) or played in _STOPPED:
                break
            fields = {"deal": deal.id, "rotation": rotation, "attempt": attempt}
            _log.warning("ladder_game_voided", **fields, reason=played.value)
        return played

    def _rest(self) -> None:
        """Begin nothing for a while, then go on with the open deals of the store."""
        self._queue.note_interrupted()
        self._rests_until = asyncio.get_running_loop().time() + RETRY_SECONDS
        self._changed.set()

    async def _compute_luck(self) -> None:
        """Compute what bots won by luck, deal by deal, the latest first."""
        clock = asyncio.get_running_loop().time
        while not self._closing.is_set():
            if not self._without_luck:
                self._has_without_luck.clear()
                await self._has_without_luck.wait()
                continue
            deal_id, started = self._without_luck.pop(), clock()
            await self._try_turn(self._keep_luck(deal_id))
            await self._pause((clock() - started) * (1 / LUCK_SHARE - 1))

    async def _keep_luck(self, deal_id: int) -> None:
        places = await self.book.load(_luck_of_deal, self.book, deal_id)
        await self.book.write(self.book.keep_luck, deal_id, places)

    async def _rate(self) -> None:
        """Rate what is finished, some deals at once."""
        while not self._closing.is_set():
            self._finished.clear()
            if await self._try_turn(self.ratings.catch_up()):
                await self._finished.wait()
            else:
                await self._pause(RETRY_SECONDS)


def _luck_of_deal(book: Book, deal_id: int) -> tuple[float, ...]:
    """Return what the bots of a finished deal won by luck, which takes some 30 ms for each of its games.

    Raises:
        HappyCityError: a game of it has no sound record.
    """
    found, evaluator = [], Evaluator()
    for rotation, game in enumerate(book.games_of([deal_id])[deal_id]):
        if (record := book.store.record(game.match_id)) is None:
            raise RecordError(f"game {game.match_id}: it has no record to compute its luck from")
        found.append(np.roll(luck_of(loads(record), evaluator), rotation))
    places: tuple[float, ...] = tuple(np.mean(found, axis=0).tolist())
    return places
