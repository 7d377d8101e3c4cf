"""The Python SDK: a bot is a class with one method, `choose`. It has all of `happycity`, too."""

try:
    from happycity import public
    from happycity.public import *  # noqa: F403 - so that a bot needs one import
    from happycity_client.bot import Bot, BotFactory, GameOver, GameStarted
    from happycity_client.client import play, run, run_until_stopped
    from happycity_client.decision import Decision
    from happycity_client.errors import ConnectionFailedError, IllegalChoiceError, ProtocolError
    from happycity_client.recorded import ask, read_decision
    from happycity_client.settings import Settings
except KeyboardInterrupt:  # a program that is stopped while it begins needs no traceback
    raise SystemExit(130) from None

__all__ = [
    "Bot",
    "BotFactory",
    "ConnectionFailedError",
    "Decision",
    "GameOver",
    "GameStarted",
    "IllegalChoiceError",
    "ProtocolError",
    "Settings",
    "ask",
    "play",
    "read_decision",
    "run",
    "run_until_stopped",
]
__all__ += public.__all__
