"""Reference bots: a ladder to climb, and examples of what a bot can look like."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from happycity.compiled import check_compiled

if TYPE_CHECKING:
    from happycity_bots.careless import CarelessBot
    from happycity_bots.catalogue import BOTS
    from happycity_bots.champion import ChampionBot
    from happycity_bots.greedy import GreedyBot
    from happycity_bots.learner import LearnerBot
    from happycity_bots.planner import PlannerBot
    from happycity_bots.random_bot import RandomBot
    from happycity_bots.rollout import RolloutBot
    from happycity_bots.search import SearchBot

check_compiled(__path__[0])

__all__ = [
    "BOTS",
    "CarelessBot",
    "ChampionBot",
    "GreedyBot",
    "LearnerBot",
    "PlannerBot",
    "RandomBot",
    "RolloutBot",
    "SearchBot",
]


def __getattr__(name: str) -> Any:
    """Import the bots when they are used, so that the help of `happycity` doesn't wait for gRPC."""
    if name in __all__:
        return getattr(import_module("happycity_bots.catalogue"), name)
    raise AttributeError(name)
