"""All places where matches are played, seen as one: has games played and stored, and finds them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from heapq import merge

import structlog

from happycity import VoidReason
from happycity.tournament.v1beta1.tournament_service_pb2 import BotActivity
from happycity_runtime.event_loop import spawn
from happycity_server.errors import ApiError
from happycity_server.places.protocol import Place, WorkerLostError, WorkerService
from happycity_server.play.counters import Counters
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match, MatchState, OpenMatch
from happycity_tournament.config import DECISIONS_OF_A_SEAT
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.packing import Record

MAX_LOST_WORKERS = 3
"""How often a game is begun again elsewhere because the worker that played it was lost."""

_log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _Deal:
    """The games of one deal, which are all played at one place."""

    key: tuple[int, int, int]
    """Tournament, or 0 for the ladder, round and table."""
    bots: frozenset[str]
    limit: int
    """Games of the tournament that a place plays at once."""
    fit: Collection[Place] = ()
    """The places that may play them."""
    place: Place | None = None
    waiting: list[asyncio.Future[Place | None]] = field(default_factory=list)
    """Of games that wait for a place; they get None if they are dropped."""


@dataclass(eq=False, repr=False)
class Dispatcher:
    """Divides games among places: whole deals, each to the least busy place that has all its bots.

    A deal waits while all such places are full. If no place has all its bots, the server itself plays it,
    where bots that are away are waited for as long as their grace time.
    """

    places: Callable[[], Sequence[Place]]
    """Returns those that there are now, first the server itself; others come and go."""
    _games: Counter[tuple[Place, int]] = field(default_factory=Counter, init=False)
    """Games by place and tournament; of places that play none, nothing is kept."""
    _last: dict[int, _Deal] = field(default_factory=dict, init=False)
    """By tournament that is played."""
    _waiting: list[_Deal] = field(default_factory=list, init=False)
    """The deals that wait, oldest first."""

    @asynccontextmanager
    async def placed(self, spec: MatchSpec) -> AsyncIterator[Place | None]:
        """Yield where a game of a deal is played, once there is room; None if it was dropped meanwhile.

        The game counts there while the context lasts.
        """
        deal = self._deal_of(spec)
        place = deal.place
        if place is not None:
            self._count(place, spec.tournament_id, 1)
        else:
            granted: asyncio.Future[Place | None] = asyncio.get_running_loop().create_future()
            deal.waiting.append(granted)
            try:
                place = await granted
            except asyncio.CancelledError:
                if granted.done() and not granted.cancelled():  # it was granted just before
                    self._release(granted.result(), spec.tournament_id)
                raise
        try:
            yield place
        finally:
            self._release(place, spec.tournament_id)

    def drop(self, tournament_id: int) -> None:
        """Let the games of a tournament that wait for a place go without one, and forget the tournament."""
        for deal in self._waiting:
            if deal.key[0] == tournament_id:
                self._grant(deal, None)
        self.reconsider()
        self._last.pop(tournament_id, None)

    def reconsider(self) -> None:
        """Look for places again, as bots or workers have come or gone."""
        waiting, self._waiting = self._waiting, []
        for deal in waiting:
            if any(not granted.done() for granted in deal.waiting):
                self._place_or_queue(deal)

    def _release(self, place: Place | None, tournament_id: int) -> None:
        """Note that a game is over, and begin another deal there."""
        if place is None:
            return
        self._count(place, tournament_id, -1)
        self._fill(place)

    def _count(self, place: Place, tournament_id: int, change: int) -> None:
        self._games[place, tournament_id] += change
        if not self._games[place, tournament_id]:
            del self._games[place, tournament_id]

    def _deal_of(self, spec: MatchSpec) -> _Deal:
        """Return the deal of a game: the last one, if it is another order of the same seats."""
        assert spec.position is not None
        key = (spec.tournament_id, *spec.position[:2])
        deal = self._last.get(spec.tournament_id)
        if deal is not None and deal.key == key and (deal.place is None or deal.place in self.places()):
            return deal
        bots = frozenset(spec.bots) - spec.disqualified
        deal = self._last[spec.tournament_id] = _Deal(key, bots, spec.concurrency)
        self._place_or_queue(deal)
        return deal

    def _place_or_queue(self, deal: _Deal) -> None:
        places = self.places()
        deal.fit = [place for place in places if all(map(place.is_connected, deal.bots))] or places[:1]
        with_room = [place for place in deal.fit if self._has_room(place, deal)]
        if with_room:
            self._grant(deal, min(with_room, key=self._games_at))
        else:
            self._waiting.append(deal)

    def _games_at(self, place: Place) -> int:
        return sum(games for (at, _), games in self._games.items() if at is place)

    def _has_room(self, place: Place, deal: _Deal) -> bool:
        return self._games[place, deal.key[0]] < deal.limit

    def _fill(self, place: Place) -> None:
        """Begin the oldest deals that wait for a place, as far as it has room."""
        while True:
            begun = (deal for deal in self._waiting if place in deal.fit and self._has_room(place, deal))
            if (deal := next(begun, None)) is None:
                return
            self._waiting.remove(deal)
            self._grant(deal, place)

    def _grant(self, deal: _Deal, place: Place | None) -> None:
        """Let the games of a deal begin, or drop them."""
        deal.place = place
        for granted in deal.waiting:
            if not granted.done():
                if place is not None:
                    self._count(place, deal.key[0], 1)
                granted.set_result(place)
        deal.waiting.clear()


class Places:
    """This server's own lobby, to which bots connect, and its workers; a `MatchHost` on its store."""

    def __init__(
        self, lobby: Lobby, store: AsyncStore, unix_clock: Callable[[], float], workers: WorkerService
    ) -> None:
        self.lobby = lobby
        self.unix_clock = unix_clock
        self.workers = workers
        self.connected = lobby.connected
        self.wait_for_any = lobby.wait_for_any
        self.events = lobby.events
        self.change_listeners: list[Callable[[], None]] = lobby.events.changed
        self._store = store
        self._dispatcher = Dispatcher(lambda: self._all)
        self._playing: set[asyncio.Task[None]] = set()
        self.events.changed.append(self._dispatcher.reconsider)

    @property
    def _all(self) -> list[Place]:
        return [self.lobby, *self.workers.joined]

    @property
    def places(self) -> int:
        """How many places play games side by side now."""
        return len(self._all)

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected, at most `seconds`; return those missing."""
        missing = await self.lobby.wait_for(bots, seconds)
        if not missing:
            await self.workers.wait_for_expected()
        return missing

    # Matches

    def begin(self, spec: MatchSpec, match_id: int | None = None) -> Match:
        """Set up a single match, have it played here once its bots are connected, and stored at its end.

        It gets the next id, unless it has one from before a restart. ApiError if the server is shutting down.
        """
        match = self.lobby.create(spec, match_id)
        spawn(self._play_single(match), self._playing)
        return match

    async def _play_single(self, match: Match) -> None:
        awaited = [bot for seat, bot in enumerate(match.bots) if not match.is_forfeited(seat)]
        try:
            await self.lobby.wait_for(awaited, match.spec.time.connect_seconds)
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failures end here
            _log.exception("match_failed", match=match.match_id)
            match.void(VoidReason.SERVER_ERROR)
        try:
            await self._play(self.lobby, match)
        except Exception:  # noqa: BLE001 - likewise
            _log.exception("game_not_stored", match=match.match_id)

    async def play(self, spec: MatchSpec) -> FinishedGame | VoidReason:
        """Play a game to its end and store it, or return why it was voided.

        A game whose worker is lost begins again. One that the store refuses while it takes others is the
        arena's fault, like any other failure. StoreError if it takes no games at all.
        """
        for _ in range(MAX_LOST_WORKERS):
            match_id = self.lobby.next_match_id()  # here, as ids follow the schedule
            async with self._dispatcher.placed(spec) as place:
                if place is None:
                    return VoidReason.STOPPED
                try:
                    match = place.create(spec, match_id)
                except ApiError:  # the server is about to stop, and so is the tournament
                    return VoidReason.SHUTDOWN
                with suppress(WorkerLostError):
                    return await self._play(place, match)
        return VoidReason.SERVER_ERROR

    async def _play(self, place: Place, match: OpenMatch) -> FinishedGame | VoidReason:
        """Have a match played at a place, and store it; return the game, or why it doesn't count."""
        try:
            async with place.played(match):  # type: ignore[arg-type]  # each place plays its own
                if match.void_reason is not None:
                    return match.void_reason
                game = finished_game(match)
                record: Record = match.record if isinstance(match, Match) else match.packed_record
                if match.spec.with_luck:
                    game, record = await self._store.load(_recording_luck, game, record)
                try:
                    await self._store.save(game, record)
                except StoreError as error:
                    if error.for_all:
                        raise
                    _log.exception("game_not_stored", match=match.match_id)
                    return VoidReason.SERVER_ERROR
                return game
        finally:
            self.events.match_over()

    def match(self, match_id: int) -> OpenMatch | None:
        """Return a match that waits, runs or is being stored; None if there is none with this id."""
        return next((place.matches[match_id] for place in self._all if match_id in place.matches), None)

    def newest_matches(self) -> Iterator[OpenMatch]:
        """Yield all matches that wait, run or are being stored, newest first."""
        # At each place they are in the order of their ids.
        tables: list[Iterator[OpenMatch]] = [reversed(place.matches.values()) for place in self._all]
        return merge(*tables, key=lambda match: -match.match_id)

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the open matches of a tournament, and notify the bot."""
        for place in self._all:
            place.disqualify(bot, tournament_id, text)

    def drop_waiting(self, tournament_id: int) -> None:
        """Void the games of a tournament that have not begun, and forget the tournament."""
        self._dispatcher.drop(tournament_id)
        for place in self._all:
            place.drop_waiting(tournament_id)

    def running(self, tournament_id: int) -> list[OpenMatch]:
        """Return the matches of a tournament that are being played."""
        opened = (match for place in self._all for match in _opened(place, tournament_id))
        return [match for match in opened if match.state is MatchState.RUNNING]

    def void_slow_matches(self, tournament_id: int, seconds: float) -> None:
        """Void the games of a tournament that would take longer than `seconds` at their place."""
        for place in self._all:
            for match in long_matches(_opened(place, tournament_id), seconds, now=self.unix_clock()):
                place.drop_match(match)  # type: ignore[arg-type]  # each place has its own matches

    def drop_ladder(self) -> None:
        """Void the games of the ladder that wait for a place; the server is about to stop."""
        self._dispatcher.drop(0)

    async def close(self, grace: float) -> None:
        """Start nothing more, wait `grace` seconds for running matches, and void the rest.

        Returns when finished matches are stored.
        """
        closing = [asyncio.create_task(worker.close(grace)) for worker in self.workers.joined]
        await self.lobby.close(grace)
        await asyncio.gather(*closing)

    def void_all(self) -> None:
        """Break off every match, because the server shuts down."""
        for place in self._all:
            place.void_all()

    # Bots

    def profiles(self) -> dict[str, BotProfile]:
        """Return what the connected bots say of themselves."""
        return {name: session.profile for name, session in self.lobby.sessions.items()}

    def activity(self, bots: Iterable[str]) -> Iterator[BotActivity]:
        """Yield what each bot does at all places; the messages stay equal while nothing changes."""
        now = self.lobby.clock()
        for name in bots:
            session = self.lobby.sessions.get(name)
            states = [worker.bots[name] for worker in self.workers.joined if name in worker.bots]
            if session is not None and not session.gone:
                states.append(session.activity(now, self.unix_clock))
            yield _merged_activity(name, states)

    @property
    def counters(self) -> Counters:
        """What is counted anywhere."""
        counted = self.lobby.counted() + self.workers.past_counters
        for worker in self.workers.joined:
            counted += worker.counters
        return counted


def _merged_activity(bot: str, states: Iterable[BotActivity]) -> BotActivity:
    """Return what a bot does that plays at several places, or at none."""
    merged = BotActivity(bot=bot)
    for state in states:
        merged.connected |= state.connected
        merged.has_answered |= state.has_answered
        merged.strikes += state.strikes
        merged.games_waiting += state.games_waiting
        if state.HasField("waiting_since") and (
            not merged.HasField("waiting_since")
            or state.waiting_since.ToNanoseconds() < merged.waiting_since.ToNanoseconds()
        ):
            merged.waiting_since.CopyFrom(state.waiting_since)
    return merged


def _opened(place: Place, tournament_id: int) -> list[OpenMatch]:
    """Return the matches of a tournament at a place that are not over."""
    opened = (match for match in place.matches.values() if match.spec.tournament_id == tournament_id)
    return [match for match in opened if not match.over.done()]


def long_matches(matches: Sequence[OpenMatch], seconds: float, *, now: float) -> Iterator[OpenMatch]:
    """Yield the matches of a place that it can't finish within `seconds`, if it finishes the others first.

    Those that are nearest to their end are finished. How fast the place plays follows from what it has played
    of these matches by `now`, in Unix time.
    """
    begun = min((match.started_at or now for match in matches), default=now)
    speed = sum(match.decisions for match in matches) / max(now - begun, 0.001)
    decisions = seconds * speed
    for match in sorted(matches, key=lambda match: -match.decisions):
        decisions -= max(DECISIONS_OF_A_SEAT * len(match.bots) - match.decisions, 1)
        if decisions < 0:
            yield match


def finished_game(match: OpenMatch) -> FinishedGame:
    """Return a finished match as a game to be stored."""
    spec = match.spec
    return FinishedGame(
        match_id=match.match_id,
        tournament_id=spec.tournament_id or None,
        position=spec.position if spec.tournament_id else None,
        ladder=(spec.ladder_deal_id, spec.position[2]) if spec.ladder_deal_id and spec.position else None,
        deal_seed=spec.deal.seed,
        config=spec.deal.config,
        bots=spec.bots,
        bot_seeds=spec.bot_seeds,
        seats=match.results,
        decisions=match.decisions_asked,
        created_at=match.created_at,
        started_at=match.started_at,
        finished_at=match.finished_at,
    )


def _recording_luck(game: FinishedGame, record: Record) -> tuple[FinishedGame, Record]:
    """Return a game of a sequential test and its record with the luck of its draws; it takes some 30 ms."""
    from happycity_tournament.luck_adjusted import recording_luck  # noqa: PLC0415 - it imports numpy

    return recording_luck(game, record)
