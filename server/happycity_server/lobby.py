"""Where bots and matches meet: who is connected, and what is being played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import structlog

from happycity_server.matches import Match, MatchSpec, MatchState
from happycity_server.refusals import Reason, Refusal
from happycity_server.sessions import Session

SWEEP_SECONDS = 0.05
"""How late a passed deadline may be noticed. One sweep over the running matches costs less than a timer
for each decision would."""

_log = structlog.get_logger()


class Lobby:
    """Keeps the connected bots and the running matches. All methods are called on the event loop."""

    def __init__(self, clock: Callable[[], float], *, first_match_id: int = 1) -> None:
        self.clock = clock
        self.matches: dict[int, Match] = {}
        """Matches that wait or run, by id."""
        self._sessions: dict[str, Session] = {}
        self._next_match_id = first_match_id
        self._changed = asyncio.Condition()
        self._closing = False

    # Bots ----------------------------------------------------------------------------------------------

    async def enter(self, session: Session) -> None:
        """Let a bot in. An older session of the same name is ended and loses its games."""
        older = self._sessions.get(session.name)
        self._sessions[session.name] = session
        if older is not None:
            older.close(Reason.REPLACED, f"another bot connected with the name {session.name!r}")
            older.lost(self.clock())
        await self._notify()

    async def exit(self, session: Session) -> None:
        """Notice that a bot's connection has ended."""
        if self._sessions.get(session.name) is session:
            del self._sessions[session.name]
        session.lost(self.clock())
        await self._notify()

    def missing(self, bots: Iterable[str]) -> list[str]:
        """Return those of `bots` that are not connected."""
        return [name for name in bots if name not in self._sessions]

    async def wait_for(self, bots: Iterable[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected, but not longer than `seconds`; return those missing."""
        names = list(bots)
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self._closing or not self.missing(names))
        except TimeoutError:
            pass
        return self.missing(names)

    # Matches -------------------------------------------------------------------------------------------

    def create(self, spec: MatchSpec) -> Match:
        """Set up a match; `played` begins it.

        Raises:
            Refusal: the server is shutting down.
        """
        if self._closing:
            raise Refusal(Reason.SHUTTING_DOWN, "the server is shutting down")
        match = Match(self._next_match_id, spec)
        self._next_match_id += 1
        self.matches[match.match_id] = match
        return match

    @asynccontextmanager
    async def played(self, match: Match) -> AsyncIterator[None]:
        """Begin a match as soon as its connected bots have room for it, and wait for its end.

        The match stays in `matches` while the context lasts, so that it can be stored before it is gone.
        """
        bots = match.spec.bots
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: match.over.done() or self._has_room(bots))
            if not match.over.done():
                match.start([self._sessions.get(name) for name in bots], self.clock())
            await match.over
            await self._notify()
            _log.info("match_over", **match.summary())
            yield
        finally:
            match.void(self.clock())  # if it was given up
            del self.matches[match.match_id]
            match.closed.set()

    async def sweep(self) -> None:
        """Notice passed deadlines, for ever."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = self.clock()
            for match in list(self.matches.values()):
                match.tick(now)

    # The end -------------------------------------------------------------------------------------------

    async def close(self, grace: float) -> None:
        """Start nothing more, wait `grace` seconds for running matches, void the rest, part from all bots."""
        self._closing = True
        await self._notify()
        for match in list(self.matches.values()):
            if match.state is MatchState.WAITING:
                match.void(self.clock())
        running = [match.over for match in self.matches.values() if not match.over.done()]
        if running:
            _log.info("finishing_matches", matches=len(running), grace=grace)
            await asyncio.wait(running, timeout=grace)
        for match in list(self.matches.values()):
            match.void(self.clock())
        for session in list(self._sessions.values()):
            session.close(Reason.SHUTTING_DOWN, "the server is shutting down")

    def _has_room(self, bots: Iterable[str]) -> bool:
        sessions = (self._sessions.get(name) for name in bots)
        return all(session is None or session.has_room for session in sessions)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
