"""How errors become the statuses of calls."""

from __future__ import annotations

from typing import Any, Never

import grpc
import structlog
from google.protobuf.message import DecodeError

from happycity import ConfigError
from happycity.errors import DealError, IllegalMoveError, InvalidMoveError
from happycity.wire.status import STATUS_METADATA, encode_status
from happycity_server.broadcast import BroadcastError
from happycity_server.errors import ApiError, Reason
from happycity_tournament.play.progress import TournamentFinishedError
from happycity_tournament.storage import StoreError

_log = structlog.get_logger()


def api_error_of(error: Exception) -> ApiError | None:
    """Return an error as the caller gets it, None for a failure of the server; log what it hides."""
    match error:
        case TournamentFinishedError():
            return ApiError(Reason.ROSTER_CLOSED, str(error))
        case ApiError():
            return error
        case ConfigError() | DealError() | InvalidMoveError() | IllegalMoveError():
            return ApiError(Reason.INVALID_FIELD, str(error))
        case DecodeError():  # in a stream of gRPC's own services
            return ApiError(Reason.INVALID_FIELD, "the message is not one of this method")
        case StoreError():
            _log.error("store_unavailable", error=str(error))
            # The text names the database, which concerns only the operator.
            text = "the server's store can't be used at present; the server's log says why"
            return ApiError(Reason.STORE_UNAVAILABLE, text)
    if not isinstance(error, BroadcastError):  # which was logged when it failed, for all who watch
        _log.exception("call_failed", error=repr(error))
    return None


async def abort(context: grpc.aio.ServicerContext[Any, Any], error: ApiError | None) -> Never:
    """End a call with an error's status and details; None is a failure of the server."""
    if error is None:
        await context.abort(grpc.StatusCode.INTERNAL, "the server failed; its log says why")
    code = error.reason.status
    encoded = encode_status(code.value[0], str(error), error.details)
    await context.abort(code, str(error), trailing_metadata=((STATUS_METADATA, encoded),))
