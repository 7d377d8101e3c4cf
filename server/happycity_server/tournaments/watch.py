"""Tournaments as watchers see them: one computation for all of them, of what has changed."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any

from google.protobuf.message import Message

from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_server.broadcast import Broadcast
from happycity_server.places.places import Places
from happycity_server.tournaments.registry import Tournaments
from happycity_tournament.play.progress import TournamentStatus
from happycity_tournament.standings.standings import Standing
from happycity_tournament.wire import progress_message, sprt_message, standing_message, tournament_message

MIN_INTERVAL_SECONDS = 0.1
DEFAULT_INTERVAL_SECONDS = 0.25
MAX_INCIDENTS = 100
"""Incidents in one message at most; of more, the oldest are left out."""
LINGER_SECONDS = 120.0
"""How long incidents are collected for a tournament without watchers."""
_COST_SHARE = 0.05  # of the time that standings of one watched tournament may be computed


class _Feed:
    """A tournament at some moments, and at which of them each of its parts changed."""

    def __init__(self) -> None:
        self.version = 0
        self.looked_at = -math.inf
        """When a watcher was there last."""
        self._parts: dict[tuple[str, str], tuple[int, Message]] = {}
        """By the field of the response, and for lists the bot, each with the version of its last change."""
        self._changes: dict[int, pb.WatchTournamentResponse | None] = {}
        self.incidents = deque[pb.MatchIncident](maxlen=MAX_INCIDENTS)
        """What went wrong last."""
        self.incident_count = 0
        """How often something went wrong."""

    def update(
        self,
        parts: Mapping[str, Message],
        standings: Sequence[Standing],
        activity: Iterable[pb.BotActivity] = (),
    ) -> None:
        """Make the next version; what isn't among the arguments stays as it was."""
        self.version += 1
        self._changes.clear()
        found: dict[tuple[str, str], Message] = {(field, ""): part for field, part in parts.items()}
        found |= {("standings", line.bot): standing_message(line) for line in standings}
        found |= {("activity", message.bot): message for message in activity}
        for key, part in found.items():
            if key not in self._parts or self._parts[key][1] != part:
                self._parts[key] = self.version, part

    def changes(self, since: int) -> pb.WatchTournamentResponse | None:
        """Return what has changed since a version, None if nothing has; version 0 is before everything."""
        if since not in self._changes:
            response = pb.WatchTournamentResponse()
            for (field, bot), (version, part) in self._parts.items():
                changed: Any = getattr(response, field)
                if version > since and bot:
                    changed.append(part)
                elif version > since:
                    changed.CopyFrom(part)
            self._changes[since] = response if response.ByteSize() else None
        return self._changes[since]


class _Subscription:
    """What one watcher has been sent of a tournament: the version, and the number of incidents."""

    def __init__(self, snapshot: _Feed, *, with_incidents: bool) -> None:
        """Begin before everything, but with the incidents that come from now on."""
        self._snapshot = snapshot
        self._with_incidents = with_incidents
        self._version, self._incidents = 0, snapshot.incident_count

    def changes(self) -> pb.WatchTournamentResponse | None:
        """Return what is new, None if nothing is; watchers share it as far as they can."""
        changes, incidents = self._snapshot.changes(self._version), self.incidents()
        self._version = self._snapshot.version
        if incidents:
            own = pb.WatchTournamentResponse(incidents=incidents)
            if changes is not None:
                own.MergeFrom(changes)
            return own
        return changes

    def incidents(self) -> Sequence[pb.MatchIncident]:
        """Return the incidents that are new, of which the oldest may be left out."""
        if not self._with_incidents:
            return ()
        new, self._incidents = self._snapshot.incident_count - self._incidents, self._snapshot.incident_count
        return [*self._snapshot.incidents][-new:] if new else ()


