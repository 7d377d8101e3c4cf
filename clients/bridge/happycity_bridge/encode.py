"""The lines that a program reads: the messages of the protocol, as protobuf's JSON mapping writes them.

Names are those of the .proto files (`match_id`, not `matchId`), a field without presence is there also if it
is 0, and 64-bit numbers are strings, as the mapping demands.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from happycity import Move, SeatResult, VoidReason
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import outcome_message
from happycity.wire.messages import config_message
from happycity_client import Decision, GameOver, GameStarted

Line = dict[str, object]


def game_started(start: GameStarted) -> Line:
    """Write that a game begins."""
    message = play.GameStarted(
        match_id=start.match_id,
        config=config_message(start.config),
        seat=start.seat,
        bots=start.bots,
        seed=start.seed,
    )
    return {"type": "game_started", **_mapped(message)}


def decision(decision: Decision) -> Line:
    """Write a choice that waits. The texts of the moves come first."""
    legal = [move.text for move in decision.moves]
    return {"type": "decision", "legal": legal, **_mapped(decision.message)}


def game_over(over: GameOver) -> Line:
    """Write how a game ended."""
    return _game_over(over.match_id, over.seats)


def game_voided(match_id: int, reason: VoidReason) -> Line:
    """Write that a match was voided: a game_over without a result."""
    return _game_over(match_id, reason)


def _game_over(match_id: int, outcome: Sequence[SeatResult] | VoidReason) -> Line:
    message = play.GameOver(match_id=match_id, outcome=outcome_message(outcome))
    return {"type": "game_over", **_mapped(message)}


def error(start: GameStarted, text: str, legal: Sequence[Move]) -> Line:
    """Write why a game is given up."""
    return {
        "type": "error",
        "match_id": str(start.match_id),
        "seat": start.seat,
        "message": text,
        "legal": [move.text for move in legal],
    }


def _mapped(message: Message) -> Line:
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
