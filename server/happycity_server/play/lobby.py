"""Where bots and matches meet: which bots are connected, and what is being played."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from weakref import WeakValueDictionary

import structlog

from happycity import VoidReason
from happycity.v1 import play_service_pb2 as play
from happycity_runtime.event_loop import first_of
from happycity_server.errors import ApiError, Reason
from happycity_server.play.clock import OVERLOAD_SECONDS, TOLERANCE_SECONDS, FairClock
from happycity_server.play.counters import Counters
from happycity_server.play.events import Events
from happycity_server.play.limits import SessionLimits
from happycity_server.play.match import Match, MatchState
from happycity_server.play.outbox import Outbox
from happycity_server.play.session import Session
from happycity_tournament.play.match_spec import MatchSpec

SWEEP_SECONDS = 0.05
"""How late a passed deadline may be noticed. One sweep over the running matches costs less than a timer
for each decision would."""
CONNECTION_SECONDS = 0.25
"""How often each connection is looked at: pings and stalls take seconds, and bots may be thousands."""
LATE_NOTICE_SECONDS = 10.0
"""Bots hear of the server's delays at most this often: thousands of notices would make it later still."""

_log = structlog.get_logger()


class Lobby:
    """Keeps the connected bots and the running matches. All methods are called on the event loop."""

    def __init__(
        self,
        clock: FairClock,
        unix_clock: Callable[[], float],
        *,
        events: Events | None = None,
        limits: SessionLimits | None = None,
        first_match_id: int = 1,
        house: Collection[str] = (),
    ) -> None:
        self.clock = clock
        """Ticks with every sweep."""
        self.unix_clock = unix_clock
        self.limits = limits if limits is not None else SessionLimits()
        self.house = frozenset(house)
        """The names of the server's own bots, which no other bot can take."""
        self.events = events if events is not None else Events()
        """Those of the whole server."""
        self.counters = Counters()
        self.matches: dict[int, Match] = {}
        """Matches that wait or run, by id."""
        self.sessions: dict[str, Session] = {}
        self._connections_due = float("-inf")
        """When connections are looked at again."""
        self._late_notices_due = float("-inf")
        """When bots may hear of a delay again."""
        """The bots that are connected, or were a moment ago, by name."""
        self._waiting: dict[int, str] = {}  # by match: the bot that it waits for
        self._waiting_for: defaultdict[str, dict[int, Match]] = defaultdict(dict)  # by bot, oldest first
        self.next_match_id = count(first_match_id).__next__
        """Returns the next match id, each once."""
        self._awaited: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()
        """By bot, as long as somebody waits for it: set when it connects, or the server is about to stop."""
        self._closing = False
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._sweep_put_off = False

    def enter(self, hello: play.Hello) -> tuple[Session, Outbox]:
        """Let a bot in, or in again, on a new connection, which replaces the one that the bot had before.

        Raises:
            ApiError: the server is shutting down, and the bot has no game that is being finished.
        """
        name = hello.name
        session = self._session(name)
        if self._closing and (session is None or not session.games):
            raise ApiError(Reason.SHUTTING_DOWN, "the server is shutting down")
        if session is None:
            session = self.sessions[name] = Session(name, self.limits, self.counters)
        outbox = Outbox(
            self.limits, self.clock, self.counters, on_ends_sent=partial(self._begin_matches_of, name)
        )
        resumed = session.attach(outbox, hello, self.clock())
        session.since = self.unix_clock()
        _log.info(
            "bot_connected",
            bot=name,
            software=session.software,
            max_games=session.max_games,
            resumed=resumed,
            games=session.games,
        )
        self.events.arrived(session)
        self.events.changed()
        if event := self._awaited.pop(name, None):
            event.set()
        self._begin_matches_of(name)
        return session, outbox

    def leave(self, session: Session, outbox: Outbox | None) -> None:
        """Notice that a connection of a bot has ended."""
        if session.outbox is not outbox:
            return  # another one has replaced it
        session.detach(self.clock())
        session.since = self.unix_clock()
        if not session.gone and not self._closing:
            self.counters.streams_lost += 1
        _log.info("bot_disconnected", bot=session.name, games=session.games, goodbye=session.gone)
        self._remove_expired(session)
        self.events.changed()
        self._begin_matches_of(session.name)

    def dismiss(self, name: str, reason: str) -> None:
        """Forfeit the games of a bot that won't come back, so that none of them waits for it."""
        if (session := self._session(name)) is not None:
            session.depart(self.clock(), reason=reason)
            if session.outbox is None:  # else its stream ends now
                self.leave(session, None)

    def send_notice(self, name: str, kind: play.NoticeKind.ValueType, text: str) -> None:
        """Send a notice to a bot, if it is connected."""
        session = self._session(name)
        if session is not None:
            session.notice(kind, text)

    def disqualify(self, name: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the open matches of a tournament, and notify the bot."""
        self.send_notice(name, play.NOTICE_KIND_DISQUALIFIED, text)
        now = self.clock()
        for match in list(self.matches.values()):
            if match.spec.tournament_id == tournament_id:
                match.disqualify(name, now)
                if self._waiting.get(match.match_id) == name:
                    self._stop_waiting(match)
                    self._begin_or_wait(match)

    def is_connected(self, name: str) -> bool:
        """Return whether a bot is connected."""
        return self._connected(name) is not None

    def connected(self) -> list[str]:
        """Return the names of the bots that are connected."""
        return [name for name in self.sessions if self.is_connected(name)]

    def max_games(self, name: str) -> int | None:
        """Return how many games a connected bot is willing to play at once; None: any number."""
        session = self._connected(name)
        return None if session is None else session.max_games

    def not_connected(self, bots: Iterable[str]) -> list[str]:
        """Return those of `bots` that are not connected."""
        return [name for name in bots if not self.is_connected(name)]

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected, but not longer than `seconds`; return those missing."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._closing and (missing := self.not_connected(bots)):
                    await self._arrival_of(missing[0]).wait()
        return self.not_connected(bots)

    async def wait_for_any(self, bots: Collection[str]) -> None:
        """Wait until one of `bots` is connected, or until the server is about to stop."""
        if self._closing or any(map(self.is_connected, bots)):
            return
        await first_of(*(event.wait() for event in map(self._arrival_of, bots)))

    def _arrival_of(self, name: str) -> asyncio.Event:
        return self._awaited.setdefault(name, asyncio.Event())

    def counted(self) -> Counters:
        """Return what is counted, with what waits now: for bots, and to be sent to them."""
        sessions = self.sessions.values()
        self.counters.bots_asked = sum(bool(session.waiting_since) for session in sessions)
        self.counters.outbox_bytes = sum(one.outbox.waiting_bytes for one in sessions if one.outbox)
        return self.counters

    def drop_waiting(self, tournament_id: int) -> None:
        """Void the matches of a tournament that have not begun, as their bots have no room for them."""
        for match in list(self.matches.values()):
            if match.spec.tournament_id == tournament_id and match.state is MatchState.WAITING:
                match.void(VoidReason.STOPPED)

    def drop_match(self, match: Match) -> None:
        """Void a match."""
        match.void(VoidReason.STOPPED)

    def create(self, spec: MatchSpec, match_id: int | None = None) -> Match:
        """Set up a match, with the next id unless it has one; `played` begins it.

        Raises:
            ApiError: the server is shutting down.
        """
        if self._closing:
            raise ApiError(Reason.SHUTTING_DOWN, "the server is shutting down")
        if self.limits.no_clock:
            spec = replace(spec, time=replace(spec.time, no_clock=True))
        match = Match(
            self.next_match_id() if match_id is None else match_id,
            spec,
            self.counters,
            unix_clock=self.unix_clock,
            events=self.events,
        )
        self.matches[match.match_id] = match
        return match

    @asynccontextmanager
    async def played(self, match: Match) -> AsyncIterator[None]:
        """Begin a match as soon as its connected bots have room for it, and wait for its end.

        Bots that are away are waited for during their grace time; bots that never came are not.

        The match stays in `matches` while the context lasts, so that it can be stored before it is removed.
        """
        try:
            self._begin_or_wait(match)
            await asyncio.wait((match.over,))  # unlike a plain await, leaves it alone when cancelled
            _log.info("match_over", **match.summary())
            yield
        finally:
            try:
                match.void(VoidReason.STOPPED)  # if it was given up
            finally:  # whatever fails, else the server would wait for it at its end
                self._stop_waiting(match)
                del self.matches[match.match_id]
                match.closed.set()
            for name in set(match.spec.bots):
                self._begin_matches_of(name)  # practice may have waited for this match

    def _begin_or_wait(self, match: Match) -> None:
        """Begin a match, or let it wait for the first of its bots that has no room or is away."""
        if match.over.done():
            return
        now = self.clock()
        for name in dict.fromkeys(match.spec.bots):
            if not self._ready(name, match, now):
                self._waiting[match.match_id] = name
                self._waiting_for[name][match.match_id] = match
                return
        match.start([self._connected(name) for name in match.spec.bots], now)

    def _begin_matches_of(self, name: str) -> None:
        """Begin the matches that waited for a bot, as far as it has room or won't come.

        The oldest comes first, but practice after all others.
        """
        waiting = self._waiting_for.get(name)
        if not waiting:
            self._waiting_for.pop(name, None)
            return
        session = self._connected(name)
        if session is not None and not session.has_room():
            return  # thousands may wait, which are not to be sorted at the end of every game
        now = self.clock()
        for match in sorted(waiting.values(), key=lambda match: match.spec.practice):
            if match.over.done() or self._ready(name, match, now):
                self._stop_waiting(match)
                self._begin_or_wait(match)
            elif session is not None:
                return  # there is no more room

    def _stop_waiting(self, match: Match) -> None:
        name = self._waiting.pop(match.match_id, None)
        if name is not None:
            del self._waiting_for[name][match.match_id]

    def _ready(self, name: str, match: Match, now: float) -> bool:
        """Return whether a match need not wait for a bot: it has room, or will not come."""
        session = self._session(name)
        if session is None or name in match.disqualified:
            return True
        if session.outbox is None:
            grace = match.spec.policy.grace_seconds
            session.grace_seconds = max(session.grace_seconds, grace)
            return session.away_for(now) > grace
        if match.spec.practice and name not in self.house and self._plays_rated(name, session):
            return False
        return session.has_room(match.spec.bots.count(name))

    def _plays_rated(self, name: str, session: Session) -> bool:
        """Return whether a bot plays a match that is no practice, or is waited for by one."""
        waiting = self._waiting_for.get(name, {}).values()
        return session.plays_rated or any(not match.spec.practice for match in waiting)

    def _session(self, name: str) -> Session | None:
        session = self.sessions.get(name)
        return None if session is None or session.gone else session

    def _connected(self, name: str) -> Session | None:
        """Return the session of a bot that is connected."""
        session = self._session(name)
        return None if session is None or session.outbox is None else session

    def start_sweeping(self) -> None:
        """Begin to notice what is due by the clock, every `SWEEP_SECONDS`."""
        self.clock.tick()  # or a delay before the first sweep would not be seen
        self._sweep_later()

    def _sweep_later(self) -> None:
        # A timer's callback, as the loop runs it before tasks that wait for the same turn.
        self._sweep_timer = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep_again)

    def stop_sweeping(self) -> None:
        """Notice nothing more."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()

    def sweep(self) -> None:
        """Notice passed deadlines, lost bots and the server's own delays."""
        lag = self.clock.tick()
        is_overloaded = lag > OVERLOAD_SECONDS
        self.counters.add_lag(lag, excess=lag - TOLERANCE_SECONDS if is_overloaded else 0.0)
        if is_overloaded:
            self._notify_overload(lag)
        # After a delay, what the bots sent in time may still wait to be read: that comes first.
        self._sweep_put_off = lag > SWEEP_SECONDS and not self._sweep_put_off
        if self._sweep_put_off:
            return
        now = self.clock()
        for match in list(self.matches.values()):
            match.tick(now)
        looks_at_connections = now >= self._connections_due
        if looks_at_connections:
            self._connections_due = now + CONNECTION_SECONDS
        for session in list(self.sessions.values()):
            if session.outbox is None:
                session.sweep(now)
                self._remove_expired(session)
                self._begin_matches_of(session.name)
            elif looks_at_connections:
                session.sweep(now)
        self.events.swept()

    def _sweep_again(self) -> None:
        self._sweep_later()  # first, as no error may end the sweeping
        self.sweep()

    def _notify_overload(self, lag: float) -> None:
        """Let the bots that are asked know that the server was late, unless they have just heard that."""
        _log.warning("overloaded", lag=round(lag, 3))
        if (now := self.clock()) < self._late_notices_due:
            return
        self._late_notices_due = now + LATE_NOTICE_SECONDS
        text = f"the server was late by {lag:.1f} s; nobody is charged for that"
        for session in self.sessions.values():
            if session.waiting_since:
                session.notice(play.NOTICE_KIND_SERVER_LATE, text)

    def _remove_expired(self, session: Session) -> None:
        """Remove a bot that won't come back."""
        if session.expired(self.clock()) and self.sessions.get(session.name) is session:
            del self.sessions[session.name]

    async def close(self, grace: float) -> None:
        """Start nothing more, wait `grace` seconds for running matches, void the rest, end all sessions.

        Returns when finished matches are stored.
        """
        self._closing = True
        for event in list(self._awaited.values()):
            event.set()
        open_matches = list(self.matches.values())
        for match in list(self.matches.values()):
            if match.state is MatchState.WAITING:
                match.void(VoidReason.SHUTDOWN)
        running = [match.over for match in self.matches.values() if not match.over.done()]
        if running:
            _log.info("finishing_matches", matches=len(running), grace=grace)
            await asyncio.wait(running, timeout=grace)
        self.void_all()
        for session in list(self.sessions.values()):
            if session.outbox is not None:
                session.outbox.end(ApiError(Reason.SHUTTING_DOWN, "the server is shutting down"))
        for match in open_matches:
            await match.closed.wait()

    def void_all(self) -> None:
        """Break off every match, because the server shuts down."""
        for match in list(self.matches.values()):
            match.void(VoidReason.SHUTDOWN)
