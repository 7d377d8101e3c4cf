"""What a bot is: a class that chooses a move for each decision of one game."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from happycity import Config, Event, Game, Move, SeatResult, View, VoidReason
from happycity.v1 import play_service_pb2 as play
from happycity.wire import (
    ShallowDecision,
    clock_of,
    coins_of,
    decision_message,
    deep_decision,
    known_event,
    known_move,
    shallow_decision,
    shallow_view_of,
)


@dataclass(frozen=True, slots=True)
class GameStarted:
    """What a bot gets before its first decision."""

    match_id: int
    config: Config
    seat: int
    """The bot's own seat, 0 to players - 1."""
    bots: tuple[str, ...]
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

    def __init__(self, message: play.Decision | ShallowDecision) -> None:
        """Take a decision as the contract has it, or as the SDK reads it from the stream."""
        if isinstance(message, play.Decision):
            message = shallow_decision(message)
        self._received = message
        self.match_id = message.match_id
        self.decision_id = message.decision_id
        """Counts the decisions of the match, all seats together, from 1."""
        self.seat = message.view.seat
        """The bot's own seat."""
        options = self._options = tuple(map(known_move, message.moves[:]))
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
            changes = map(coins_of, self._received.moves[:])
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
        clock = clock_of(self._received)
        return float(getattr(clock, field)) / 1_000_000 if clock.HasField(field) else None

    # A `functools.cached_property` has a lock until Python 3.12, which takes as long as a small bot thinks.
    _message: play.Decision | None = None
    _view: View | None = None
    _events: tuple[Event, ...] | None = None
    _coin_changes: Mapping[Move | None, int] | None = None

    @property
    def message(self) -> play.Decision:
        """As the server sent it."""
        if self._message is None:
            self._message = deep_decision(self._received)
        return self._message

    @property
    def view(self) -> View:
        """The whole public state."""
        if self._view is None:
            self._view = shallow_view_of(self._received.view)
        return self._view

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened since this seat's last decision, without what only a newer server knows."""
        if self._events is None:
            known = map(known_event, self._received.events[:])
            self._events = tuple([event for event in known if event is not None])
        return self._events

    def position_of(self, move: object) -> int:
        """Return the position of one of `moves` in the message.

        Raises:
            ValueError: it is not one of them.
        """
        if move not in self.moves:
            legal = ", ".join(map(str, self.moves))
            raise ValueError(f"the bot chose {move}, which is not legal ({legal})")
        return self._options.index(move)


class Bot:
    """Derive from this, override `choose`, and hand the class to `run`.

    Every game gets an instance of its own, made when the game starts; so attributes are the memory of
    one game, and `self.rng` makes random choices that a repeated match repeats.
    """

    def __init__(self, start: GameStarted) -> None:
        self.start = start
        self.rng = random.Random(start.seed)

    def choose(self, decision: Decision) -> Move | Awaitable[Move]:
        """Return one of `decision.moves`. May be `async def`."""
        raise NotImplementedError

    def game_over(self, over: GameOver) -> None:
        """Take note of how the game ended; by default nothing is done."""

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Take note that the match was voided and counts for nobody; by default nothing is done."""
