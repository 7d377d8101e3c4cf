"""The reference bots by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version

from happycity import BotInfo, ConfigError
from happycity_bots.careless import CarelessBot
from happycity_bots.champion import ChampionBot
from happycity_bots.greedy import GreedyBot
from happycity_bots.halving import TrialBudget
from happycity_bots.learner import LearnerBot
from happycity_bots.planner import PlannerBot
from happycity_bots.random_bot import RandomBot
from happycity_bots.rollout import RolloutBot
from happycity_bots.search import SearchBot
from happycity_client import Bot, GameStarted
from happycity_client.settings import LANGUAGE

BOTS: dict[str, type[Bot]] = {
    "random": RandomBot,
    "greedy": GreedyBot,
    "careless": CarelessBot,
    "planner": PlannerBot,
    "rollout": RolloutBot,
    "search": SearchBot,
    "learner": LearnerBot,
    "champion": ChampionBot,
}
"""The bots that `happycity bot` and the tests know, weakest first."""


def factory_of(
    name: str, budget: TrialBudget | None = None, mistakes: float | None = None
) -> Callable[[GameStarted], Bot]:
    """Return what makes a reference bot for each game, with a budget for each decision if there is one.

    `mistakes` is the share of decisions that `careless` takes at random.

    Raises:
        ConfigError: there is a budget or a share of mistakes, and the bot takes none.
    """
    bot = BOTS[name]
    if mistakes is not None:
        if budget is None and issubclass(bot, CarelessBot):
            return partial(bot, mistakes=mistakes)
        raise ConfigError(f"--mistakes has no effect on {name}: careless takes it")
    if budget is None:
        return bot
    if issubclass(bot, SearchBot | ChampionBot):
        return partial(bot, budget=budget)
    raise ConfigError(f"--budget has no effect on {name}: search, learner and champion take it")


def info_of(bot: type[Bot]) -> BotInfo:
    """Return what a reference bot says of itself: the first sentence of its class is the line about it."""
    return BotInfo(
        author="the Happy City project",
        version=version("happycity"),
        language=LANGUAGE,
        description=(bot.__doc__ or "").strip().partition("\n")[0],  # python -OO has no docstrings
    )
