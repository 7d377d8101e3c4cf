"""What a match has besides its game as messages of the contract, and back again.

What is unknown or out of its range is a ConfigError that names the field of the message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from happycity.errors import FieldError, fields_named
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

_FALLBACKS = {Fallback.NEUTRAL: pb.FALLBACK_NEUTRAL, Fallback.RANDOM: pb.FALLBACK_RANDOM}
_FALLBACK_OF = {number: fallback for fallback, number in _FALLBACKS.items()}
_ENDINGS: dict[Ending, pb.Ending.ValueType] = {
    ending: pb.Ending.Value(f"ENDING_{ending.name}") for ending in Ending if ending is not Ending.OTHER
}
_ENDING_OF = {number: ending for ending, number in _ENDINGS.items()}
_VOID_REASONS = {reason: pb.VoidReason.Value(f"VOID_REASON_{reason.name}") for reason in VoidReason}
_VOID_REASON_OF = {number: reason for reason, number in _VOID_REASONS.items()}
_INCIDENTS: dict[IncidentKind, pb.IncidentKind.ValueType] = {
    kind: pb.IncidentKind.Value(f"INCIDENT_KIND_{kind.name}")
    for kind in IncidentKind
    if kind is not IncidentKind.OTHER
}
_INCIDENT_OF = {number: kind for kind, number in _INCIDENTS.items()}
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
"""Fields of a seat's result that are the same in the message."""


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
    return pb.FailurePolicy(
        max_strikes=policy.max_strikes,
        grace_time=duration_message(policy.grace_seconds),
        fallback=_FALLBACKS[policy.fallback],
        disqualify_share=policy.disqualify_share,
        disqualify_games=policy.disqualify_games,
    )


def failure_policy_of(message: pb.FailurePolicy) -> FailurePolicy:
    """Read a failure policy; absent fields have the defaults."""
    fields = _fields_of(message)
    if "fallback" in fields:
        if message.fallback not in _FALLBACK_OF:
            raise FieldError(
                "fallback", f"{message.fallback} is neither FALLBACK_NEUTRAL nor FALLBACK_RANDOM"
            )
        fields["fallback"] = _FALLBACK_OF[message.fallback]
    with fields_named(lambda name: _FIELD_OF.get(name, name)):
        return FailurePolicy(**fields)


def result_message(seats: Iterable[SeatResult]) -> pb.MatchResult:
    """Write how a game ended."""
    # An ending without a number is that of a newer server.
    return pb.MatchResult(
        seats=[
            pb.SeatResult(
                **_fields_of_both(seat),
                ending=_ENDINGS.get(seat.ending, pb.ENDING_UNSPECIFIED),
                reason=seat.reason or None,
            )
            for seat in seats
        ]
    )


def result_of(message: pb.MatchResult) -> tuple[SeatResult, ...]:
    """Read how a game ended."""
    return tuple(
        SeatResult(**_fields_of_both(seat), ending=ending_of(seat.ending), reason=seat.reason)
        for seat in message.seats
    )


def _fields_of_both(seat: SeatResult | pb.SeatResult) -> dict[str, Any]:
    return {name: getattr(seat, name) for name in _OF_BOTH}


def ending_number(ending: Ending) -> pb.Ending.ValueType:
    """Return an ending's number in the contract."""
    return _ENDINGS[ending]


def ending_of(number: int) -> Ending:
    """Return the ending with a number of the contract; that of a newer server is `OTHER`."""
    return _ENDING_OF.get(number, Ending.OTHER)  # type: ignore[call-overload,no-any-return]  # any number may come


def void_reason_number(reason: VoidReason) -> pb.VoidReason.ValueType:
    """Return a reason's number in the contract."""
    return _VOID_REASONS[reason]


def void_reason_of(number: int) -> VoidReason:
    """Return the reason with a number of the contract; a new server's reason is `UNKNOWN`."""
    return _VOID_REASON_OF.get(number, VoidReason.UNKNOWN)  # type: ignore[call-overload,no-any-return]


def incident_message(incident: Incident) -> pb.Incident:
    """Write what went wrong for a seat."""
    return pb.Incident(
        decision_id=incident.decision_id or None,
        seat=incident.seat,
        kind=_INCIDENTS[incident.kind],
        text=incident.text,
    )


def incident_of(message: pb.Incident) -> Incident:
    """Read what went wrong for a seat; the kind of a newer server is `OTHER`."""
    kind = _INCIDENT_OF.get(message.kind, IncidentKind.OTHER)
    return Incident(message.decision_id, message.seat, kind, one_line(message.text))


def bot_info_message(info: BotInfo) -> bot_pb2.BotInfo:
    """Write what a bot says of itself."""
    return bot_pb2.BotInfo(**{name: text or None for name, text in asdict(info).items()})


def bot_info_of(message: bot_pb2.BotInfo) -> BotInfo:
    """Read what a bot says of itself."""
    return BotInfo(**{field.name: getattr(message, field.name) for field in fields(BotInfo)})
