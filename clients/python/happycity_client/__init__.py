"""The Python SDK: a bot is a class with one method, `choose`."""

from happycity_client.bot import Bot, Decision, GameOver, GameStart, VoidReason
from happycity_client.client import play_games, run, run_until_stopped
from happycity_client.errors import ConnectionFailedError
from happycity_client.player import BotFactory
from happycity_client.settings import Settings

__all__ = [
    "Bot",
    "BotFactory",
    "ConnectionFailedError",
    "Decision",
    "GameOver",
    "GameStart",
    "Settings",
    "VoidReason",
    "play_games",
    "run",
    "run_until_stopped",
]
