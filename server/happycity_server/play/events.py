"""What happens where matches are played, for the parts of a server that have to know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, ParamSpec

if TYPE_CHECKING:
    from happycity.hosting.v1beta1.hosting_service_pb2 import Submission
    from happycity.tournament.v1beta1.tournament_service_pb2 import MatchIncident
    from happycity_server.play.session import Session

_P = ParamSpec("_P")


class Listeners(list[Callable[_P, None]], Generic[_P]):
    """Those who are called, in their order, whenever something happens."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Tell all of them; one may leave meanwhile."""
        for listener in [*self]:
            listener(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Events:
    """Who is called when something happens in a lobby, or at the workers of its server."""

    arrived: Listeners[[Session]] = field(default_factory=Listeners)
    """A bot has connected to the lobby; `changed` follows."""
    changed: Listeners[[]] = field(default_factory=Listeners)
    """Other bots are connected to the lobby or a worker, or a worker comes or goes."""
    incident: Listeners[[int, MatchIncident]] = field(default_factory=Listeners)
    """In a tournament, which comes first, there was a strike or a forfeit."""
    swept: Listeners[[]] = field(default_factory=Listeners)
    """The lobby has noticed what is due by its clock."""
    match_over: Listeners[[]] = field(default_factory=Listeners)
    """A match is over, and its bots have more room."""
    usage_reported: Listeners[[Iterable[Submission]]] = field(default_factory=Listeners)
    """A worker reports what hosted bots have used on its machine."""
    worker_silent: Listeners[[str]] = field(default_factory=Listeners)
    """The worker of this name gives no sign of life any longer."""
