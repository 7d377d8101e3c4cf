"""A game as the viewer takes it: one JSON object for each position, with all that is shown of it.

The viewer knows no rules: points so far, and what happened in words, come from here. Seats count from 0, as
in records; the viewer adds 1 for people.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from happycity import EventKind, Incident, Phase, SeatResult
from happycity.match import one_line
from happycity.records import Json, incident_json, state_json
from happycity.rules import PHASES, Cities, Outcome, action_in_words, event_in_words, score
from happycity.v1 import match_service_pb2 as pb
from happycity.wire import event_of, incident_of, move_of, result_of, view_of, void_reason_of

MAX_METRICS = 12
"""Numbers of a bot that are shown of one answer."""

_PLACED = frozenset({EventKind.BUILD, EventKind.DWELL, EventKind.TAKE, EventKind.MARKET})
_NOTED = frozenset({EventKind.DECK_REBUILT, EventKind.EFFECT_PAID, EventKind.CARD_LOST, EventKind.COPY})
"""What is shown of what follows from a move."""
_MOVES = frozenset(kind for kind in EventKind if kind <= EventKind.COPY)


def ply_json(step: pb.MatchStep, bots: Sequence[str]) -> Json:
    """Return a position of a game between `bots`, by seat, and what led to it."""
    view = view_of(step.view)
    outcome = score(Cities.of_view(view))
    events = [event_of(event) for event in step.events]
    ply: Json = {"ply": step.decisions, **state_json(view), **_scores(outcome)}
    ply["waits"] = "" if view.phase is Phase.OVER else PHASES[view.phase]
    ply["placed"] = next((event.seat for event in events if event.kind in _PLACED), None)
    ply["drawn"] = [event.card.id for event in events if event.kind is EventKind.DRAW and event.card]
    ply["begins"] = next((event.round for event in events if event.kind is EventKind.ROUND_STARTED), None)
    chosen = next((event for event in events if event.kind in _MOVES and event.seat == step.seat), None)
    ply["notes"] = [
        event_in_words(event, bots) for event in events if event.kind in _NOTED and event is not chosen
    ]
    if step.HasField("move"):
        move = move_of(step.move)
        ply["by"] = step.seat
        ply["move"] = move.text
        ply["text"] = move.text if chosen is None else action_in_words(chosen)
        ply["answered"] = step.HasField("think_us")
        ply["think_us"] = step.think_us
    if step.metrics:
        shown = sorted(step.metrics.items())[:MAX_METRICS]
        ply["metrics"] = {one_line(name): number for name, number in shown}
    if step.incidents:
        ply["incidents"] = [_incident(incident_of(incident)) for incident in step.incidents]
    return ply


def end_json(end: pb.MatchEnd) -> Json:
    """Return how a game ended."""
    if end.WhichOneof("end") == "void_reason":
        return {"void": void_reason_of(end.void_reason).value}
    return {"results": [_result(seat) for seat in result_of(end.result)]}


def encode(value: object) -> str:
    """Return JSON that may also stand inside a page's script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _scores(outcome: Outcome) -> Json:
    return {
        "points": list(outcome.points),
        "inhabitants": list(outcome.inhabitants),
        "hearts": list(outcome.hearts),
    }


def _result(seat: SeatResult) -> Json:
    return {
        "points": seat.points,
        "coins": seat.coins,
        "inhabitants": seat.inhabitants,
        "hearts": seat.hearts,
        "rank": seat.rank,
        "place": seat.place,
        "ending": seat.ending.word,
        "reason": seat.reason,
    }


def _incident(incident: Incident) -> dict[str, Any]:
    return incident_json(incident)
