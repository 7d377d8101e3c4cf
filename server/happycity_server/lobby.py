"""Where bots and matches meet: who is connected, and what is being played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import structlog

from happycity.v1 import play_service_pb2 as play
from happycity_server.clocks import OVERLOAD_SECONDS, FairClock
from happycity_server.matches import Match, MatchSpec, MatchState, VoidReason
from happycity_server.refusals import Reason, Refusal
from happycity_server.sessions import Session
from happycity_server.streams import SessionLimits, Stream
from happycity_server.tally import Tally

SWEEP_SECONDS = 0.05
"""How late a passed deadline may be noticed. One sweep over the running matches costs less than a timer
for each decision would."""

_log = structlog.get_logger()


class Lobby:
    """Keeps the connected bots and the running matches. All methods are called on the event loop."""

    def __init__(
        self, clock: FairClock, *, limits: SessionLimits | None = None, first_match_id: int = 1
    ) -> None:
        self.clock = clock
        """Ticks with every sweep."""
        self.limits = limits if limits is not None else SessionLimits()
        self.tally = Tally()
        self.matches: dict[int, Match] = {}
        """Matches that wait or run, by id."""
        self._sessions: dict[str, Session] = {}
        self._waiting: dict[int, Match] = {}  # for their bots to be back, or to have room
        self._next_match_id = first_match_id
        self._arrival = asyncio.Event()
        self._closing = False
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._sweep_put_off = False

    # Bots ----------------------------------------------------------------------------------------------

    @property
    def sessions(self) -> Mapping[str, Session]:
        """The bots that are connected, or were a moment ago, by name."""
        return self._sessions

    def new_stream(self) -> Stream:
        """Return the server's side of a new connection."""
        return Stream(self.limits, self.clock, self.tally, ends_told=self._begin_matches)

    def enter(self, hello: play.Hello, stream: Stream) -> Session:
        """Let a bot in, or in again; `stream` takes the place of the one that the bot had before.

        Raises:
            Refusal: the server is shutting down, and the bot has no game that is being finished.
        """
        session = self._session(hello.name)
        if self._closing and (session is None or not session.games):
            raise Refusal(Reason.SHUTTING_DOWN, "the server is shutting down")
        if session is None:
            session = self._sessions[hello.name] = Session(hello.name, self.limits, self.tally)
        resumed = session.attach(stream, hello, self.clock())
        _log.info(
            "bot_connected",
            bot=session.name,
            software=hello.software[:80],
            max_games=session.max_games,
            resumed=resumed,
            games=session.games,
        )
        self._notice_arrival()
        self._begin_matches()
        return session

    def exit(self, session: Session, stream: Stream) -> None:
        """Notice that a stream of a bot has ended."""
        if session.stream is not stream:
            return  # another one has taken its place
        session.detach(stream, self.clock())
        if not session.gone and not self._closing:
            self.tally.streams_lost += 1
        _log.info("bot_disconnected", bot=session.name, games=session.games, goodbye=session.gone)
        self._forget(session)
        self._begin_matches()

    def notice(self, name: str, kind: play.NoticeKind.ValueType, text: str) -> None:
        """Tell the author of a bot something, if it is connected."""
        session = self._session(name)
        if session is not None:
            session.notice(kind, text)

    def disqualify(self, name: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the open matches of a tournament, and let it know if it is connected."""
        self.notice(name, play.NOTICE_KIND_DISQUALIFIED, text)
        now = self.clock()
        for match in list(self.matches.values()):
            if match.spec.tournament_id == tournament_id:
                match.disqualify(name, now)
        self._begin_matches()

    def missing(self, bots: Iterable[str]) -> list[str]:
        """Return those of `bots` that are not connected."""
        return [name for name in bots if self._there(name) is None]

    async def wait_for(self, bots: Iterable[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected, but not longer than `seconds`; return those missing."""
        names = list(bots)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._closing and self.missing(names):
                    await self._arrival.wait()
        return self.missing(names)

    async def wait_for_any(self, bots: Iterable[str]) -> None:
        """Wait until one of `bots` is connected, or until the server is about to stop."""
        names = list(bots)
        while not self._closing and len(self.missing(names)) == len(names):
            await self._arrival.wait()

    # Matches -------------------------------------------------------------------------------------------

    def create(self, spec: MatchSpec) -> Match:
        """Set up a match; `played` begins it.

        Raises:
            Refusal: the server is shutting down.
        """
        if self._closing:
            raise Refusal(Reason.SHUTTING_DOWN, "the server is shutting down")
        if self.limits.no_clock:
            spec = replace(spec, time=replace(spec.time, no_clock=True))
        match = Match(self._next_match_id, spec, self.tally)
        self._next_match_id += 1
        self.matches[match.match_id] = match
        return match

    @asynccontextmanager
    async def played(self, match: Match) -> AsyncIterator[None]:
        """Begin a match as soon as its connected bots have room for it, and wait for its end.

        Bots that are away are waited for during their grace time; bots that never came are not.

        The match stays in `matches` while the context lasts, so that it can be stored before it is gone.
        """
        try:
            if not match.over.done():
                self._waiting[match.match_id] = match
                self._begin_matches()
            await asyncio.wait((match.over,))  # unlike a plain await, leaves it alone when cancelled
            self._begin_matches()
            _log.info("match_over", **match.summary())
            yield
        finally:
            self._waiting.pop(match.match_id, None)
            match.void(self.clock(), VoidReason.STOPPED)  # if it was given up
            del self.matches[match.match_id]
            match.closed.set()

    def _begin_matches(self) -> None:
        """Begin the matches that need not wait any more, the oldest first."""
        if not self._waiting:
            return
        now = self.clock()
        for match in list(self._waiting.values()):
            if match.over.done():
                del self._waiting[match.match_id]
            elif all(self._ready(name, match.spec, now) for name in match.spec.bots):
                del self._waiting[match.match_id]
                match.start([self._there(name) for name in match.spec.bots], now)

    def _ready(self, name: str, spec: MatchSpec, now: float) -> bool:
        """Whether a match need not wait for a bot: it has room, or will not come."""
        session = self._session(name)
        if session is None or name in spec.disqualified:
            return True
        if session.stream is None:
            session.grace_seconds = max(session.grace_seconds, spec.policy.grace_seconds)
            return session.away_for(now) > spec.policy.grace_seconds
        return session.has_room

    def _session(self, name: str) -> Session | None:
        session = self._sessions.get(name)
        return None if session is None or session.gone else session

    def _there(self, name: str) -> Session | None:
        """Return the session of a bot that is connected."""
        session = self._session(name)
        return None if session is None or session.stream is None else session

    # Time ----------------------------------------------------------------------------------------------

    def start_sweeping(self) -> None:
        """Begin to notice what is due by the clock, every `SWEEP_SECONDS`."""
        self.clock.tick()  # or a delay before the first sweep would not be seen
        self._sweep_in_time()

    def _sweep_in_time(self) -> None:
        # A timer's callback, as the loop runs it before tasks that wait for the same turn.
        self._sweep_timer = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep_again)

    def stop_sweeping(self) -> None:
        """Notice nothing more."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()

    def sweep(self) -> None:
        """Notice passed deadlines, lost bots and the server's own delays."""
        lag = self.clock.tick()
        excess = max(0.0, lag - OVERLOAD_SECONDS)
        self.tally.add_lag(lag, excess=excess)
        if excess:
            self._own_up(lag)
        # After a delay, what the bots sent in time may still wait to be read: that comes first.
        self._sweep_put_off = lag > SWEEP_SECONDS and not self._sweep_put_off
        if self._sweep_put_off:
            return
        now = self.clock()
        for match in list(self.matches.values()):
            match.tick(now)
        for session in list(self._sessions.values()):
            session.sweep(now)
            if session.stream is None:
                self._forget(session)
        self._begin_matches()

    def _sweep_again(self) -> None:
        self._sweep_in_time()  # first, as no error may end the sweeping
        self.sweep()

    def _own_up(self, lag: float) -> None:
        """Say that the server was late."""
        _log.warning("overloaded", lag=round(lag, 3))
        text = f"the server was late by {lag:.1f} s; nobody is charged for that"
        for session in self._sessions.values():
            if session.is_asked:
                session.notice(play.NOTICE_KIND_SERVER_LATE, text)

    def _forget(self, session: Session) -> None:
        """Remove a bot that won't come back."""
        if session.forgotten(self.clock()) and self._sessions.get(session.name) is session:
            del self._sessions[session.name]

    def _notice_arrival(self) -> None:
        """Wake whoever waits for bots."""
        self._arrival.set()
        self._arrival = asyncio.Event()

    # The end -------------------------------------------------------------------------------------------

    async def close(self, grace: float) -> None:
        """Start nothing more, wait `grace` seconds for running matches, void the rest, part from all bots."""
        self._closing = True
        self._notice_arrival()
        for match in list(self.matches.values()):
            if match.state is MatchState.WAITING:
                match.void(self.clock(), VoidReason.SHUTDOWN)
        running = [match.over for match in self.matches.values() if not match.over.done()]
        if running:
            _log.info("finishing_matches", matches=len(running), grace=grace)
            await asyncio.wait(running, timeout=grace)
        for match in list(self.matches.values()):
            match.void(self.clock(), VoidReason.SHUTDOWN)
        for session in list(self._sessions.values()):
            if session.stream is not None:
                session.stream.end(Refusal(Reason.SHUTTING_DOWN, "the server is shutting down"))
