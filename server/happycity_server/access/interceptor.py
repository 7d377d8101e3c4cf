"""The interceptor of all calls: checks each when it begins, and ends those that fail with a status."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from secrets import compare_digest
from typing import Any, TypeAlias

import grpc
import structlog
from google.protobuf.message import DecodeError

from happycity.runtime.tokens import Role, TokenError, TokenFile, token_id
from happycity_server.access.limits import ConcurrencyLimits, RateLimits, StreamCounts
from happycity_server.access.roles import EVERYBODY, ROLES, Principal, principal_variable, require
from happycity_server.access.statuses import abort, api_error_of
from happycity_server.errors import ApiError, Reason

SWEEP_SECONDS = 0.5
"""A stream whose token was revoked, or has expired, is ended after so long at the latest."""
REQUEST_SECONDS = 10.0
"""How long the message of a unary call may take to arrive after its headers."""

_log = structlog.get_logger()
_Context = grpc.aio.ServicerContext[Any, Any]
_Details = grpc.HandlerCallDetails
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Authenticator:
    """Finds out who calls. Without a tokens file everybody may do everything."""

    def __init__(
        self,
        tokens: TokenFile | None,
        *,
        now: Callable[[], datetime],
        house: Mapping[str, str] | None = None,
    ) -> None:
        """Set up the tokens of a file, and those of the bots of the house, in clear by the bots' names."""
        self._tokens = tokens
        self._now = now
        self._house = dict(house or {})

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        return self._tokens is None

    def identify(self, details: _Details, peer: str) -> Principal:
        """Return the caller.

        Raises:
            ApiError: it shows no token, or one that is malformed, unknown, revoked or expired.
        """
        clear = _bearer(details)
        for name, secret in self._house.items():
            if clear and compare_digest(clear.encode(), secret.encode()):
                return Principal(f"house {name}", frozenset({Role.BOT}), house_bot=name)
        if self._tokens is None:
            return Principal(_host(peer), frozenset(Role))
        if clear is None:
            text = "this server needs a token: send authorization: Bearer TOKEN"
            raise ApiError(Reason.UNAUTHENTICATED, text)
        self.refresh()
        token = self._tokens.find(clear, self._now())
        if token is None:
            known = token_id(clear)
            text = f"the token {known} is unknown, revoked or expired" if known else "the token is malformed"
            raise ApiError(Reason.UNAUTHENTICATED, text)
        return Principal(f"token {token.id}", frozenset({token.role}), token)

    def refresh(self) -> None:
        """Read the tokens again if they changed."""
        if self._tokens is None:
            return
        try:
            # A small local file, and only when it changed: not worth a thread.
            if self._tokens.refresh():
                _log.info("tokens_read", path=str(self._tokens.path), tokens=len(self._tokens))
        except TokenError as error:
            _log.error("tokens_unreadable", text=f"{error}; the tokens read before stay valid")

    def revocation(self, caller: Principal) -> str:
        """Return why a caller that was identified before would be refused now; "" if it would not."""
        token, now = caller.token, self._now()
        if self._tokens is None or token is None or self._tokens.still_holds(token, now):
            return ""
        return f"the token {token.id} {'was revoked' if token.is_valid(now) else 'has expired'}"


class _OpenStream:
    """A stream that is being served."""

    def __init__(self, caller: Principal) -> None:
        self.caller = caller
        self.scope = asyncio.timeout(None)
        self.revocation = ""


