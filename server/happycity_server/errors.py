"""Why calls are refused: typed reasons, and the one error that carries them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

import grpc

from happycity import ConfigError, HappyCityError
from happycity.wire import StatusDetails, traits_of

_FIELD = re.compile(r"([a-z_][a-z0-9_.\[\]]*): ")
"""How the text of an error begins that names a field."""


class Reason(Enum):
    """The reasons of the contract's `ErrorReason`, which says what each of them means."""

    INVALID_FIELD = "INVALID_FIELD"
    HELLO_EXPECTED = "HELLO_EXPECTED"
    UNKNOWN_MATCH = "UNKNOWN_MATCH"
    UNKNOWN_TOURNAMENT = "UNKNOWN_TOURNAMENT"
    MATCH_RUNNING = "MATCH_RUNNING"
    TOURNAMENT_RUNNING = "TOURNAMENT_RUNNING"
    ROSTER_CLOSED = "ROSTER_CLOSED"
    BOTS_MISSING = "BOTS_MISSING"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    WRONG_ROLE = "WRONG_ROLE"
    WRONG_NAME = "WRONG_NAME"
    REVOKED = "REVOKED"
    REPLACED = "REPLACED"
    STALLED = "STALLED"
    NO_HEARTBEAT = "NO_HEARTBEAT"
    RATE_LIMITED = "RATE_LIMITED"
    TOO_MANY_STREAMS = "TOO_MANY_STREAMS"
    TOO_MANY_OPEN = "TOO_MANY_OPEN"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    NOT_HOUSE_BOT = "NOT_HOUSE_BOT"
    NO_LADDER = "NO_LADDER"
    NOT_IN_LADDER = "NOT_IN_LADDER"
    CHALLENGE_CLOSED = "CHALLENGE_CLOSED"

    @property
    def status(self) -> grpc.StatusCode:
        """The status code that comes with the reason."""
        return grpc.StatusCode[traits_of(self.value).status]


class ApiError(HappyCityError):
    """A call is refused: the reason is for programs, the text for people."""

    def __init__(self, reason: Reason, text: str, *, retry_seconds: float = 0.0, **metadata: str) -> None:
        """Refuse a call; the text of an INVALID_FIELD begins with the field's path and a colon.

        `metadata` is what the contract promises with the reason.
        """
        super().__init__(text)
        self.reason = reason
        field = _FIELD.match(text) if reason is Reason.INVALID_FIELD else None
        self.details = StatusDetails(
            reason=reason.value,
            metadata=metadata,
            fields=((field[1], text),) if field else (),
            retry_seconds=retry_seconds,
        )


@contextmanager
def within(field: str) -> Iterator[None]:
    """Let a ConfigError name a part of the request by its whole path."""
    try:
        yield
    except ConfigError as error:
        separator = "." if _FIELD.match(str(error)) else ": "
        raise ConfigError(f"{field}{separator}{error}") from None
