"""Admits calls of gRPC, pages and agents alike: token, role, rate, and the streams of one caller."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from secrets import compare_digest
from typing import Any

import structlog

from happycity_runtime.addresses import TrustedProxies, is_of_this_machine, network_of
from happycity_runtime.event_loop import spawn
from happycity_runtime.fair_share import FairShare
from happycity_runtime.rates import TokenBuckets
from happycity_runtime.tokens import Role, Token, TokenError
from happycity_server.access.roles import ANYONE, ROLES, Principal, Roles, principal_variable
from happycity_server.access.token_file import TokenFile, confirm_token, token_id
from happycity_server.errors import ApiError, Reason, too_many

SWEEP_SECONDS = 0.5
"""The longest time from a token's end, by revocation or expiry, to that of its streams."""
OPEN_STREAM_CALLS = 0.1
"""What opening a stream counts on an open server, in calls."""
TURN_SECONDS = 0.002
"""Time between the beginnings of two requests of pages: each leaves time for the bots' messages."""
MAX_WAITING = 256
"""Requests of one address that may wait for their turns."""
FILE_CALLS = 10
"""What a call counts more that changes the file of the tokens, or tries an invitation, in calls."""

GATEWAY_HEADER = "happycity-gateway"
"""What a gateway shows its token in, where it passes on the call of another caller."""

_GUESTS = frozenset(Role) - {Role.WORKER, Role.GATEWAY}
"""The roles of callers from other machines, where every caller may do everything."""
_log = structlog.get_logger()


@dataclass(eq=False, repr=False)
class Authenticator:
    """Finds out who calls, by a file of tokens, if there is one, and by those of this process."""

    tokens: TokenFile | None
    now: Callable[[], datetime]
    is_open: bool
    """Whether every caller may do everything."""
    own: dict[str, Principal] = field(default_factory=dict)
    """Who calls, by the secret tokens that this process made for programs that it starts."""
    person_by_secret: Callable[[str], str] = lambda secret: ""
    """Returns the person at a table whose secret it gets; "" if it is nobody's."""
    public: Roles = frozenset()
    """What every caller may do, also one without a token."""
    _refreshing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _confirming: set[asyncio.Task[Any]] = field(default_factory=set, init=False)

    def owner_of(self, bot: str) -> str | None:
        """Return who owns a bot: itself on an open server, else whom its newest token names, if any."""
        return bot if self.tokens is None else self.tokens.owner_of(bot)

    def bots(self) -> set[str]:
        """Return the names of the bots that have a valid token."""
        return set() if self.tokens is None else self.tokens.bots(self.now())

    def identify(self, clear: str | None, address: str) -> Principal:
        """Return the caller by the token that it shows, None if it shows none, and by its address.

        ApiError if it shows no token, or one that is malformed, unknown, revoked or expired.
        """
        for secret, caller in self.own.items():
            if clear and compare_digest(clear.encode(), secret.encode()):
                return caller
        if self.is_open:
            # The server believes the results of a worker, and the addresses that a gateway names, so one on
            # another machine needs a token.
            return Principal(network_of(address), frozenset(Role) if is_of_this_machine(address) else _GUESTS)
        if clear and (person := self.person_by_secret(clear)):
            return Principal(f"person {person}", self.public | {Role.BOT}, person=person)
        if clear is None and self.public:
            return Principal(network_of(address), self.public)
        if clear is None:
            text = "this server needs a token: set HAPPYCITY_TOKEN"
            raise ApiError(Reason.UNAUTHENTICATED, text)
        token = None if self.tokens is None else self.tokens.find(clear, self.now())
        if token is None or self.tokens is None:
            known = token_id(clear)
            text = f"the token {known} is unknown, revoked or expired" if known else "the token is malformed"
            raise ApiError(Reason.UNAUTHENTICATED, text)
        if token.replaces and self.tokens.end_replaced(token):
            spawn(self._confirm(self.tokens, token), self._confirming)
        return Principal(f"token {token.id}", self.public | {token.role}, token, shown=clear)

    async def _confirm(self, tokens: TokenFile, token: Token) -> None:
        """Store that a token was shown, and so the one that it replaces has ended."""
        try:
            await asyncio.to_thread(confirm_token, tokens, token)
        except (TokenError, OSError) as error:  # it is tried again when the token is shown next
            _log.error("token_not_replaced", token=token.id, text=str(error))

    async def refresh(self) -> None:
        """Read the tokens again if they changed, in a thread: a file may have thousands."""
        if self.tokens is None or not self.tokens.has_changed:
            return
        async with self._refreshing:
            try:
                if await asyncio.to_thread(self.tokens.refresh):
                    _log.info("tokens_read", path=str(self.tokens.path), tokens=len(self.tokens))
            except TokenError as error:
                _log.error("tokens_unreadable", text=f"{error}; the tokens read before stay valid")

    def revocation(self, caller: Principal) -> str:
        """Return why a caller that was identified before would be refused now; "" if it would not."""
        token, now = caller.token, self.now()
        if self.tokens is None or token is None or self.tokens.is_unchanged(token, now):
            return ""
        return f"the token {token.id} {'was revoked' if token.is_valid(now) else 'has expired'}"


