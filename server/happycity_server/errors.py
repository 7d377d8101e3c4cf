"""Why calls are refused: typed reasons, and the one error that carries them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum

import grpc

from happycity.errors import HappyCityError, fields_named
from happycity.wire.status import StatusDetails


class Reason(Enum):
    """The reasons of the contract: each package has an `ErrorReason`, which says what they mean.

    The value is the name with the status code that comes with it.
    """

    INVALID_FIELD = "INVALID_FIELD", grpc.StatusCode.INVALID_ARGUMENT
    HELLO_EXPECTED = "HELLO_EXPECTED", grpc.StatusCode.INVALID_ARGUMENT
    PROTOCOL_VERSION = "PROTOCOL_VERSION", grpc.StatusCode.FAILED_PRECONDITION
    UNKNOWN_MATCH = "UNKNOWN_MATCH", grpc.StatusCode.NOT_FOUND
    MATCH_RUNNING = "MATCH_RUNNING", grpc.StatusCode.FAILED_PRECONDITION
    BOTS_MISSING = "BOTS_MISSING", grpc.StatusCode.FAILED_PRECONDITION
    UNAUTHENTICATED = "UNAUTHENTICATED", grpc.StatusCode.UNAUTHENTICATED
    WRONG_ROLE = "WRONG_ROLE", grpc.StatusCode.PERMISSION_DENIED
    WRONG_NAME = "WRONG_NAME", grpc.StatusCode.PERMISSION_DENIED
    REVOKED = "REVOKED", grpc.StatusCode.PERMISSION_DENIED
    REPLACED = "REPLACED", grpc.StatusCode.ABORTED
    STALLED = "STALLED", grpc.StatusCode.ABORTED
    RATE_LIMITED = "RATE_LIMITED", grpc.StatusCode.RESOURCE_EXHAUSTED
    TOO_MANY_STREAMS = "TOO_MANY_STREAMS", grpc.StatusCode.RESOURCE_EXHAUSTED
    TOO_MANY_OPEN = "TOO_MANY_OPEN", grpc.StatusCode.RESOURCE_EXHAUSTED
    SHUTTING_DOWN = "SHUTTING_DOWN", grpc.StatusCode.UNAVAILABLE
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE", grpc.StatusCode.UNAVAILABLE
    NOT_HOUSE_BOT = "NOT_HOUSE_BOT", grpc.StatusCode.PERMISSION_DENIED
    # of happycity.tournament.v1beta1
    UNKNOWN_TOURNAMENT = "UNKNOWN_TOURNAMENT", grpc.StatusCode.NOT_FOUND
    TOURNAMENT_RUNNING = "TOURNAMENT_RUNNING", grpc.StatusCode.FAILED_PRECONDITION
    ROSTER_CLOSED = "ROSTER_CLOSED", grpc.StatusCode.FAILED_PRECONDITION
    # of happycity.ladder.v1beta1
    NO_LADDER = "NO_LADDER", grpc.StatusCode.FAILED_PRECONDITION
    NOT_IN_LADDER = "NOT_IN_LADDER", grpc.StatusCode.NOT_FOUND
    CHALLENGE_CLOSED = "CHALLENGE_CLOSED", grpc.StatusCode.FAILED_PRECONDITION
    # of happycity.access.v1beta1
    INVITATION_CLOSED = "INVITATION_CLOSED", grpc.StatusCode.FAILED_PRECONDITION
    UNKNOWN_TOKEN = "UNKNOWN_TOKEN", grpc.StatusCode.NOT_FOUND

    def __init__(self, text: str, status: grpc.StatusCode) -> None:
        self.text = text
        self.status = status


_RETRY_SECONDS = {
    Reason.STALLED: 0.0,
    Reason.RATE_LIMITED: 1.0,
    Reason.TOO_MANY_STREAMS: 1.0,
    Reason.TOO_MANY_OPEN: 1.0,
}
"""After how long a call that was refused may succeed, where the refusal doesn't know it better."""


class ApiError(HappyCityError):
    """A call is refused: the reason is for programs, the text for people."""

    def __init__(
        self,
        reason: Reason,
        text: str,
        *,
        field: str = "",
        retry_seconds: float | None = None,
        **metadata: str,
    ) -> None:
        """Refuse a call; `field` is the path of the one that is wrong, if one alone is.

        `metadata` is what the contract promises with the reason.
        """
        super().__init__(text)
        self.reason = reason
        self.details = StatusDetails(
            reason=reason.text,
            metadata=metadata,
            fields=((field, text),) if field else (),
            retry_seconds=_RETRY_SECONDS.get(reason) if retry_seconds is None else retry_seconds,
        )


class ListenError(HappyCityError):
    """An address can't be listened on, or must not be in this way."""


def invalid(path: str, problem: str) -> ApiError:
    """Return the refusal of a field."""
    return ApiError(Reason.INVALID_FIELD, f"{path}: {problem}", field=path)


def too_many(
    limit: int, what: str, *, advice: str = "try again later", reason: Reason = Reason.TOO_MANY_OPEN
) -> ApiError:
    """Return the refusal of one more of something, of which `limit` are open; `advice` says what to do."""
    text = f"{limit} {what} are open already, and no more are allowed; {advice}"
    return ApiError(reason, text, limit=str(limit))


def within(part: str) -> AbstractContextManager[None]:
    """Let a ConfigError name a part of the request by its whole path."""
    return fields_named(lambda field: f"{part}.{field}" if field else part)
