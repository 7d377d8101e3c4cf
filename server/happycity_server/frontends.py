"""What a front end beside gRPC gets of the server: the same services, behind the same checks.

The server knows none. It looks for one among the entry points of other packages, and a front end runs in the
server's own event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

from happycity import HappyCityError
from happycity.runtime.extras import missing_packages
from happycity_server.access.gate import Gate
from happycity_server.access.roles import ROLES, Principal, require
from happycity_server.access.statuses import api_error_of
from happycity_server.services.bot import BotService
from happycity_server.services.feeds import MatchFeed
from happycity_server.services.match import MatchService
from happycity_server.services.tournament import TournamentService

__all__ = [
    "Arena",
    "FrontEnd",
    "FrontEndError",
    "Gate",
    "MatchFeed",
    "Place",
    "Principal",
    "api_error_of",
    "load",
    "path_of",
]

GROUP = "happycity.web"
"""The entry-point group by which a package offers the pages of a server."""
EXTRA = "web"
"""The extra of the distribution that has what the pages need."""

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class FrontEndError(HappyCityError):
    """A front end can't be served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """A server as its front ends see it.

    Callers must have been admitted by the gate in the same task, or in one that has started it. All methods
    raise what the services raise; `api_error_of` makes an ApiError of it.
    """

    gate: Gate
    bots: BotService
    matches: MatchService
    tournaments: TournamentService

    async def call(
        self, method: Callable[[_Request, object], Awaitable[_Response]], request: _Request
    ) -> _Response:
        """Call a method of a service for the admitted caller."""
        require(ROLES[path_of(method)])
        return await method(request, None)

    def stream(
        self, method: Callable[[_Request, object], AsyncIterator[_Response]], request: _Request
    ) -> AsyncIterator[_Response]:
        """Call a method that answers with a stream for the admitted caller."""
        require(ROLES[path_of(method)])
        return method(request, None)

    async def match_feed(self, match_id: int) -> MatchFeed:
        """Return what WatchMatch sends, in a form that any number of watchers can share."""
        require(ROLES[path_of(self.matches.WatchMatch)])
        return await self.matches.feed(match_id)


def path_of(method: Callable[..., object]) -> str:
    """Return the path of a service's method, such as /happycity.v1.MatchService/ListMatches."""
    service: object = getattr(method, "__self__", None)
    return f"/happycity.v1.{type(service).__name__}/{method.__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a front end is served."""

    host: str
    port: int
    """0 for any free one."""
    certificate: tuple[Path, Path] | None
    """Certificate and key, PEM, to encrypt with; None: in clear."""
    names: frozenset[str]
    """Names of hosts under which it is reached, besides IP addresses and localhost; in lower case."""


FrontEnd = Callable[[Arena, Place], AbstractAsyncContextManager[str]]
"""Serves while the context lasts, and yields the address.

Raises:
    FrontEndError: the address can't be listened on.
"""


def load() -> FrontEnd:
    """Return the front end that serves pages.

    Raises:
        FrontEndError: it is not installed, or lacks a package.
    """
    missing = missing_packages(EXTRA)
    found = [entry for entry in entry_points(group=GROUP) if not missing]
    if not found:
        lacks = f" ({', '.join(missing)} missing)" if missing else ""
        raise FrontEndError(
            f"web: the pages are not installed{lacks}; install them by: pip install 'happycity[{EXTRA}]'"
        )
    front_end: FrontEnd = found[0].load()
    return front_end
