"""What a bot is, and what it gets of a game besides its decisions: the start and the end."""

from __future__ import annotations

import inspect
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property

from happycity import Config, Move, SeatResult, VoidReason
from happycity.errors import ConfigError, near_name
from happycity_client.decision import Decision


@dataclass(frozen=True, slots=True)
class GameStarted:
    """What a bot gets before its first decision."""

    match_id: int
    config: Config
    seat: int
    """The bot's own seat, 0 to players - 1."""
    bots: tuple[str, ...]
    """The bots' names by seat."""
    seed: int
    """Seed for the bot's own randomness, the same when the match is played again."""


@dataclass(frozen=True, slots=True)
class GameOver:
    """How a game ended."""

    match_id: int
    seats: tuple[SeatResult, ...]
    """By seat: points, place, how the seat ended, and more."""


NO_GAME = GameStarted(match_id=0, config=Config(), seat=0, bots=(), seed=0)
"""For a bot that is made by hand, to try it without a server."""


class Bot:
    """Derive from this, override `choose`, and hand the class to `run`.

    Every game gets an instance of its own, made when the game starts; so attributes are the memory of
    one game, and `self.rng` makes random choices that a repeated match repeats.
    """

    def __init__(self, start: GameStarted = NO_GAME) -> None:
        self.start = start

    @cached_property
    def rng(self) -> random.Random:
        """Randomness of one game, from its seed; made when it is used first, as it takes 2.5 kB."""
        return random.Random(self.start.seed)

    def choose(self, decision: Decision) -> Move | int | Awaitable[Move | int]:
        """Return one of `decision.moves`, or its position there. May be `async def`."""
        raise NotImplementedError

    def game_over(self, over: GameOver) -> None:
        """Take note of how the game ended; by default nothing is done."""

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Take note that the match was voided and does not count; by default nothing is done."""


BotFactory = Callable[[GameStarted], Bot]
"""Makes a bot for each game: a class derived from `Bot`, or a function."""


def check_bot(bot: object) -> None:
    """Refuse what makes no bots, before it plays.

    Raises:
        ConfigError: it is an instance, is not derived from `Bot`, or has no `choose`.
    """
    name = getattr(bot, "__name__", type(bot).__name__)
    if not callable(bot):
        raise ConfigError(f"a bot is made for each game: write run({name}), without parentheses after {name}")
    if isinstance(bot, type) and not issubclass(bot, Bot):
        raise ConfigError(f"{name} is not derived from Bot: write class {name}(Bot)")
    if isinstance(bot, type) and bot.choose is Bot.choose:
        near = near_name("choose", vars(bot))
        raise ConfigError(f"{name} has no choose" + (f" but {near}: did you mean choose?" if near else ""))
    try:
        inspect.signature(bot).bind(NO_GAME)
    except TypeError:
        raise ConfigError(f"{name} must take the start of a game: def __init__(self, start)") from None
