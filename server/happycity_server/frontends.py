"""What a front end besides gRPC gets of the server: the same services, behind the same checks.

The server knows none. It looks for one among the entry points of other packages, and a front end runs in the
server's own event loop.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

import structlog
from google.protobuf.message_factory import GetMessageClass

from happycity.errors import FieldError
from happycity_runtime.event_loop import running
from happycity_runtime.installation import install_command, missing_packages
from happycity_runtime.tokens import Role
from happycity_runtime.transport import join_host_port
from happycity_server.access.gate import Gate
from happycity_server.access.requests import Requests
from happycity_server.access.roles import ROLES, Principal, method_of, path_of, principal
from happycity_server.api.access import AccessService
from happycity_server.api.ladder import LadderService
from happycity_server.api.matches import MatchService
from happycity_server.api.paging import DEFAULT_PAGE, MAX_PAGE
from happycity_server.api.play import BotService
from happycity_server.api.tournaments import TournamentService
from happycity_server.errors import ListenError
from happycity_server.people.tables import Tables

GROUP = "happycity.web"
"""The entry-point group by which a package offers the pages of a server."""
EXTRA = "web"
"""The extra of the distribution that has what the pages need."""

BACKLOG = 512
"""Connections that may wait to be accepted."""

_log = structlog.get_logger()
_Response = TypeVar("_Response")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """A server as its front ends see it.

    Callers must have been admitted by the gate in the same task, or in one that has started it. All methods
    raise what the services raise; `api_error_of` makes an ApiError of it.
    """

    gate: Gate
    requests: Requests
    access: AccessService
    bots: BotService
    matches: MatchService
    tournaments: TournamentService
    ladder: LadderService
    tables: Tables
    hosting: Any
    """Its HostingService; None if the server hosts no bots."""

    async def call(
        self,
        method: Callable[[Principal, Any], Awaitable[_Response]],
        request: object = None,
        /,
        **fields: Any,
    ) -> _Response:
        """Call a method of a service for the admitted caller, by default with a request of these fields."""
        path, caller = path_of(method), principal()
        caller.require(ROLES[path])
        asked: Any = GetMessageClass(method_of(path).input_type)(**fields) if request is None else request
        answered: _Response = await self.requests.answer(path, asked, lambda: method(caller, asked))
        return answered

    async def list_all(
        self, method: Callable[[Principal, Any], Awaitable[Any]], name: str, **filters: Any
    ) -> list[Any]:
        """Return all entries of a list, which are a field of its pages, for the admitted caller.

        A long list costs as much as asking for it by pages of the default size.
        """
        entries, token = list[Any](), None
        while token != "":
            page = await self.call(method, page_size=MAX_PAGE, page_token=token, **filters)
            entries += getattr(page, name)
            self.charge(len(getattr(page, name)) // DEFAULT_PAGE)
            token = page.next_page_token
        return entries

    def charge(self, calls: float) -> None:
        """Count something that costs as much as some calls for the admitted caller."""
        self.gate.charge(principal(), calls)

    def may_call(self, method: Callable[..., object]) -> bool:
        """Return whether the role of the admitted caller is one that may call a method of a service."""
        return bool(ROLES[path_of(method)] & principal().roles)

    def own_bot(self) -> str:
        """Return the bot whose token the admitted caller shows; "" if it shows none of a bot."""
        token = principal().token
        return token.name if token is not None and token.role is Role.BOT else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How pages are served."""

    tls: Callable[[], ssl.SSLContext] | None
    """Returns what a new connection is encrypted with, by the current certificate; None: unencrypted."""
    names: frozenset[str]
    """Names of hosts under which they are reached, besides IP addresses and localhost; in lower case."""
    viewers: int
    """Pages that may be open at once, of all visitors."""


FrontEnd = Callable[[Arena, Site, socket.socket], AbstractAsyncContextManager[None]]
"""Serves pages on a socket that listens, while the context lasts."""


@asynccontextmanager
async def pages_served(arena: Arena, host: str, port: int, site: Site) -> AsyncIterator[str]:
    """Serve pages while the context lasts, on any free port if it is 0; yield their address.

    What serves them is imported when the first visitor connects, in a thread: a run whose pages no browser
    opens would pay for it some tenths of a second and 15 MB. ConfigError if they are not installed,
    ListenError if the address can't be listened on.
    """
    entry = _entry_point()
    with _listener(host, port) as listener:
        async with running(_serve(entry, arena, site, listener)):
            yield f"{'https' if site.tls else 'http'}://{join_host_port(host, listener.getsockname()[1])}"


async def _serve(entry: EntryPoint, arena: Arena, site: Site, listener: socket.socket) -> None:
    """Import and serve pages, until this is cancelled."""
    try:
        await _first_connection(listener)
        front_end: FrontEnd = await asyncio.to_thread(entry.load)
        async with front_end(arena, site, listener):
            await asyncio.Event().wait()
    except Exception:  # noqa: BLE001 - the boundary of the pages
        _log.exception("pages_failed")


async def _first_connection(listener: socket.socket) -> None:
    """Wait until a visitor connects."""
    loop, visited = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(listener, visited.set)
    except NotImplementedError:  # on Windows
        return
    try:
        await visited.wait()
    finally:
        loop.remove_reader(listener)


def _entry_point() -> EntryPoint:
    """Return where the pages are."""
    missing = missing_packages(EXTRA)
    found = list(entry_points(group=GROUP))
    if missing or not found:
        lacks = f" ({', '.join(missing)} missing)" if missing else ""
        raise FieldError(
            "web", f"the pages are not installed{lacks}; install them by: {install_command(EXTRA)}"
        )
    return found[0]


def _listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens at once, so that an address that is taken is noticed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ListenError(
            f"web: {host}:{port} can't be listened on: {error.strerror or error}; "
            "choose another address, or port 0 for any free one"
        ) from None
    listener.setblocking(False)  # noqa: FBT003 - it takes nothing else
    return listener
