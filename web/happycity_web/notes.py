"""What the records of finished games say of each seat beside the result: incidents and bots' numbers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from happycity import Incident, RecordError
from happycity.records.record import loads
from happycity.records.replay import incidents_of, metrics_of
from happycity.v1 import match_service_pb2 as pb
from happycity_server.errors import ApiError
from happycity_server.frontends import Arena
from happycity_tournament.ratings.statistics import Moments, count_metrics

_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Notes:
    """What one record says."""

    incidents: Sequence[Incident] = ()
    metrics: Sequence[tuple[int, Mapping[str, float]]] = ()
    """Seat and numbers of each answer that had some."""


@dataclass(slots=True)
class BotNotes:
    """What the records of some games say of a bot."""

    incidents: list[tuple[pb.Match, Incident]] = field(default_factory=list)
    metrics: dict[str, Moments] = field(default_factory=dict)


class GameNotes:
    """Reads records, and keeps what was found in the latest of them."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._known: OrderedDict[int, Notes] = OrderedDict()

    async def of_bot(self, bot: str, games: Iterable[pb.Match]) -> BotNotes:
        """Return what the records of finished games say of a bot; games without one say nothing."""
        found = BotNotes()
        for game in games:
            if not game.HasField("result"):
                continue
            notes = await self._of_game(game.match_id)
            found.incidents += [
                (game, incident) for incident in notes.incidents if game.bots[incident.seat] == bot
            ]
            for seat, numbers in notes.metrics:
                if game.bots[seat] == bot:
                    count_metrics(found.metrics, numbers)
        return found

    async def _of_game(self, match_id: int) -> Notes:
        notes = self._known.get(match_id)
        if notes is None:
            arena = self._arena
            try:
                got = await arena.call(
                    arena.matches.GetMatchRecord, pb.GetMatchRecordRequest(match_id=match_id)
                )
                notes = await asyncio.to_thread(_read, got.json)
            except (ApiError, RecordError):  # there is none, it is not to be seen, or it is malformed
                return Notes()
            self._known[match_id] = notes
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return notes


def _read(text: str) -> Notes:
    record = loads(text)
    return Notes(incidents_of(record), metrics_of(record))
