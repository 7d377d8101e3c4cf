"""Who may call what: one table of all methods, and the caller of the call that is being served."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor

from happycity.match import name_key
from happycity_runtime.tokens import Role, Token
from happycity_server.errors import ApiError, Reason, invalid
from happycity_tournament.visibility import Viewer

MAX_REQUEST_ID = 64
"""Characters of a request id."""


class PublicRole(Enum):
    """What a caller may do without a token."""

    PUBLIC = "public"
    """Look at results and finished games, where the server is run with --public."""
    GUEST = "guest"
    """Play family games at tables, where the server is run with --public and --guests-play is not 0."""


Roles = frozenset[Role | PublicRole]
MEMBERS: Roles = frozenset({Role.BOT, Role.OBSERVER, Role.ORGANISER})
"""Who may look at what bots may see."""
READERS: Roles = MEMBERS | {PublicRole.PUBLIC}
"""Who may look at what bots may see, of which the services show the public a part."""
_BOTS = frozenset({Role.BOT})
_ORGANISERS = frozenset({Role.ORGANISER})
_PLAYERS = _BOTS | _ORGANISERS
SEATED: Roles = _PLAYERS | {PublicRole.GUEST}
"""Who may set up a table of people, or take a seat that is open to all."""
WATCHERS = frozenset({Role.OBSERVER, Role.ORGANISER})
"""Who may watch a running match: a bot would see in it how the deal goes that it plays itself."""
_VIEWERS = {Role.BOT: Viewer.BOT, Role.OBSERVER: Viewer.OBSERVER, Role.ORGANISER: Viewer.ORGANISER}
ANYONE: Roles = frozenset()
"""In `ROLES`: nobody needs a token."""

CONTRACT: Mapping[str, Mapping[str, Roles]] = {
    "happycity.v1.PlayService": {"Play": _BOTS},
    "happycity.v1.BotService": {"ListBots": READERS},
    "happycity.v1.MatchService": {
        "CreateMatch": _ORGANISERS,
        "CreatePracticeMatch": _BOTS,
        "GetMatch": READERS,  # WATCHERS for those who wait, as for WatchMatch
        "ListMatches": READERS,
        "WatchMatch": READERS,  # WATCHERS while the match runs, but for some single matches
        "GetMatchRecord": READERS,
    },
    "happycity.tournament.v1beta1.TournamentService": {
        "CreateTournament": _ORGANISERS,
        "GetTournament": READERS,
        "ListTournaments": READERS,
        "StopTournament": _ORGANISERS,
        "ResumeTournament": _ORGANISERS,
        "DeleteTournament": _ORGANISERS,
        "DisqualifyBot": _ORGANISERS,
        "WatchTournament": READERS,
        "GetStandings": READERS,  # WATCHERS for the final ratings of one that runs
    },
    "happycity.ladder.v1beta1.LadderService": {
        "GetLadder": READERS,
        "GetLeaderboard": READERS,
        "GetLadderBot": READERS,
        "ListLadderDeals": READERS,
        "CompareVersions": READERS,
        "ListSeasons": READERS,
        "CloseSeason": _ORGANISERS,
        "CreateChallenge": _BOTS,  # for their own bot
        "AcceptChallenge": _BOTS,  # likewise
        "DeclineChallenge": _BOTS,  # likewise
        "WithdrawChallenge": _BOTS,  # likewise
        "ListChallenges": MEMBERS,
        "ListFlags": _ORGANISERS,
        "CreateAct": _ORGANISERS,
        "ListActs": READERS,
    },
    "happycity.access.v1beta1.AccessService": {
        "Join": ANYONE,  # the invitation proves who calls
        "ListTokens": _BOTS,  # of their own owner
        "RenewToken": _BOTS,  # of their own owner
        "RevokeToken": _BOTS,  # likewise
        "CreateInvitation": _ORGANISERS,
        "ListInvitations": _ORGANISERS,
        "RevokeInvitation": _ORGANISERS,
    },
    "happycity.hosting.v1beta1.HostingService": {
        "Submit": _BOTS,  # for their own bot
        "GetSubmission": _PLAYERS,  # bots those of their own owner
        "ReadSubmission": _PLAYERS | {Role.WORKER},  # likewise
        "ListSubmissions": _PLAYERS,  # likewise
        "WithdrawSubmission": _PLAYERS,  # likewise
    },
    "happycity.v1.CatalogueService": {"GetCatalogue": ANYONE},
    "happycity.v1.ServerService": {"GetServer": ANYONE},
}
"""The roles that may call each method of the contract, by service."""
FULL_NAMES = {full_name.rpartition(".")[2]: full_name for full_name in CONTRACT}
"""The services of the contract by their names without the package, which are those of the classes."""
SECRET_ANSWERS = frozenset(
    f"/happycity.access.v1beta1.AccessService/{name}" for name in ("Join", "RenewToken", "CreateInvitation")
)
"""Methods whose answers are stored nowhere; their service makes the same secrets for a repeated call."""
_INTERNAL = {
    "happycity.worker.v1.WorkerService": {"Work": frozenset({Role.WORKER})},
    "happycity.gateway.v1beta1.GatewayService": {"Carry": frozenset({Role.GATEWAY})},
}
_GRPC_SERVICES: Mapping[str, Mapping[str, Roles]] = {
    "grpc.health.v1.Health": dict.fromkeys(("Check", "List", "Watch"), ANYONE),
    "grpc.reflection.v1alpha.ServerReflection": {"ServerReflectionInfo": ANYONE},
}

PUBLIC_SERVICES: Mapping[str, Mapping[str, Roles]] = {**CONTRACT, **_GRPC_SERVICES}
"""All services but those of workers and gateways."""
ROLES: Mapping[str, Roles] = {
    f"/{service}/{method}": roles
    for service, methods in {**PUBLIC_SERVICES, **_INTERNAL}.items()
    for method, roles in methods.items()
}
"""The roles that may call each method, by its path. A method that is missing here is refused to everybody."""


def path_of(method: Callable[..., object]) -> str:
    """Return the path of a service's method, such as /happycity.v1.MatchService/ListMatches."""
    service: object = getattr(method, "__self__", None)
    return f"/{FULL_NAMES[type(service).__name__]}/{method.__name__}"


