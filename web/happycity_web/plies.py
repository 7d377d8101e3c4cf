"""A game as the viewer takes it: one JSON object for each position, with all that is shown of it.

The viewer knows no rules: points so far, and what happened in words, come from here. Seats count from 0, as
in records; the viewer adds 1 for people.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from happycity import Event, EventKind, Incident, Phase, SeatResult, View
from happycity.match import one_line
from happycity.records import Json, incident_json, state_json
from happycity.rules import Cities, Outcome, score
from happycity.v1 import match_service_pb2 as pb
from happycity.wire import event_of, incident_of, move_of, result_of, view_of, void_reason_of

MAX_METRICS = 12
"""Numbers of a bot that are shown of one answer."""

_WAITS = {
    Phase.MARKET: "chooses a Happy Market",
    Phase.DISCARD: "may discard",
    Phase.DRAW: "draws",
    Phase.BUY: "buys",
    Phase.SPECIAL: "may take a special",
    Phase.SPHINX: "copies a special",
    Phase.OVER: "",
}
"""What the seat to decide is about to do."""
_PLACED = frozenset({EventKind.BUILD, EventKind.DWELL, EventKind.TAKE, EventKind.MARKET})
_MOVES = frozenset(kind for kind in EventKind if kind <= EventKind.COPY)


def ply_json(step: pb.MatchStep) -> Json:
    """Return a position, and what led to it."""
    view = view_of(step.view)
    outcome = score(Cities.of_view(view))
    events = [event_of(event) for event in step.events]
    ply: Json = {"ply": step.decisions, **state_json(view), **_scores(outcome)}
    ply["waits"] = _WAITS[view.phase]
    ply["placed"] = next((event.seat for event in events if event.kind in _PLACED), None)
    ply["drawn"] = [event.card.id for event in events if event.kind is EventKind.DRAW and event.card]
    ply["begins"] = next((event.round for event in events if event.kind is EventKind.ROUND_STARTED), None)
    ply["notes"] = [text for event in events if (text := _event_text(event, view))]
    if step.HasField("move"):
        move = move_of(step.move)
        ply["by"] = step.seat
        ply["move"] = move.text
        ply["text"] = _move_text(move.text, events, step.seat)
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


_TEXTS = {
    EventKind.KEEP: "keeps the centre",
    EventKind.DISCARD: "discards {card}",
    EventKind.DRAW: "draws {card} from deck {deck}",
    EventKind.BUILD: "buys {card} for {paid}",
    EventKind.DWELL: "buys {card} for {paid}",
    EventKind.COIN: "takes {coins} {coin}",
    EventKind.TAKE: "takes {card}",
    EventKind.DECLINE: "takes no special building",
    EventKind.MARKET: "chooses {card}",
    EventKind.COPY: "copies {card}",
}


def _move_text(notation: str, events: Sequence[Event], seat: int) -> str:
    """Return a move in words; a draw with the card that came."""
    event = next((event for event in events if event.kind in _MOVES and event.seat == seat), None)
    if event is None:
        return notation
    return _TEXTS[event.kind].format(
        card=event.card.name if event.card is not None else "",
        deck=event.card.deck if event.card is not None else "",
        paid=-event.coins,
        coins=event.coins,
        coin="coin" if event.coins == 1 else "coins",
    )


def _event_text(event: Event, view: View) -> str:
    """Return what happened besides the move in words; "" for what a move's text says already."""
    seat = f"seat {event.seat + 1}"
    match event.kind:
        case EventKind.DECK_REBUILT:
            return f"Deck {event.deck} is shuffled again"
        case EventKind.EFFECT_PAID if event.card is not None:
            verb = "gains" if event.coins > 0 else "loses"
            return f"{event.card.name}: {seat} {verb} {abs(event.coins)}"
        case EventKind.CARD_LOST if event.card is not None:
            return f"{seat} loses {event.card.name}"
        case EventKind.COPY if event.card is not None and view.phase is Phase.OVER:
            return f"{seat} copies {event.card.name}"
    return ""