class TournamentWatches:
    """The tournaments that are watched while they are played."""

    def __init__(
        self, tournaments: Tournaments, places: Places, *, clock: Callable[[], float] = monotonic
    ) -> None:
        """Begin without watchers; `clock` returns seconds."""
        self._tournaments = tournaments
        self._places = places
        self._clock = clock
        self._watched: dict[int, Broadcast[_Feed]] = {}
        places.events.incident.append(self._note_incident)
        self._intervals: defaultdict[int, list[float]] = defaultdict(list)
        """By tournament: the seconds between two updates of each of its watchers."""

    async def updates(
        self, tournament_id: int, *, interval: float, with_final_ratings: bool, with_incidents: bool
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Yield a tournament and its standings, then their changes at most every `interval` s, and the end.

        All is for the eyes of an organiser. With `with_final_ratings`, the end has these, and with
        `with_incidents` strikes and forfeits are among the changes.
        """
        status = await self._tournaments.status(tournament_id)
        incidents: Sequence[pb.MatchIncident] = ()
        interval = max(interval, MIN_INTERVAL_SECONDS)
        if (playing := self._tournaments.playing(tournament_id)) is not None:
            is_first = tournament_id not in self._intervals
            self._intervals[tournament_id].append(interval)
            watched = self._shared(tournament_id)
            subscription = _Subscription(watched.value, with_incidents=with_incidents)
            try:
                # What was computed for those who watched before is old.
                if is_first and watched.value.version:
                    await self._update(watched, playing, with_standings=True)
                async for _ in watched.values():
                    changes = subscription.changes()
                    if changes is not None:
                        yield changes
                    await self._tournaments.ended(tournament_id, interval)
                incidents = subscription.incidents()
            finally:
                watched.value.looked_at = self._clock()
                self._intervals[tournament_id].remove(interval)
                if not self._intervals[tournament_id]:
                    del self._intervals[tournament_id]
        status = await self._tournaments.status(tournament_id)
        last = _Feed()
        last.update(self._parts(status), await _standings(status))
        response = last.changes(0)
        assert response is not None
        response.incidents.extend(incidents)
        if with_final_ratings and status.state.ended:
            final = await self._tournaments.final_ratings(status)
            if final is not None:
                response.final_ratings.CopyFrom(final)
        yield response

    def incidents(self, tournament_id: int) -> list[pb.MatchIncident]:
        """Return what went wrong in a tournament that is played, since a watcher came first; newest first.

        Incidents are collected while there are watchers, and for `LINGER_SECONDS` longer.
        """
        if self._tournaments.playing(tournament_id) is None:
            return []
        snapshot = self._shared(tournament_id).value
        snapshot.looked_at = self._clock()
        return [*reversed(snapshot.incidents)]

    def _note_incident(self, tournament_id: int, incident: pb.MatchIncident) -> None:
        if tournament_id in self._watched:
            feed = self._watched[tournament_id].value
            feed.incidents.append(incident)
            feed.incident_count += 1

    def _shared(self, tournament_id: int) -> Broadcast[_Feed]:
        """Return the changes that all watchers of a tournament share; they are kept current."""
        if tournament_id not in self._watched:
            watched = self._watched[tournament_id] = Broadcast(_Feed())
            watched.follow(self._keep_current(tournament_id, watched), tournament=tournament_id)
        return self._watched[tournament_id]

    async def _keep_current(self, tournament_id: int, watched: Broadcast[_Feed]) -> None:
        """Update a snapshot, as often as the most frequent watcher looks, while it is played and watched.

        Standings are of the same moment as the rest, unless they take long to compute: then they are new
        less often.
        """
        due = -math.inf
        try:
            while (status := self._tournaments.playing(tournament_id)) is not None:
                started = self._clock()
                if tournament_id in self._intervals:
                    is_due = started >= due
                    await self._update(watched, status, with_standings=is_due)
                    if is_due:
                        now = self._clock()
                        due = now + (now - started) / _COST_SHARE
                elif started > watched.value.looked_at + LINGER_SECONDS:
                    break
                # Not rarer than usual, as a watcher may come who looks more often than those that are there.
                pause = min((*self._intervals.get(tournament_id, ()), DEFAULT_INTERVAL_SECONDS))
                await self._tournaments.ended(tournament_id, pause)
        finally:
            del self._watched[tournament_id]

    async def _update(
        self, watched: Broadcast[_Feed], status: TournamentStatus, *, with_standings: bool
    ) -> None:
        """Publish what is new, but not the end, which comes last."""
        parts = self._parts(status)
        standings = await _standings(status) if with_standings else []
        if not status.state.over:
            watched.value.update(parts, standings, self._places.activity(status.config.bots))
            watched.publish()

    def _parts(self, status: TournamentStatus) -> dict[str, Message]:
        """Return what is known of a tournament besides its standings, by the fields of the response."""
        snapshot = self._tournaments.snapshot(status)
        sprt = sprt_message(status.test)
        parts: dict[str, Message] = {
            "tournament": tournament_message(snapshot, with_progress=False),
            "progress": progress_message(snapshot),
        }
        return parts if sprt is None else parts | {"sprt": sprt}


async def _standings(status: TournamentStatus) -> list[Standing]:
    """Compute standings in a thread: with many games it takes seconds."""
    return await asyncio.to_thread(status.standings.lines_later())