def method_of(path: str) -> MethodDescriptor:
    """Return what the contract says of a method by its path."""
    return descriptor_pool.Default().FindMethodByName(path[1:].replace("/", "."))


def visitors_roles(*, public: bool, guests_play: bool) -> Roles:
    """Return what a caller without a token may do on a server that is run with these settings."""
    roles = {PublicRole.PUBLIC: public, PublicRole.GUEST: public and guests_play}
    return frozenset(role for role, is_held in roles.items() if is_held)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a call."""

    caller: str
    """What limits are counted by: a token's id, else the peer's address without its port."""
    roles: Roles
    token: Token | None = None
    shown: str = field(default="", repr=False)
    """The token itself, as the caller showed it; it is kept nowhere."""
    house_bot: str = ""
    """The bot that calls, if the server itself runs its program; "" for any other caller."""
    hosted_version: str = ""
    """Its version by the digest of its files, if an author has submitted it."""
    person: str = ""
    """The person at a table who calls; "" for any other caller."""

    @property
    def own_bot(self) -> str:
        """The only bot or person for which it may act; "" if it acts for none, or for any."""
        if self.token is not None and self.token.role is Role.BOT:
            return self.token.name
        return self.house_bot or self.person

    @property
    def is_guest(self) -> bool:
        """Whether it may play at tables as any visitor may, and no more: an invitation is for one table."""
        return bool(self.person) or not _PLAYERS & self.roles

    @property
    def may_play(self) -> bool:
        """Whether it may set up tables and take seats that are open to all."""
        return not self.is_guest or PublicRole.GUEST in self.roles

    @property
    def viewer(self) -> Viewer:
        """Who asks, as the rules of what is seen tell callers apart."""
        return max((seen for role, seen in _VIEWERS.items() if role in self.roles), default=Viewer.PUBLIC)

    def request_key(self, request_id: str) -> str | None:
        """Return the key under which a request is remembered, so that repeating it changes nothing.

        It has the caller before the id, as "1" is what many callers send; None without an id. ApiError if the
        id is too long.
        """
        check_request_id(request_id)
        return f"{self.caller} {request_id}" if request_id else None

    def check_name(self, name: str, *, house: Collection[str] = ()) -> None:
        """Require that a bot plays under its token's name, and none under one of the house; else ApiError."""
        if self.own_bot and name != self.own_bot:
            text = f"the token belongs to the bot {self.own_bot!r}, not to {name[:64]!r}"
            raise ApiError(Reason.WRONG_NAME, text, name=self.own_bot)
        if name != self.house_bot:
            check_free_of_house(name, house)

    def require_token(self, what: str) -> None:
        """Require that the caller may see more than the public; else ApiError: `what` needs a token."""
        if self.viewer is Viewer.PUBLIC:
            raise ApiError(Reason.UNAUTHENTICATED, f"{what} needs a token: set HAPPYCITY_TOKEN")

    def require(self, roles: Roles) -> None:
        """Require that the caller has one of `roles`; else ApiError."""
        if roles & self.roles:
            return
        if self.viewer is Viewer.PUBLIC and self.token is None:
            self.require_token("this call")
        held, needed = (
            ",".join(sorted(role.value for role in some if isinstance(role, Role)))
            for some in (self.roles, roles)
        )
        subject = "without a token the roles are" if self.token is None else "the token's role is"
        raise ApiError(
            Reason.WRONG_ROLE,
            f"{subject} {held}; this call needs {needed or 'a role that does not exist'}",
            role=held,
            needed=needed,
        )


principal_variable: ContextVar[Principal] = ContextVar("principal")
"""Set by the gate for each call."""


def principal() -> Principal:
    """Return who makes the call that is being served."""
    return principal_variable.get()


def check_request_id(request_id: str) -> None:
    """Refuse a request id that is too long, by an ApiError."""
    if len(request_id) > MAX_REQUEST_ID:
        raise invalid("request_id", f"it has more than {MAX_REQUEST_ID} characters")


def check_free_of_house(name: str, house: Collection[str]) -> None:
    """Require that a name is not that of a bot of the house; else ApiError."""
    if name_key(name) in map(name_key, house):
        text = f"the name {name!r} is that of one of the server's own bots; choose another"
        raise ApiError(Reason.WRONG_NAME, text)