class AccessInterceptor(grpc.aio.ServerInterceptor):
    """Checks token, role and limits of each call, before its first message is read."""

    def __init__(
        self,
        authenticator: Authenticator,
        *,
        rates: RateLimits,
        concurrency: ConcurrencyLimits,
        streams_per_token: int,
        streams_per_peer: int,
    ) -> None:
        self.refused: Counter[str] = Counter()
        """Refusals of all services since the start, by reason; INTERNAL counts the server's failures."""
        self._authenticator = authenticator
        self._rates = rates
        self._concurrency = concurrency
        self._counts = StreamCounts()
        self._streams_per_token = streams_per_token
        self._streams_per_peer = streams_per_peer
        self._streams: set[_OpenStream] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None

    @property
    def open_streams(self) -> int:
        """How many streams of all services are open."""
        return len(self._streams)

    async def intercept_service(
        self,
        continuation: Callable[[_Details], Awaitable[_Handler | None]],
        handler_call_details: _Details,
    ) -> _Handler | None:
        """Wrap the method's handler into the checks."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None  # there is no such method

        async def serve(requests: object, context: _Context) -> None:
            try:
                if handler.unary_unary is not None:
                    await self._serve_call(handler.unary_unary, handler_call_details, context)
                else:
                    await self._serve_stream(handler, handler_call_details, requests, context)
            except ApiError as error:
                await self._refuse(error, handler_call_details, context)

        # On the wire a unary call is a stream of one message each way. Served as such, it is checked
        # before its message is read: gRPC itself would keep a call without limits until that comes.
        return grpc.stream_stream_rpc_method_handler(
            serve, handler.request_deserializer, handler.response_serializer
        )

    def start_sweeping(self) -> None:
        """Begin to end the streams of tokens that are no longer valid."""
        self._sweep_timer = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)

    def stop_sweeping(self) -> None:
        """End no more streams."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()

    def _sweep(self) -> None:
        self.start_sweeping()  # first, as no error may end the sweeping
        self._rates.sweep()
        self._authenticator.refresh()
        for stream in list(self._streams):
            revocation = self._authenticator.revocation(stream.caller)
            if revocation and not stream.revocation:
                stream.revocation = revocation
                stream.scope.reschedule(asyncio.get_running_loop().time())

    async def _serve_call(self, method: Callable[..., Any], details: _Details, context: _Context) -> None:
        self._admit(details, context, is_stream=False)
        request = await _read_request(context)
        with self._concurrency.slot(details.method):
            response = await self._result(method(request, context), context)
        await context.write(response)

    async def _serve_stream(
        self, handler: _Handler, details: _Details, requests: object, context: _Context
    ) -> None:
        """Serve a stream to its end, or until its token is revoked."""
        caller = self._admit(details, context, is_stream=True)
        limit = self._streams_per_token if caller.token else self._streams_per_peer
        with self._counts.slot(caller.caller, limit):
            if not handler.request_streaming:
                requests = await _read_request(context)
            method: Any = handler.unary_stream or handler.stream_stream
            stream = _OpenStream(caller)
            self._streams.add(stream)
            try:
                async with stream.scope:
                    await self._run(method(requests, context), context)
            except TimeoutError:
                if not stream.revocation:
                    raise
                raise ApiError(Reason.REVOKED, stream.revocation) from None
            finally:
                self._streams.discard(stream)

    async def _run(self, running: Any, context: _Context) -> None:
        """Let a method yield its responses, or write them itself."""
        if not inspect.isasyncgen(running):
            await self._result(running, context)
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
            self.refused[known.reason.name if known is not None else "INTERNAL"] += 1
            await abort(context, known)

    def _admit(self, details: _Details, context: _Context, *, is_stream: bool) -> Principal:
        """Return who calls; refuse a call that is not allowed, or is one too many."""
        needed, peer = ROLES.get(details.method), context.peer()
        if needed is EVERYBODY:
            caller = Principal(_host(peer), frozenset())
        else:
            try:
                caller = self._authenticator.identify(details, peer)
            except ApiError:
                # Trying tokens is limited like any other calls are.
                self._rates.take(_host(peer))
                raise
        principal_variable.set(caller)
        if needed is not EVERYBODY:
            require(needed or frozenset())
        # On an open server, thousands of streams may well come from one machine at once.
        if not (is_stream and self._authenticator.is_open):
            self._rates.take(caller.caller)
        return caller

    async def _refuse(self, error: ApiError, details: _Details, context: _Context) -> None:
        reason = error.reason.name
        self.refused[reason] += 1
        if error.reason is not Reason.RATE_LIMITED:  # a caller that calls too often would fill the log too
            _log.info(
                "call_refused", method=details.method, reason=reason, peer=context.peer(), text=str(error)
            )
        await abort(context, error)


async def _read_request(context: _Context) -> Any:
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


def _bearer(details: _Details) -> str | None:
    """Return what a call shows as its token; None if it shows none."""
    for key, value in details.invocation_metadata or ():
        if key == "authorization" and isinstance(value, str):
            scheme, _, clear = value.partition(" ")
            return clear.strip() if scheme.lower() == "bearer" else ""
    return None


def _host(peer: str) -> str:
    """Return a peer's address without its port: `ipv4:127.0.0.1:5` is `ipv4:127.0.0.1`."""
    return "unix" if peer.startswith("unix") else peer.rpartition(":")[0]
