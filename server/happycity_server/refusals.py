"""Why calls are refused: one table from typed reason to status, and one translator."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import Enum
from typing import Any, NoReturn, TypeVar

import grpc
import structlog
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from happycity.errors import HappyCityError

DOMAIN = "happycity"

_log = structlog.get_logger()
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class Reason(Enum):
    """A refusal's reason, named as in `ErrorReason` of the contract, and the status it comes with."""

    INVALID_FIELD = (1, grpc.StatusCode.INVALID_ARGUMENT)
    HELLO_EXPECTED = (2, grpc.StatusCode.INVALID_ARGUMENT)
    UNSUPPORTED_VERSION = (3, grpc.StatusCode.FAILED_PRECONDITION)
    UNKNOWN_MATCH = (4, grpc.StatusCode.NOT_FOUND)
    UNKNOWN_TOURNAMENT = (5, grpc.StatusCode.NOT_FOUND)
    MATCH_RUNNING = (6, grpc.StatusCode.FAILED_PRECONDITION)
    REPLACED = (7, grpc.StatusCode.ABORTED)
    SHUTTING_DOWN = (8, grpc.StatusCode.UNAVAILABLE)
    UNSUPPORTED_SERVICE = (10, grpc.StatusCode.UNIMPLEMENTED)
    UNAUTHENTICATED = (11, grpc.StatusCode.UNAUTHENTICATED)
    WRONG_ROLE = (12, grpc.StatusCode.PERMISSION_DENIED)
    WRONG_NAME = (13, grpc.StatusCode.PERMISSION_DENIED)
    RATE_LIMITED = (14, grpc.StatusCode.RESOURCE_EXHAUSTED)
    TOO_MANY_STREAMS = (15, grpc.StatusCode.RESOURCE_EXHAUSTED)
    TOO_MANY_OPEN = (16, grpc.StatusCode.RESOURCE_EXHAUSTED)
    STALLED = (17, grpc.StatusCode.ABORTED)
    NO_HEARTBEAT = (18, grpc.StatusCode.ABORTED)
    REVOKED = (19, grpc.StatusCode.PERMISSION_DENIED)
    ROSTER_CLOSED = (20, grpc.StatusCode.FAILED_PRECONDITION)
    BOTS_MISSING = (21, grpc.StatusCode.FAILED_PRECONDITION)

    @property
    def status(self) -> grpc.StatusCode:
        """The status of a refusal with this reason."""
        return self.value[1]


class Refusal(HappyCityError):  # noqa: N818 - a refused call is no error of the server
    """A call can't be served; the caller gets the reason as a program and the text as a person."""

    def __init__(self, reason: Reason, text: str, **metadata: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.metadata = metadata


def error_info(refusal: Refusal) -> ErrorInfo:
    """Return the typed part of a refusal."""
    return ErrorInfo(reason=refusal.reason.name, domain=DOMAIN, metadata=refusal.metadata)


async def abort(context: grpc.aio.ServicerContext[Any, Any], refusal: Refusal) -> NoReturn:
    """End a call with a refusal's status and error details."""
    status = refusal.reason.status
    detail = AnyMessage()
    detail.Pack(error_info(refusal))
    rich = Status(code=status.value[0], message=str(refusal), details=[detail])
    trailing = (("grpc-status-details-bin", rich.SerializeToString()),)
    try:
        await context.abort(status, str(refusal), trailing_metadata=trailing)
    except grpc.aio.AbortError as error:
        raise error from refusal  # so that refusals can be counted where all calls pass
    raise AssertionError("abort does not return")


async def _translate(context: grpc.aio.ServicerContext[Any, Any], error: Exception) -> NoReturn:
    """Turn an error of a call into its status; what nobody expected is logged and stays internal."""
    if isinstance(error, Refusal):
        await abort(context, error)
    if isinstance(error, HappyCityError):
        await abort(context, Refusal(Reason.INVALID_FIELD, str(error)))
    _log.exception("call_failed", error=repr(error))
    try:
        await context.abort(grpc.StatusCode.INTERNAL, "the server failed; its log says why")
    except grpc.aio.AbortError as aborted:
        raise aborted from error
    raise AssertionError("abort does not return")


def refusing(
    method: Callable[[Any, _Request, grpc.aio.ServicerContext[_Request, _Response]], Awaitable[_Response]],
) -> Callable[[Any, _Request, grpc.aio.ServicerContext[_Request, _Response]], Awaitable[_Response]]:
    """Wrap a unary RPC method so that its errors become statuses."""

    @functools.wraps(method)
    async def translated(
        self: object, request: _Request, context: grpc.aio.ServicerContext[_Request, _Response]
    ) -> _Response:
        try:
            return await method(self, request, context)
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 - the RPC boundary
            await _translate(context, error)

    return translated


def refusing_stream(
    method: Callable[
        [Any, _Request, grpc.aio.ServicerContext[_Request, _Response]], AsyncIterator[_Response]
    ],
) -> Callable[[Any, _Request, grpc.aio.ServicerContext[_Request, _Response]], AsyncIterator[_Response]]:
    """Wrap a server-streaming RPC method so that its errors become statuses."""

    @functools.wraps(method)
    async def translated(
        self: object, request: _Request, context: grpc.aio.ServicerContext[_Request, _Response]
    ) -> AsyncIterator[_Response]:
        try:
            async for response in method(self, request, context):
                yield response
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 - the RPC boundary
            await _translate(context, error)

    return translated
