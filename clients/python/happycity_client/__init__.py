"""The Python SDK: a bot is a class with one method, `choose`."""

from happycity import BotInfo
from happycity_client.bot import Bot, Decision, GameOver, GameStarted
from happycity_client.client import ConnectionFailedError, play, run, run_until_stopped
from happycity_client.log import log_to_stderr
from happycity_client.player import BotFactory
from happycity_client.practice import PracticeError, PracticeGame, practice_games, practise
from happycity_client.settings import Settings

__all__ = [
    "Bot",
    "BotFactory",
    "BotInfo",
    "ConnectionFailedError",
    "Decision",
    "GameOver",
    "GameStarted",
    "PracticeError",
    "PracticeGame",
    "Settings",
    "log_to_stderr",
    "play",
    "practice_games",
    "practise",
    "run",
    "run_until_stopped",
]
