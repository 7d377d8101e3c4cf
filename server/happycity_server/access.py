"""Who may call what: one table of all methods, and the interceptor that enforces it, once for each call."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import grpc
import structlog

from happycity.v1 import play_service_pb2 as play
from happycity_server.bearer import token_id
from happycity_server.limits import CallRates, Openings, StreamCounts
from happycity_server.refusals import Reason, Refusal, abort
from happycity_server.tokens import Role, Token, TokenError, TokenFile

SWEEP_SECONDS = 0.5
"""A stream whose token was revoked, or has expired, is ended after so long at the latest."""

_READERS = frozenset(Role)
_PLAYERS = frozenset({Role.BOT})
_ORGANISERS = frozenset({Role.ORGANISER})
WATCHERS = frozenset({Role.OBSERVER, Role.ORGANISER})
"""Who may watch a running match: a bot would see in it how the deal goes that it plays itself."""
EVERYBODY: frozenset[Role] = frozenset()
"""In `ROLES`: nobody needs a token."""

ROLES: Mapping[str, frozenset[Role]] = {
    "/happycity.v1.PlayService/Play": _PLAYERS,
    "/happycity.v1.MatchService/CreateMatch": _ORGANISERS,
    "/happycity.v1.MatchService/GetMatch": _READERS,
    "/happycity.v1.MatchService/ListMatches": _READERS,
    "/happycity.v1.MatchService/WatchMatch": _READERS,  # WATCHERS while the match runs
    "/happycity.v1.MatchService/GetMatchRecord": _READERS,
    "/happycity.v1.TournamentService/CreateTournament": _ORGANISERS,
    "/happycity.v1.TournamentService/GetTournament": _READERS,
    "/happycity.v1.TournamentService/ListTournaments": _READERS,
    "/happycity.v1.TournamentService/StopTournament": _ORGANISERS,
    "/happycity.v1.TournamentService/ResumeTournament": _ORGANISERS,
    "/happycity.v1.TournamentService/AddBots": _ORGANISERS,
    "/happycity.v1.TournamentService/WithdrawBot": _ORGANISERS,
    "/happycity.v1.TournamentService/WatchTournament": _READERS,
    "/happycity.v1.TournamentService/GetStandings": _READERS,
    "/happycity.v1.SimulationService/Explore": frozenset({Role.BOT, Role.ORGANISER}),
    "/happycity.v1.SimulationService/RollOut": frozenset({Role.BOT, Role.ORGANISER}),
    "/happycity.v1.CatalogueService/GetCatalogue": EVERYBODY,
    "/grpc.health.v1.Health/Check": EVERYBODY,
    "/grpc.health.v1.Health/List": EVERYBODY,
    "/grpc.health.v1.Health/Watch": EVERYBODY,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": EVERYBODY,
}
"""The roles that may call each method. A method that is missing here is refused to everybody."""

_log = structlog.get_logger()
_Context = grpc.aio.ServicerContext[Any, Any]
_Details = grpc.HandlerCallDetails


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a call."""

    caller: str
    """Whom limits are counted for: a token's id, else the peer's address without its port."""
    roles: frozenset[Role]
    token: Token | None = None

    @property
    def bot_name(self) -> str | None:
        """The only name under which the caller may play; None if any will do."""
        return self.token.name if self.token is not None and self.token.role is Role.BOT else None


_principal: ContextVar[Principal] = ContextVar("principal")


def principal() -> Principal:
    """Return who makes the call that is being served."""
    return _principal.get()


def require(roles: frozenset[Role]) -> None:
    """Refuse the call that is being served unless its caller has one of `roles`.

    For what the method alone does not decide.

    Raises:
        Refusal: the caller has none.
    """
    _check_roles(principal(), roles)


def admit(hello: play.Hello, _context: object = None) -> None:
    """Refuse a bot that says a name which is not its token's.

    Raises:
        Refusal: it does.
    """
    name = principal().bot_name
    if name is not None and hello.name != name:
        raise Refusal(
            Reason.WRONG_NAME,
            f"the token belongs to the bot {name!r}, not to {hello.name[:64]!r}",
            name=name,
        )


def _check_roles(caller: Principal, roles: frozenset[Role]) -> None:
    if roles & caller.roles:
        return
    held = ",".join(sorted(role.value for role in caller.roles))
    needed = ",".join(sorted(role.value for role in roles))
    raise Refusal(
        Reason.WRONG_ROLE,
        f"the token's role is {held}; this call needs {needed or 'what nobody has'}",
        role=held,
        needed=needed,
    )


class Authenticator:
    """Tells who calls. Without a tokens file everybody may do everything."""

    def __init__(self, tokens: TokenFile | None, *, now: Callable[[], datetime]) -> None:
        self._tokens = tokens
        self._now = now

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        return self._tokens is None

    def identify(self, details: _Details, peer: str) -> Principal:
        """Return the caller, one without roles if it shows no token.

        Raises:
            Refusal: it shows a token that is none, or not any more.
        """
        host = _host(peer)
        if self._tokens is None:
            return Principal(host, frozenset(Role))
        clear = _bearer(details)
        if clear is None:
            return Principal(host, frozenset())
        self.refresh()
        token = self._tokens.find(clear, self._now())
        if token is None:
            known = token_id(clear)
            told = f"the token {known} is unknown, revoked or expired" if known else "that is no token"
            raise Refusal(Reason.UNAUTHENTICATED, told)
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
            _log.error("tokens_unreadable", text=f"{error}; those read before stay valid")

    def farewell(self, caller: Principal) -> str | None:
        """Say why a caller that was identified before would be refused now; None if it would not."""
        token, now = caller.token, self._now()
        if self._tokens is None or token is None or self._tokens.still_holds(token, now):
            return None
        return f"the token {token.id} {'was revoked' if token.is_valid(now) else 'has expired'}"


