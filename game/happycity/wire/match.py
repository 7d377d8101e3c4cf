"""What a match has besides its game as messages of the contract, and back again.

What is unknown or out of its range is a ConfigError that names the field of the message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from happycity.errors import fields_named
from happycity.match import (
    BotInfo,
    Ending,
    FailurePolicy,
    Fallback,
    Incident,
    IncidentKind,
    SeatResult,
    TimeControl,
    VoidReason,
    one_line,
)
from happycity.v1 import bot_pb2
from happycity.v1 import match_pb2 as pb
from happycity.wire.enums import enum_field, enum_member, enum_number
from happycity.wire.fields import present_fields, to_message

_NANOSECONDS = 1_000_000_000
_NAME_OF = {
    "connect_time": "connect_seconds",
    "decision_time": "decision_seconds",
    "bank_time": "bank_seconds",
    "increment": "increment_seconds",
    "margin": "margin_seconds",
    "grace_time": "grace_seconds",
}
"""Our names for fields of the messages that have other ones."""
_FIELD_OF = {name: field for field, name in _NAME_OF.items()}
_OF_BOTH = ("points", "coins", "inhabitants", "hearts", "rank", "place")
_BOT_INFO = ("author", "version", "language", "description")
"""Fields that are the same in messages."""


def duration_message(seconds: float) -> Duration:
    """Write a time, to the nearest nanosecond."""
    whole = int(seconds)
    message = Duration()
    message.FromNanoseconds(whole * _NANOSECONDS + round((seconds - whole) * _NANOSECONDS))
    return message


def seconds_of(message: Duration) -> float:
    """Read a time, as the nearest number of seconds that a float can hold."""
    return (message.seconds * _NANOSECONDS + message.nanos) / _NANOSECONDS


def time_control_message(time: TimeControl) -> pb.TimeControl:
    """Write a time control."""
    return pb.TimeControl(
        connect_time=duration_message(time.connect_seconds),
        decision_time=duration_message(time.decision_seconds),
        bank_time=duration_message(time.bank_seconds) if time.bank_seconds else None,
        increment=duration_message(time.increment_seconds) if time.increment_seconds else None,
        margin=duration_message(time.margin_seconds),
        no_clock=time.no_clock,
    )


def time_control_of(message: pb.TimeControl) -> TimeControl:
    """Read a time control; absent fields have the defaults."""
    with fields_named(lambda name: _FIELD_OF.get(name, name)):
        return TimeControl(**_fields_of(message))


def _fields_of(message: Message) -> dict[str, Any]:
    """Return the fields that are there by our names, times in seconds."""
    return {
        _NAME_OF.get(field.name, field.name): seconds_of(value) if isinstance(value, Duration) else value
        for field, value in message.ListFields()
    }


def failure_policy_message(policy: FailurePolicy) -> pb.FailurePolicy:
    """Write a failure policy."""
    names = ("max_strikes", "fallback", "disqualify_share", "disqualify_games")
    grace = duration_message(policy.grace_seconds)
    return to_message(pb.FailurePolicy, policy, *names, grace_time=grace)


def failure_policy_of(message: pb.FailurePolicy) -> FailurePolicy:
    """Read a failure policy; absent fields have the defaults."""
    fields = _fields_of(message)
    if "fallback" in fields:
        fields["fallback"] = enum_field(message, "fallback", Fallback)
    with fields_named(lambda name: _FIELD_OF.get(name, name)):
        return FailurePolicy(**fields)


def result_message(seats: Iterable[SeatResult]) -> pb.MatchResult:
    """Write how a game ended."""
    return pb.MatchResult(
        seats=[
            to_message(
                pb.SeatResult,
                seat,
                *_OF_BOTH,
                "reason",
                # Without a number if it is the ending of a newer server.
                ending=None if seat.ending is Ending.OTHER else enum_number(pb.Ending, seat.ending),
            )
            for seat in seats
        ]
    )


def result_of(message: pb.MatchResult) -> tuple[SeatResult, ...]:
    """Read how a game ended."""
    return tuple(
        SeatResult(**present_fields(seat, *_OF_BOTH), ending=ending_of(seat.ending), reason=seat.reason)
        for seat in message.seats
    )


def outcome_message(outcome: Iterable[SeatResult] | VoidReason) -> pb.MatchOutcome:
    """Write how a match ended: with the results of its seats, or voided."""
    if isinstance(outcome, VoidReason):
        return pb.MatchOutcome(void_reason=enum_number(pb.VoidReason, outcome))
    return pb.MatchOutcome(result=result_message(outcome))


def outcome_of(message: pb.MatchOutcome) -> tuple[SeatResult, ...] | VoidReason:
    """Read how a match ended: with the results of its seats, or voided."""
    return result_of(message.result) if message.HasField("result") else void_reason_of(message.void_reason)


def ending_of(number: int) -> Ending:
    """Return the ending with a number of the contract; that of a newer server is `OTHER`."""
    return enum_member(pb.Ending, Ending, number) or Ending.OTHER


def void_reason_of(number: int) -> VoidReason:
    """Return the reason with a number of the contract; a new server's reason is `UNKNOWN`."""
    return enum_member(pb.VoidReason, VoidReason, number) or VoidReason.UNKNOWN


def incident_message(incident: Incident) -> pb.Incident:
    """Write what went wrong for a seat."""
    decision_id = incident.decision_id or None
    return to_message(pb.Incident, incident, "seat", "kind", "text", decision_id=decision_id)


def incident_of(message: pb.Incident) -> Incident:
    """Read what went wrong for a seat; the kind of a newer server is `OTHER`."""
    kind = enum_member(pb.IncidentKind, IncidentKind, message.kind) or IncidentKind.OTHER
    return Incident(message.decision_id, message.seat, kind, one_line(message.text))


def bot_info_message(info: BotInfo) -> bot_pb2.BotInfo:
    """Write what a bot says of itself."""
    return to_message(bot_pb2.BotInfo, info, *_BOT_INFO)


def bot_info_of(message: bot_pb2.BotInfo) -> BotInfo:
    """Read what a bot says of itself."""
    return BotInfo(**present_fields(message, *_BOT_INFO))
