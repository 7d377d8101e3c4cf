"""What a bot is, and what it reads: the start of a game, its decisions, and the end."""

from __future__ import annotations

import inspect
import operator
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, SupportsIndex

from happycity import Config, Event, Game, Move, SeatResult, View, VoidReason
from happycity.errors import ConfigError, HappyCityError, near_name
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import decision_message, known_events, known_moves, view_of
from happycity_client.errors import ProtocolError

if TYPE_CHECKING:
    from happycity_engine import Position, Worlds


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

    View, events, coins and time are read from the message only when they are asked for.
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
        self.notes: dict[str, float] = {}
        """What the bot has noted about its choice."""
        options = self._options = known_moves(message)
        if not options:
            raise ProtocolError("a decision without moves")
        self.moves = tuple(filter(None, options))
        """The legal moves, two or more. The first is the neutral one."""

    @classmethod
    def of(cls, game: Game, events: Sequence[Event] | None = None) -> Decision:
        """Return the decision that waits in a local game: for trying a bot without a server.

        `events` are those since the seat's last decision; None: those since the last move of the game, which
        is less.
        """
        events = game.events if events is None else events
        return cls(decision_message(game, match_id=0, decision_id=0, events=events))

    def note(self, /, **numbers: float) -> None:
        """Send numbers about the choice with it, such as `depth=3, nodes=1200`, for records and reports.

        They don't affect the game. A later number replaces an earlier one of the same name. The server keeps
        at most 16 numbers of a choice, finite ones, with names of 1 to 32 letters, digits or any of . _ + -
        and drops others with a notice; the choice counts all the same.
        """
        for name, number in numbers.items():
            # Half a character, which a str may hold, can't be sent; the server drops such a name anyway.
            self.notes[name.encode(errors="replace").decode()] = float(number)

    def coins(self, move: Move) -> int:
        """Return how much one of `moves` changes the bot's coins: negative for a purchase."""
        return self.message.moves[self._options.index(move)].coins

    @property
    def time_left(self) -> float | None:
        """Seconds left to decide when the decision was sent; None: no limit. `message.clock` has more."""
        clock = self.message.clock
        return clock.time_left_us / 1_000_000 if clock.HasField("time_left_us") else None

    # A `functools.cached_property` has a lock until Python 3.12, which takes as long as a small bot thinks.
    _view: View | None = None
    _events: tuple[Event, ...] | None = None
    _worlds: Worlds | None = None

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

    def position(self, *, seed: int) -> Position:
        """Return the native engine's position here, with what is hidden drawn from `seed` (0 to 2^64 - 1).

        It is for searches: other seeds give other worlds. It takes the extra `happycity[engine]`.

        Raises:
            ImportError: the extra is not installed.
        """
        if self._worlds is None:
            from happycity_engine import Worlds  # noqa: PLC0415  # only searches need it

            self._worlds = Worlds(self.message.view.SerializeToString())
        return self._worlds.sample(seed=seed)

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
        error = IllegalChoiceError(f"the bot chose {choice}, which is not legal")
        error.add_note(", ".join(map(str, self.moves)))  # for the log only: equal errors are counted together
        raise error


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
