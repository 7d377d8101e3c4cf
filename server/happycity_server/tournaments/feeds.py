"""What watchers of a tournament see: one computation for all of them, of what has changed."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from time import perf_counter
from typing import Any

from google.protobuf.message import Message

from happycity.v1 import tournament_service_pb2 as pb
from happycity_server.places.places import Places
from happycity_server.tournaments.tournaments import Tournaments, messages_of
from happycity_tournament.running.codec import sprt_message, standing_message
from happycity_tournament.running.progress import TournamentStatus
from happycity_tournament.running.standings import Standing

MIN_INTERVAL_SECONDS = 0.1
DEFAULT_INTERVAL_SECONDS = 0.25
MAX_INCIDENTS = 100
"""Incidents in one message at most; of more, the oldest are left out."""
_COST_SHARE = 0.05  # of the event loop's time that one tournament's watchers may take


class _Snapshot:
    """A tournament at some moments, and at which of them each of its parts changed."""

    def __init__(self, places: Places | None = None) -> None:
        """Begin with nothing; without `places`, what the bots do is left out."""
        self.version = 0
        self.task: asyncio.Task[None] | None = None
        """Keeps the snapshot current."""
        self._parts: dict[str, tuple[int, Message]] = {}
        self._standings: dict[str, tuple[int, Message]] = {}
        self._changes: dict[tuple[int, bool], pb.WatchTournamentResponse | None] = {}
        self._places = places
        self._activities: dict[str, tuple[int, Message]] = {}
        self._incidents: deque[tuple[int, pb.MatchIncident]] = deque(maxlen=MAX_INCIDENTS)
        """Each with the version in which it is new."""

    def update(
        self, tournaments: Tournaments, status: TournamentStatus, standings: Sequence[Standing]
    ) -> None:
        """Take the tournament as it is now, with standings that may be a moment older."""
        self.version += 1
        self._changes.clear()
        tournament, progress = messages_of(status, tournaments.not_connected(status.config))
        self._note(self._parts, "tournament", tournament)
        self._note(self._parts, "progress", progress)
        sprt = sprt_message(status.test)
        if sprt is not None:
            self._note(self._parts, "sprt", sprt)
        for line in standings:
            self._note(self._standings, line.bot, standing_message(line))
        if self._places is not None:
            for message in self._places.activity(status.config.remaining):
                self._note(self._activities, message.bot, message)

    def note_incident(self, incident: pb.MatchIncident) -> None:
        """Take what went wrong just now in a match of the tournament."""
        self._incidents.append((self.version + 1, incident))

    def incidents(self, since: int, *, pending: bool = False) -> list[pb.MatchIncident]:
        """Return what went wrong since a version; `pending` adds what the next version will have."""
        upto = self.version + pending
        return [message for version, message in self._incidents if since < version <= upto]

    def changes(self, since: int, *, with_incidents: bool = False) -> pb.WatchTournamentResponse | None:
        """Return what has changed since a version, None if nothing has; version 0 is before everything."""
        key = since, with_incidents
        if key not in self._changes:
            parts: dict[str, Any] = {
                name: part for name, (version, part) in self._parts.items() if version > since
            }
            standings: Any = [part for version, part in self._standings.values() if version > since]
            activity: Any = [part for version, part in self._activities.values() if version > since]
            response = pb.WatchTournamentResponse(
                standings=standings,
                activity=activity,
                incidents=self.incidents(since) if since and with_incidents else (),
                **parts,
            )
            self._changes[key] = response if response.ByteSize() else None
        return self._changes[key]

    def _note(self, parts: dict[str, tuple[int, Message]], name: str, part: Message) -> None:
        if name not in parts or parts[name][1] != part:
            parts[name] = self.version, part


class TournamentFeeds:
    """The feeds of the tournaments that are watched while they are played."""

    def __init__(self, tournaments: Tournaments, places: Places) -> None:
        self._tournaments = tournaments
        self._places = places
        self._snapshots: dict[int, _Snapshot] = {}
        self._intervals: defaultdict[int, list[float]] = defaultdict(list)
        """By tournament: the seconds between two updates of each of its watchers."""

    async def updates(
        self, tournament_id: int, *, interval: float, with_final_ratings: bool, with_incidents: bool
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Yield a tournament and its standings, then their changes at most every `interval` s, and the end.

        With `with_final_ratings`, the end has these if the deals are revealed. With `with_incidents`, strikes
        and forfeits are among the changes.
        """
        status = await self._tournaments.status(tournament_id)
        seen, incidents = 0, list[pb.MatchIncident]()
        interval = max(interval, MIN_INTERVAL_SECONDS)
        if not status.state.over:
            self._intervals[tournament_id].append(interval)
            try:
                standings = [] if tournament_id in self._snapshots else await _standings(status)
                snapshot = self._shared_snapshot(tournament_id, standings)
                while self._tournaments.playing(tournament_id) is not None:
                    changes = snapshot.changes(seen, with_incidents=with_incidents)
                    seen = snapshot.version
                    if changes is not None:
                        yield changes
                    await self._tournaments.ended(tournament_id, interval)
                if with_incidents:
                    incidents = snapshot.incidents(seen, pending=True)
            finally:
                self._intervals[tournament_id].remove(interval)
                if not self._intervals[tournament_id]:
                    del self._intervals[tournament_id]
        status = await self._tournaments.status(tournament_id)
        last = _Snapshot()
        last.update(self._tournaments, status, await _standings(status))
        response = last.changes(0)
        assert response is not None
        response.incidents.extend(incidents)
        if with_final_ratings and status.state.revealed:
            final = await self._tournaments.final_ratings(status)
            if final is not None:
                response.final_ratings.CopyFrom(final)
        yield response

    def _shared_snapshot(self, tournament_id: int, standings: Sequence[Standing]) -> _Snapshot:
        """Return the snapshot that all watchers of a tournament share, by default with these standings.

        It is kept current.
        """
        snapshot = self._snapshots.get(tournament_id)
        if snapshot is not None:
            return snapshot
        snapshot = self._snapshots[tournament_id] = _Snapshot(self._places)
        self._places.incident_listeners[tournament_id] = snapshot.note_incident
        status = self._tournaments.playing(tournament_id)
        if status is not None and not status.state.over:
            snapshot.update(self._tournaments, status, standings)
        snapshot.task = asyncio.create_task(self._keep_current(tournament_id, snapshot))
        return snapshot

    async def _keep_current(self, tournament_id: int, snapshot: _Snapshot) -> None:
        """Refresh a snapshot, as often as the most frequent watcher looks, while it is played and watched."""
        pause = MIN_INTERVAL_SECONDS
        try:
            while self._tournaments.playing(tournament_id) is not None and tournament_id in self._intervals:
                await self._tournaments.ended(tournament_id, pause)
                cost = await self._refresh(tournament_id, snapshot)
                intervals = self._intervals.get(tournament_id, ())
                # Not rarer than usual, as a watcher may come who looks more often than those that are there.
                pause = max(min((*intervals, DEFAULT_INTERVAL_SECONDS)), cost / _COST_SHARE)
        finally:
            del self._snapshots[tournament_id]
            del self._places.incident_listeners[tournament_id]

    async def _refresh(self, tournament_id: int, snapshot: _Snapshot) -> float:
        """Update a snapshot, but not to the end, which comes last; return the seconds that it took."""
        status = self._tournaments.playing(tournament_id)
        if status is None or status.state.over:
            return 0.0
        started = perf_counter()
        standings = await _standings(status)
        status = self._tournaments.playing(tournament_id)  # a change of the roster replaces it
        if status is not None and not status.state.over:
            snapshot.update(self._tournaments, status, standings)
        return perf_counter() - started


async def _standings(status: TournamentStatus) -> list[Standing]:
    """Compute standings in a thread: with many games it takes seconds."""
    return await asyncio.to_thread(status.standings.lines_later())