class _Stream:
    """A stream that is open."""

    def __init__(self, caller: Principal) -> None:
        self.caller = caller
        self.scope = asyncio.timeout(None)
        self.farewell = ""

    def end(self, farewell: str) -> None:
        """End the stream from outside."""
        self.farewell = farewell
        self.scope.reschedule(asyncio.get_running_loop().time())


class AccessInterceptor(grpc.aio.ServerInterceptor):
    """Checks each call once, when it begins: token, role, and limits. Messages pass it by."""

    def __init__(
        self,
        authenticator: Authenticator,
        *,
        rates: CallRates,
        openings: Openings,
        streams_per_token: int,
        streams_per_peer: int,
    ) -> None:
        self.refused: Counter[str] = Counter()
        """Refusals since the start, by reason; of all services, whoever refused. INTERNAL is a failure."""
        self._authenticator = authenticator
        self._rates = rates
        self._openings = openings
        self._counts = StreamCounts()
        self._streams_per_token = streams_per_token
        self._streams_per_peer = streams_per_peer
        self._streams: set[_Stream] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None

    @property
    def open_streams(self) -> int:
        """How many streams of all services are open."""
        return len(self._streams)

    async def intercept_service(
        self,
        continuation: Callable[[_Details], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: _Details,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method's handler into the checks."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None  # there is no such method
        coders = (handler.request_deserializer, handler.response_serializer)
        if handler.unary_unary is not None:
            call = self._call(handler.unary_unary, handler_call_details)
            return grpc.unary_unary_rpc_method_handler(call, *coders)
        if handler.unary_stream is not None:
            stream = self._stream(handler.unary_stream, handler_call_details)
            return grpc.unary_stream_rpc_method_handler(stream, *coders)
        assert handler.stream_stream is not None  # the contract has no client streams
        stream = self._stream(handler.stream_stream, handler_call_details)
        return grpc.stream_stream_rpc_method_handler(stream, *coders)

    def start_sweeping(self) -> None:
        """Begin to end the streams of tokens that are not valid any more."""
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
            farewell = self._authenticator.farewell(stream.caller)
            if farewell is not None and not stream.farewell:
                stream.end(farewell)

    def _call(self, method: Callable[..., Any], details: _Details) -> Callable[..., Any]:
        async def checked(request: object, context: _Context) -> Any:
            try:
                _principal.set(self._checked(details, context, is_stream=False))
                with self._openings.one_more(details.method):
                    return await method(request, context)
            except Refusal as refusal:
                await self._refuse(refusal, details, context)
            except grpc.aio.AbortError as error:
                self._count(error)
                raise

        return checked

    def _stream(self, method: Callable[..., Any], details: _Details) -> Callable[..., Any]:
        async def checked(request: object, context: _Context) -> None:
            try:
                caller = self._checked(details, context, is_stream=True)
                _principal.set(caller)
                limit = self._streams_per_token if caller.token else self._streams_per_peer
                with self._counts.one_more(caller.caller, limit):
                    await self._run(caller, method(request, context), context)
            except Refusal as refusal:
                await self._refuse(refusal, details, context)
            except grpc.aio.AbortError as error:
                self._count(error)
                raise

        return checked

    async def _run(self, caller: Principal, running: Any, context: _Context) -> None:
        """Serve a stream to its end, or until its token is revoked."""
        stream = _Stream(caller)
        self._streams.add(stream)
        try:
            async with stream.scope:
                if inspect.isasyncgen(running):
                    await _write_all(running, context)
                else:
                    await running
        except TimeoutError:
            if not stream.farewell:
                raise
            raise Refusal(Reason.REVOKED, stream.farewell) from None
        finally:
            self._streams.discard(stream)

    def _checked(self, details: _Details, context: _Context, *, is_stream: bool) -> Principal:
        """Return who calls.

        Raises:
            Refusal: the call is not allowed, or is one too many.
        """
        needed, peer = ROLES.get(details.method), context.peer()
        try:
            if needed is EVERYBODY:
                caller = Principal(_host(peer), frozenset())
            else:
                caller = self._authenticator.identify(details, peer)
                if not caller.roles:
                    raise Refusal(
                        Reason.UNAUTHENTICATED, "this server wants a token: send authorization: Bearer TOKEN"
                    )
        except Refusal:
            # Trying tokens is limited like any other calls are.
            self._rates.take(_host(peer))
            raise
        if needed is not EVERYBODY:
            _check_roles(caller, needed or frozenset())
        # On an open server, thousands of streams may well come from one machine at once.
        if not (is_stream and self._authenticator.is_open):
            self._rates.take(caller.caller)
        return caller

    async def _refuse(self, refusal: Refusal, details: _Details, context: _Context) -> None:
        self.refused[refusal.reason.name] += 1
        if refusal.reason is not Reason.RATE_LIMITED:  # whoever calls too often would fill the log as well
            _log.info(
                "call_refused",
                method=details.method,
                reason=refusal.reason.name,
                peer=context.peer(),
                text=str(refusal),
            )
        await abort(context, refusal)

    def _count(self, error: grpc.aio.AbortError) -> None:
        cause = error.__cause__
        if isinstance(cause, Refusal):
            self.refused[cause.reason.name] += 1
        elif cause is not None:
            self.refused["INTERNAL"] += 1


async def _write_all(responses: AsyncGenerator[Any, Any], context: _Context) -> None:
    async with aclosing(responses):
        async for response in responses:
            await context.write(response)


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
