"""The interceptor of all gRPC calls: has each admitted when it begins, and gives errors a status."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, nullcontext
from typing import TYPE_CHECKING, Any, Never, TypeAlias

import grpc
import structlog
from google.protobuf.message import DecodeError

from happycity import ConfigError
from happycity.errors import DealError, FieldError, IllegalMoveError, InvalidMoveError
from happycity.wire.status import STATUS_METADATA, encode_status
from happycity_runtime.addresses import address_of_peer
from happycity_server.access.gate import Gate
from happycity_server.access.roles import ANYONE, ROLES, Principal
from happycity_server.broadcast import BroadcastError
from happycity_server.errors import ApiError, Reason
from happycity_tournament.play.progress import TournamentFinishedError
from happycity_tournament.storage.errors import StoreError

if TYPE_CHECKING:  # a worker, which answers no repeated calls, keeps nothing: it needs no database
    from happycity_server.access.requests import Requests

REQUEST_SECONDS = 10.0
"""How long the message of a unary call may take to arrive after its headers."""

_log = structlog.get_logger()
_Context = grpc.aio.ServicerContext[Any, Any]
_Details = grpc.HandlerCallDetails
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class AccessInterceptor(grpc.aio.ServerInterceptor):
    """Checks token, role and limits of each call, before its first message is read."""

    def __init__(self, gate: Gate, requests: Requests | None = None) -> None:
        """Check calls by a gate, and answer repeated ones by `requests`, if there are changing calls."""
        self._gate = gate
        self._requests = requests

    async def intercept_service(
        self, continuation: Callable[[_Details], Awaitable[_Handler | None]], handler_call_details: _Details
    ) -> _Handler | None:
        """Wrap the method's handler into the checks."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None  # there is no such method

        async def serve(requests: object, context: _Context) -> None:
            shown = handler_call_details.invocation_metadata or ()
            headers = [(key, value) for key, value in shown if isinstance(value, str)]
            address = self._gate.address(address_of_peer(context.peer()), headers)
            try:
                await self._serve(handler, handler_call_details, requests, context, address)
            except ApiError as error:
                self._gate.note_refused(error, handler_call_details.method, address)
                await abort(context, *status_of(error))

        # On the wire a unary call is a stream of one message each way. Served as such, it is checked
        # before its message is read: gRPC itself would keep a call without limits until that comes.
        serialize: Any = handler.response_serializer

        def encoded(response: Any) -> bytes:
            # What is sent to many callers was encoded once for all of them.
            return response if isinstance(response, bytes) else serialize(response)

        return grpc.stream_stream_rpc_method_handler(serve, handler.request_deserializer, encoded)

    async def _serve(
        self, handler: _Handler, details: _Details, requests: Any, context: _Context, address: str
    ) -> None:
        """Serve a call, one that is a stream to its end, or until its token is revoked."""
        is_stream = handler.unary_unary is None
        await self._gate.authenticator.refresh()
        caller = self._gate.admit(
            details.method, bearer(details.invocation_metadata or ()), address, is_stream=is_stream
        )
        async with self._gate.stream(caller) if is_stream else nullcontext():
            if not handler.request_streaming:
                requests = await read_request(context)
            elif ROLES[details.method] is ANYONE:
                requests = self._charged(caller, requests)
            calls = handler.unary_unary, handler.unary_stream, handler.stream_unary, handler.stream_stream
            method: Any = next(filter(None, calls))
            if handler.unary_unary is None or self._requests is None:
                await self._run(method(requests, context), context)
                return
            running = self._requests.answer(details.method, requests, lambda: method(requests, context))
            await self._run(running, context)

    async def _charged(self, caller: Principal, requests: Any) -> AsyncIterator[Any]:
        """Pass on the messages of a stream, each of which counts as a call."""
        async for request in requests:
            self._gate.charge(caller, 1)
            yield request

    async def _run(self, running: Any, context: _Context) -> None:
        """Let a method yield its responses, return its only one, or write them itself."""
        if not inspect.isasyncgen(running):
            if (response := await self._result(running, context)) is not None:
                await context.write(response)
            return
        async with aclosing(running):
            while (response := await self._result(anext(running, None), context)) is not None:
                await context.write(response)

    async def _result(self, awaited: Awaitable[Any], context: _Context) -> Any:
        """Wait for what a service's method returns; end the call with a status if it fails."""
        try:
            return await awaited
        except grpc.aio.BaseError:  # of an end by gRPC's own services, or of a caller that has left
            raise
        except Exception as error:  # noqa: BLE001 - the RPC boundary
            known = api_error_of(error)
            self._gate.refused[known.reason.name if known is not None else "INTERNAL"] += 1
            await abort(context, *status_of(known))


async def read_request(context: _Context) -> Any:
    """Return the message of a call that has one; refuse the call if it is malformed, or does not come."""
    try:
        request = await asyncio.wait_for(context.read(), REQUEST_SECONDS)
    except TimeoutError:
        text = f"the request did not arrive within {REQUEST_SECONDS:g} s"
        raise ApiError(Reason.STALLED, text) from None
    except DecodeError:
        raise ApiError(Reason.INVALID_FIELD, "the request is not a message of this method") from None
    if request is grpc.aio.EOF:
        raise ApiError(Reason.INVALID_FIELD, "the request has no message")
    return request


def bearer(headers: Iterable[tuple[str, str | bytes]]) -> str | None:
    """Return what a call shows as its token; None if it shows none."""
    for key, value in headers:
        if key == "authorization" and isinstance(value, str):
            scheme, _, clear = value.partition(" ")
            return clear.strip() if scheme.lower() == "bearer" else ""
    return None


def api_error_of(error: Exception) -> ApiError | None:
    """Return an error as the caller gets it, None for a failure of the server; log what it hides."""
    match error:
        case TournamentFinishedError():
            return ApiError(Reason.ROSTER_CLOSED, str(error))
        case ApiError():
            return error
        case ConfigError() | DealError() | InvalidMoveError() | IllegalMoveError():
            field = error.path if isinstance(error, FieldError) else ""
            return ApiError(Reason.INVALID_FIELD, str(error), field=field)
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


def status_of(error: ApiError | None) -> tuple[grpc.StatusCode, str, bytes]:
    """Return an error's status code, its text, and its details; None is a failure of the server."""
    if error is None:
        return grpc.StatusCode.INTERNAL, "the server failed; its log says why", b""
    code = error.reason.status
    return code, str(error), encode_status(code.value[0], str(error), error.details)


async def abort(
    context: grpc.aio.ServicerContext[Any, Any], code: grpc.StatusCode, text: str, details: bytes
) -> Never:
    """End a call with a status and its details.

    A call whose caller leaves before the status is sent counts as cancelled.
    """
    try:
        await context.abort(code, text, trailing_metadata=((STATUS_METADATA, details),) if details else ())
    except grpc.aio.InternalError:  # that gRPC would log as a failure of the server
        raise asyncio.CancelledError from None
