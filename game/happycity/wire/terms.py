"""The terms of a match as messages of the contract, and back again: seconds here, milliseconds there."""

from __future__ import annotations

from happycity.errors import ConfigError
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity.v1 import match_service_pb2 as pb

_FALLBACKS = {Fallback.NEUTRAL: pb.FALLBACK_NEUTRAL, Fallback.RANDOM: pb.FALLBACK_RANDOM}
_FALLBACKS_BACK = {pb.FALLBACK_UNSPECIFIED: FailurePolicy().fallback} | {
    number: fallback for fallback, number in _FALLBACKS.items()
}
_TIME, _POLICY = TimeControl(), FailurePolicy()


def time_control_message(time: TimeControl) -> pb.TimeControl:
    """Write a time control."""
    return pb.TimeControl(
        connect_ms=_milliseconds(time.connect_seconds),
        decision_ms=_milliseconds(time.decision_seconds),
        bank_ms=_milliseconds(time.bank_seconds),
        increment_ms=_milliseconds(time.increment_seconds),
        margin_ms=_milliseconds(time.margin_seconds),
        no_clock=time.no_clock,
    )


def time_control_of(message: pb.TimeControl) -> TimeControl:
    """Read a time control; what isn't given is the default.

    Raises:
        ConfigError: it makes no sense.
    """
    return TimeControl(
        connect_seconds=message.connect_ms / 1000 or _TIME.connect_seconds,
        decision_seconds=message.decision_ms / 1000 or _TIME.decision_seconds,
        bank_seconds=message.bank_ms / 1000,
        increment_seconds=message.increment_ms / 1000,
        margin_seconds=message.margin_ms / 1000 if message.HasField("margin_ms") else _TIME.margin_seconds,
        no_clock=message.no_clock,
    )


def failure_policy_message(policy: FailurePolicy) -> pb.FailurePolicy:
    """Write a failure policy."""
    return pb.FailurePolicy(
        max_strikes=policy.max_strikes,
        grace_ms=_milliseconds(policy.grace_seconds),
        fallback=_FALLBACKS[policy.fallback],
        disqualify_share=policy.disqualify_share,
        disqualify_games=policy.disqualify_games,
    )


def failure_policy_of(message: pb.FailurePolicy) -> FailurePolicy:
    """Read a failure policy; what isn't given is the default.

    Raises:
        ConfigError: it makes no sense.
    """
    if message.fallback not in _FALLBACKS_BACK:
        raise ConfigError(f"fallback: {message.fallback} is neither FALLBACK_NEUTRAL nor FALLBACK_RANDOM")
    given = message.HasField
    return FailurePolicy(
        max_strikes=message.max_strikes if given("max_strikes") else _POLICY.max_strikes,
        grace_seconds=message.grace_ms / 1000 if given("grace_ms") else _POLICY.grace_seconds,
        fallback=_FALLBACKS_BACK[message.fallback],
        disqualify_share=message.disqualify_share if given("disqualify_share") else _POLICY.disqualify_share,
        disqualify_games=message.disqualify_games if given("disqualify_games") else _POLICY.disqualify_games,
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
