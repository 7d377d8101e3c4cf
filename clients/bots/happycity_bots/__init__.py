"""Reference bots: a ladder to climb, and examples of what a bot can look like."""

from happycity_bots.catalogue import BOTS
from happycity_bots.greedy import GreedyBot
from happycity_bots.planner import PlannerBot
from happycity_bots.random_bot import RandomBot
from happycity_bots.rollout import RolloutBot

__all__ = ["BOTS", "GreedyBot", "PlannerBot", "RandomBot", "RolloutBot"]
