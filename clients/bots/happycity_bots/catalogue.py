"""The reference bots by name."""

from __future__ import annotations

from happycity_bots.greedy import GreedyBot
from happycity_bots.planner import PlannerBot
from happycity_bots.random_bot import RandomBot
from happycity_bots.rollout import RolloutBot
from happycity_client import Bot

BOTS: dict[str, type[Bot]] = {
    "random": RandomBot,
    "greedy": GreedyBot,
    "planner": PlannerBot,
    "rollout": RolloutBot,
}
"""The bots that `happycity bot` and the tests know, weakest first."""
