"""The Python SDK: a bot is a class with one method, `choose`."""

from happycity_client.bot import Bot, Decision, GameOver, GameStart
from happycity_client.client import (
    BotFactory,
    ConnectionFailedError,
    Settings,
    play_games,
    run,
    run_until_stopped,
)

__all__ = [
    "Bot",
    "BotFactory",
    "ConnectionFailedError",
    "Decision",
    "GameOver",
    "GameStart",
    "Settings",
    "play_games",
    "run",
    "run_until_stopped",
]