@dataclass(eq=False, repr=False, kw_only=True)
class RateLimits(TokenBuckets):
    """The rate of each caller's calls, or of anything else that is counted by caller."""

    quota: str = ""
    """Describes the rate in refusals."""

    def take(self, caller: str, amount: float = 1) -> None:
        """Count a call, or an amount of what is counted; ApiError, and nothing counted, if it is too much."""
        if seconds := self.wait(caller, amount):
            text = f"more than {self.quota or f'{self.rate:g} calls a second'}; try again later"
            raise ApiError(Reason.RATE_LIMITED, text, retry_seconds=seconds)


class _OpenStream:
    """A stream that is being served."""

    def __init__(self, caller: Principal) -> None:
        self.caller = caller
        self.scope = asyncio.timeout(None)
        self.error: ApiError | None = None

    def end(self, error: ApiError) -> None:
        """End it with an error."""
        self.error = error
        self.scope.reschedule(asyncio.get_running_loop().time())


StreamPlaces = FairShare[_OpenStream]
"""Of streams that all callers share."""


@dataclass(eq=False, repr=False)
class Gate:
    """Checks token, role and rate of each call, and ends the streams of tokens that are no longer valid.

    What is not allowed, or comes too often, is refused with an ApiError.
    """

    authenticator: Authenticator
    rates: RateLimits
    streams_per_token: int
    streams_per_peer: int
    proxies: TrustedProxies
    """Those that name the addresses of their clients."""
    refused: Counter[str] = field(default_factory=Counter, init=False)
    """Refusals of all services since the start, by reason; INTERNAL counts the server's failures."""
    gateways: int = field(default=0, init=False)
    """Those that have joined."""
    streams: dict[str, set[_OpenStream]] = field(default_factory=lambda: defaultdict(set), init=False)
    """The streams of all services that are open, by caller."""
    _sweep_timer: asyncio.TimerHandle | None = field(default=None, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)
    _waiting: Counter[str] = field(default_factory=Counter, init=False)
    """By address: requests that wait for their turns."""
    _refreshing: set[asyncio.Task[Any]] = field(default_factory=set, init=False)

    async def turn(self, address: str) -> None:
        """Wait until a request of an address may begin: addresses take turns, and so do requests of one."""
        network = network_of(address)
        if self._waiting[network] >= MAX_WAITING:
            raise too_many(MAX_WAITING, "requests of your address")
        self._waiting[network] += 1
        try:
            async with self._turns.setdefault(network, asyncio.Lock()), self._turn:
                await asyncio.sleep(TURN_SECONDS)
        finally:
            self._waiting[network] -= 1
            if not self._waiting[network]:
                del self._waiting[network], self._turns[network]

    def address(self, peer: str, headers: Collection[tuple[str, str]]) -> str:
        """Return the address of the client whose call has come from an address with some headers."""
        token, is_gateway = dict(headers).get(GATEWAY_HEADER), False
        with suppress(ApiError):
            caller = None if token is None else self.authenticator.identify(token or None, peer)
            is_gateway = caller is not None and Role.GATEWAY in caller.roles
        return self.proxies.client(peer, headers, is_trusted=is_gateway)

    async def connect(self, address: str) -> None:
        """Wait until an encrypted connection with an address may begin, which counts as a call."""
        self.rates.take(network_of(address))
        await self.turn(address)

    def admit(self, method: str, clear: str | None, address: str, *, is_stream: bool) -> Principal:
        """Return who calls a method, and let `principal()` return it too; refuse what is not allowed.

        `clear` is the token that the caller shows, if any.
        """
        needed = ROLES.get(method)
        if needed is ANYONE:
            return self.admit_anonymous(address)
        try:
            caller = self.authenticator.identify(clear, address)
        except ApiError:
            # Trying tokens is limited like any other calls are.
            self.rates.take(network_of(address))
            raise
        principal_variable.set(caller)
        caller.require(needed or frozenset())
        # On an open server, thousands of streams may well come from one machine at once.
        self.rates.take(caller.caller, OPEN_STREAM_CALLS if is_stream and self.authenticator.is_open else 1)
        return caller

    def note_refused(self, error: ApiError | None, method: str, address: str) -> None:
        """Count a call that was refused, or failed by the server's fault, and log the former."""
        reason = "INTERNAL" if error is None else error.reason.name
        self.refused[reason] += 1
        if error is not None and error.reason is not Reason.RATE_LIMITED:  # which would fill the log
            _log.info("call_refused", method=method, reason=reason, peer=address, text=str(error))

    def charge(self, caller: Principal, calls: float) -> None:
        """Count something that costs a caller as much as some calls."""
        self.rates.take(caller.caller, calls)

    def admit_anonymous(self, address: str) -> Principal:
        """Return the caller of something that needs no token; only the rate is limited."""
        caller = Principal(network_of(address), frozenset())
        principal_variable.set(caller)
        self.rates.take(caller.caller)
        return caller

    @asynccontextmanager
    async def stream(self, caller: Principal, places: StreamPlaces | None = None) -> AsyncIterator[None]:
        """Count a stream of a caller while the context lasts, and end it when its token is revoked.

        It takes one of `places`, if they are given, perhaps that of another caller.
        """
        limit = self.streams_per_token if caller.token else self.streams_per_peer
        stream, own = _OpenStream(caller), self.streams[caller.caller]
        if len(own) >= limit:
            raise too_many(limit, "streams", advice="close some", reason=Reason.TOO_MANY_STREAMS)
        own.add(stream)
        try:
            if places is not None and (leaving := places.take(caller.caller, stream)) is not None:
                error = too_many(places.most, "pages", reason=Reason.TOO_MANY_STREAMS)
                if leaving is stream:
                    raise error
                leaving.end(error)
            async with stream.scope:
                yield
        except TimeoutError:
            if stream.error is None:
                raise
            raise stream.error from None
        finally:
            if places is not None:
                places.leave(stream)
            own.discard(stream)
            if not own:
                del self.streams[caller.caller]

    def start_sweeping(self) -> None:
        """Begin to end the streams of tokens that are no longer valid."""
        self._sweep_timer = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)

    def stop_sweeping(self) -> None:
        """End no more streams."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()

    def _sweep(self) -> None:
        self.start_sweeping()  # first, as no error may end the sweeping
        spawn(self.authenticator.refresh(), self._refreshing)
        for stream in list(chain.from_iterable(self.streams.values())):
            revocation = self.authenticator.revocation(stream.caller)
            if revocation and stream.error is None:
                stream.end(ApiError(Reason.REVOKED, revocation))


def house_callers(secrets: Mapping[str, str]) -> dict[str, Principal]:
    """Return the bots of the house as callers, by the tokens that `secrets` has by their names."""
    return {
        secret: Principal(f"house {name}", frozenset({Role.BOT}), house_bot=name)
        for name, secret in secrets.items()
    }
