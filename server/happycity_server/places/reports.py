"""What a worker reports is checked before any of it counts, as a worker may be broken, or its clock wrong."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import fields

from google.protobuf.timestamp_pb2 import Timestamp

from happycity import HappyCityError
from happycity.errors import FieldError
from happycity.match import one_line
from happycity.records.record import loads
from happycity.wire.match import result_of, seconds_of
from happycity.wire.moments import unix_of
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity_server.play.counters import Counters
from happycity_server.play.match import OpenMatch
from happycity_tournament.games import LARGEST_ID
from happycity_tournament.plain_json import adapter
from happycity_tournament.recorded_games import replayed_game
from happycity_tournament.storage.packing import unpack

CLOCK_SECONDS = 3600.0
"""How far the clock of a worker may be from that of its server."""


MOST_CPU_SECONDS = 1e9
"""CPU time that a program can have used since the last report."""


def check_report(request: pb.WorkRequest, matches: Mapping[int, OpenMatch], now: float) -> None:
    """Refuse a report that can't be true, at a moment in Unix time, by a FieldError.

    Each finished game of `matches`, the open ones by id, is replayed, which takes some milliseconds; others
    are not looked at.
    """
    earliest = min((match.created_at for match in matches.values()), default=now) - CLOCK_SECONDS
    for field, moment in _moments(request, matches):
        seconds = unix_of(moment) if isinstance(moment, Timestamp) else moment
        if not earliest <= seconds <= now + CLOCK_SECONDS:  # so nan is refused too
            raise FieldError(field, f"{seconds:.15g} is not from {earliest:.15g} to now, {now:.15g}")
    for used in request.used:
        cpu_seconds, memory = seconds_of(used.cpu_time), used.peak_memory_bytes
        if not (0 <= cpu_seconds <= MOST_CPU_SECONDS and 0 <= memory <= LARGEST_ID):
            raise FieldError("used", "no program can have used that")
    for finished in request.finished:
        if (match := matches.get(finished.match_id)) is not None and not match.over.done():
            try:
                _check_game(finished, match)
            except (HappyCityError, ValueError, TypeError, AttributeError, zlib.error) as error:
                problem = one_line(str(error)) or type(error).__name__
                raise FieldError("finished", f"match {finished.match_id}: {problem}") from None


def counters_of(report: bytes) -> Counters:
    """Read what a worker has counted; a FieldError says that it can't have."""
    try:
        counters, own = adapter(Counters).validate_json(report), Counters()
    except ValueError:
        raise FieldError("counters", "malformed") from None
    for name in (field.name for field in fields(Counters)):
        value = getattr(counters, name)
        numbers = [*value.values()] if isinstance(value, Counter) else value
        numbers = numbers if isinstance(numbers, list) else [numbers]
        is_whole = not isinstance(value, list) or len(value) == len(getattr(own, name))
        if not is_whole or not all(0 <= number < math.inf for number in numbers):
            raise FieldError(f"counters.{name}", "they can't be")
    return counters


def _moments(request: pb.WorkRequest, matches: Container[int]) -> Iterator[tuple[str, float | Timestamp]]:
    """Yield the moments of a report, each with its field; those of matches that aren't open don't count."""
    for one in request.matches:
        if one.HasField("started_at") and one.match_id in matches:
            yield "matches.started_at", one.started_at
    for finished in (one for one in request.finished if one.match_id in matches):
        yield "finished.started_at", finished.started_at
        yield "finished.finished_at", finished.finished_at
    for incident in request.incidents:
        yield "incidents.time", incident.incident.time
    for bot in request.bots.activity:
        if bot.HasField("waiting_since"):
            yield "bots.waiting_since", bot.waiting_since


def _check_game(finished: pb.FinishedMatch, match: OpenMatch) -> None:
    """Refuse what is not the game of a match by the rules, or says something else of it than its record."""
    record, deal = loads(unpack(finished.record)), match.spec.deal
    if "bots" in record or "luck" in record:
        raise HappyCityError("its record has what only the server adds")
    game = replayed_game({**record, "bots": list(match.bots)}, number=match.match_id)
    if (game.config, game.deal_seed) != (deal.config, deal.seed):
        raise HappyCityError("its deal is another one")
    if game.seats != result_of(finished.result):
        raise HappyCityError("its result is not that of its record")
    if finished.decisions != game.decisions or finished.decisions_asked > game.decisions:
        raise HappyCityError("its decisions are not those of its record")
    if finished.started_at > finished.finished_at:
        raise HappyCityError("it ended before it began")
