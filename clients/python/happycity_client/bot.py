"""What a bot is, and what it reads: the start of a game, its decisions, and the end."""

from __future__ import annotations

import inspect
import operator
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Literal, SupportsIndex

from happycity import Config, ConfigError, Event, Game, HappyCityError, Move, SeatResult, View, VoidReason
from happycity.errors import near_name
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import decision_message, known_events, known_moves, view_of
from happycity_client.errors import ProtocolError


class IllegalChoiceError(HappyCityError):
    """What `choose` returned is not one of the moves."""


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


class Decision:
    """A choice that waits for this bot. It carries everything, so a bot need not remember anything.

    View, events, coins and times are read from the message only when they are asked for.
    """

    def __init__(self, message: play.Decision) -> None:
        """Take a decision as the contract has it.

        Raises:
            ProtocolError: it has no moves.
        """
        self.message = message
        """As the server sent it."""
        self.match_id = message.match_id
        self.decision_id = message.decision_id
        """Counts the decisions of the match, all seats together, from 1."""
        self.seat = message.view.seat
        """The bot's own seat."""
        options = self._options = known_moves(message)
        if not options:
            raise ProtocolError("a decision without moves")
        self.moves = tuple(filter(None, options))
        """The legal moves, two or more. The first is the neutral one."""

    @classmethod
    def of(cls, game: Game) -> Decision:
        """Return the decision that waits in a local game: for trying a bot without a server."""
        return cls(decision_message(game, match_id=0, decision_id=0, events=game.events))

    notes: Mapping[str, float] = MappingProxyType({})
    """What the bot has noted about its choice."""

    def note(self, /, **numbers: float) -> None:
        """Send numbers about the choice with it, such as `depth=3, nodes=1200`, for records and reports.

        They don't affect the game. A later number replaces an earlier one of the same name. The server keeps
        at most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of . _ + -
        and drops others with a notice; the choice counts all the same.
        """
        # Half a character, which a str may hold, can't be sent; the server drops such a name anyway.
        self.notes = {
            **self.notes,
            **{name.encode(errors="replace").decode(): float(number) for name, number in numbers.items()},
        }

    def coins(self, move: Move) -> int:
        """Return by how much one of `moves` changes the own coins: negative for a purchase."""
        if self._coin_changes is None:
            changes = [option.coins for option in self.message.moves]
            self._coin_changes = dict(zip(self._options, changes, strict=True))
        return self._coin_changes[move]

    @property
    def time_left(self) -> float | None:
        """Seconds left to decide when the decision was sent; None: no limit."""
        return self._seconds("time_left_us")

    @property
    def bank_left(self) -> float | None:
        """Seconds left in the seat's bank for this game; None: no bank."""
        return self._seconds("bank_left_us")

    @property
    def last_think(self) -> float | None:
        """Seconds that the seat's last decision took on the server's clock; None before the first one."""
        return self._seconds("last_think_us")

    @property
    def round_trip(self) -> float | None:
        """Seconds of the last measured round trip, a part of the think time; None before the first one."""
        return self._seconds("round_trip_us")

    def _seconds(
        self, field: Literal["time_left_us", "bank_left_us", "last_think_us", "round_trip_us"]
    ) -> float | None:
        clock = self.message.clock
        return float(getattr(clock, field)) / 1_000_000 if clock.HasField(field) else None

    # A `functools.cached_property` has a lock until Python 3.12, which takes as long as a small bot thinks.
    _view: View | None = None
    _events: tuple[Event, ...] | None = None
    _coin_changes: Mapping[Move | None, int] | None = None

    @property
    def view(self) -> View:
        """The whole public state."""
        if self._view is None:
            self._view = view_of(self.message.view)
        return self._view

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened since this seat's last decision, without what only a newer server knows."""
        if self._events is None:
            self._events = known_events(self.message)
        return self._events

    def position_of(self, choice: object) -> int:
        """Return the position in the message of a choice: one of `moves`, or a position in `moves`.

        Raises:
            IllegalChoiceError: it is neither.
        """
        if isinstance(choice, Move):
            if choice in self.moves:
                return self._options.index(choice)
        elif choice is None:
            raise IllegalChoiceError("choose returned None: is a return missing?")
        elif isinstance(choice, SupportsIndex) and not isinstance(choice, bool | Enum):
            position = operator.index(choice)
            if 0 <= position < len(self.moves):
                return self._options.index(self.moves[position])
        legal = ", ".join(map(str, self.moves))
        raise IllegalChoiceError(f"the bot chose {choice}, which is not legal ({legal})")


NO_GAME = GameStarted(match_id=0, config=Config(), seat=0, bots=(), seed=0)
"""For a bot that is made by hand, to try it without a server."""


class Bot:
    """Derive from this, override `choose`, and hand the class to `run`.

    Every game gets an instance of its own, made when the game starts; so attributes are the memory of
    one game, and `self.rng` makes random choices that a repeated match repeats.
    """

    def __init__(self, start: GameStarted = NO_GAME) -> None:
        self.start = start
        self.rng = random.Random(start.seed)

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
        ConfigError: it is an instance, has no `choose`, or its methods take other arguments.
    """
    name = getattr(bot, "__name__", type(bot).__name__)
    if not callable(bot):
        raise ConfigError(f"a bot is made for each game: write run({name}), without parentheses after {name}")
    if isinstance(bot, type):
        if not issubclass(bot, Bot):
            raise ConfigError(f"{name} is not derived from Bot: write class {name}(Bot)")
        if bot.choose is Bot.choose:
            near = near_name("choose", vars(bot))
            raise ConfigError(
                f"{name} has no choose" + (f" but {near}: did you mean choose?" if near else "")
            )
        if not _takes(bot.choose, 2):
            raise ConfigError(f"{name}.choose has other parameters: write def choose(self, decision)")
    if not _takes(bot, 1):
        raise ConfigError(f"{name} has other parameters: it is called with the start of each game")


def _takes(function: Callable[..., object], count: int) -> bool:
    """Return whether a function can be called with that number of arguments, as far as it says."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # written in C, it says nothing
        return True
    return True
