"""Moments in Unix time as messages, and back again."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

LATEST = 253402300799.0
"""The end of the year 9999 in Unix time: no message has room for a later moment."""


def timestamp(unix: float | None) -> Timestamp | None:
    """Write a moment in Unix time, if there is one, as the nearest that a message has room for."""
    if unix is None:
        return None
    message = Timestamp()
    message.FromNanoseconds(round(min(max(0.0, unix), LATEST) * 1e9))  # nan becomes 0
    return message


def unix_of(message: Timestamp) -> float:
    """Read a moment in Unix time."""
    return message.ToNanoseconds() / 1e9
