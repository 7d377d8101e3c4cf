"""What the bots of a running tournament do, and what goes wrong, as pages show it."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic

import structlog
from google.protobuf.duration_pb2 import Duration

from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_server.errors import ApiError
from happycity_server.frontends import Arena

KEPT_INCIDENTS = 100
"""Incidents that a page of a tournament shows: those since somebody looked at it first, the newest ones."""
LINGER_SECONDS = 120.0
"""How long incidents are collected for a tournament that nobody looks at any more."""
_FIRST_SECONDS = 1.0  # for the first state

_log = structlog.get_logger()


class Events:
    """The present state of the bots of a tournament, and the latest incidents."""

    def __init__(self, arena: Arena, tournament_id: int) -> None:
        self.activity: dict[str, pb.BotActivity] = {}
        """By bot."""
        self.incidents: deque[pb.MatchIncident] = deque(maxlen=KEPT_INCIDENTS)
        """The newest first; empty for callers who may not watch running games."""
        self.used_at = monotonic()
        self._ready = asyncio.Event()
        self.task = asyncio.create_task(self._read(arena, tournament_id))

    async def ready(self) -> None:
        """Wait until the first state is there, or should be."""
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            return

    async def _read(self, arena: Arena, tournament_id: int) -> None:
        request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval=Duration(seconds=1))
        try:
            async for update in arena.stream(arena.tournaments.WatchTournament, request):
                self.activity |= {entry.bot: entry for entry in update.activity}
                self.incidents.extendleft(update.incidents)
                self._ready.set()
                if monotonic() - self.used_at > LINGER_SECONDS:
                    break
        except ApiError as error:  # it was deleted, which its page finds out too
            _log.info("events_ended", tournament=tournament_id, problem=str(error))
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            _log.exception("events_failed", tournament=tournament_id)
        self._ready.set()


class EventFeeds:
    """The events of the tournaments that somebody looks at."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._events: dict[tuple[int, bool], Events] = {}

    async def of_tournament(self, tournament_id: int) -> Events:
        """Return the events of a running tournament that the admitted caller may see."""
        # Callers who may see different things share nothing.
        key = tournament_id, self._arena.may_watch()
        events = self._events.get(key)
        if events is None:
            events = self._events[key] = Events(self._arena, tournament_id)
            events.task.add_done_callback(lambda _: self._events.pop(key, None))
        events.used_at = monotonic()
        await events.ready()
        return events
