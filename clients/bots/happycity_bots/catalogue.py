"""The reference bots by name."""

from __future__ import annotations

from importlib.metadata import version

from happycity import BotInfo
from happycity_bots.greedy import GreedyBot
from happycity_bots.planner import PlannerBot
from happycity_bots.random_bot import RandomBot
from happycity_bots.rollout import RolloutBot
from happycity_client import Bot
from happycity_client.settings import LANGUAGE

BOTS: dict[str, type[Bot]] = {
    "random": RandomBot,
    "greedy": GreedyBot,
    "planner": PlannerBot,
    "rollout": RolloutBot,
}
"""The bots that `happycity bot` and the tests know, weakest first."""


def info_of(bot: type[Bot]) -> BotInfo:
    """Return what a reference bot says of itself: the first sentence of its class is the line about it."""
    assert bot.__doc__ is not None
    return BotInfo(
        author="the Happy City project",
        version=version("happycity"),
        language=LANGUAGE,
        description=bot.__doc__.strip().splitlines()[0],
    )
