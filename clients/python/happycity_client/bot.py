"""What a bot is: a class that chooses a move for each decision of one game."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType

from happycity import Config, Event, Game, Move, Outcome, View


@dataclass(frozen=True, slots=True)
class GameStart:
    """What a bot is told before its first decision."""

    game_id: int
    config: Config
    seat: int
    """The bot's own seat, 0 to players - 1."""
    bots: tuple[str, ...]
    """Who sits where: the bots' names by seat."""
    seed: int
    """For the bot's own randomness: when the match is played again, it is the same."""


@dataclass(frozen=True, slots=True)
class GameOver:
    """How a game ended."""

    game_id: int
    outcome: Outcome
    """By the rules alone."""
    places: tuple[int, ...]
    """The places that count: like the outcome's ranks, but forfeited seats come last."""
    endings: tuple[str, ...]
    """How each seat ended: "finished", or "forfeit:" and a reason."""


class VoidReason(Enum):
    """Why a game was broken off. None of these is a bot's fault, and a tournament plays the game again."""

    UNSPECIFIED = "unspecified"
    """The server gave no reason, or one that this version doesn't know."""
    SHUTDOWN = "shutdown"
    """The server shut down."""
    SERVER_ERROR = "server_error"
    """The server failed in this game."""
    STOPPED = "stopped"
    """Whoever ran the match gave it up."""
    UNKNOWN = "unknown"
    """The server does not know the game any more, or begins it anew: with another instance of the bot."""


class Decision:
    """A choice that waits for this bot. It tells everything, so a bot need not remember anything.

    View and events are read from the message only when they are asked for.
    """

    def __init__(
        self,
        *,
        game_id: int,
        seat: int,
        moves: tuple[Move, ...],
        view: Callable[[], View],
        events: Callable[[], tuple[Event, ...]],
        time_left: float | None = None,
        bank_left: float | None = None,
        last_think: float | None = None,
        round_trip: float | None = None,
    ) -> None:
        self.game_id = game_id
        self.seat = seat
        """The bot's own seat."""
        self.moves = moves
        """The legal moves, two or more. The first is the neutral one."""
        self.time_left = time_left
        """Seconds left to decide when the decision was sent; None means no limit."""
        self.bank_left = bank_left
        """Seconds left in the seat's bank for this game; None without a bank, or with an empty one."""
        self.last_think = last_think
        """Seconds that the seat's last decision took on the server's clock; None before the first one."""
        self.round_trip = round_trip
        """Seconds of the last round trip that the server measured, part of the think time; None before."""
        self._view = view
        self._events = events

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

    @cached_property
    def view(self) -> View:
        """The whole public state."""
        return self._view()

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What happened since this seat's last decision."""
        return self._events()

    @classmethod
    def of(cls, game: Game) -> Decision:
        """Return the decision that waits in a local game: for trying a bot without a server."""
        view, events = game.view(), game.events
        return cls(
            game_id=0, seat=game.seat, moves=game.legal_moves, view=lambda: view, events=lambda: events
        )


class Bot:
    """Derive from this, override `choose`, and hand the class to `run`.

    Every game gets an instance of its own, made when the game starts; so attributes are the memory of
    one game, and `self.rng` makes random choices that a repeated match repeats.
    """

    def __init__(self, start: GameStart) -> None:
        self.start = start
        self.rng = random.Random(start.seed)

    def choose(self, decision: Decision) -> Move | Awaitable[Move]:
        """Return one of `decision.moves`. May be `async def`."""
        raise NotImplementedError

    def game_over(self, over: GameOver) -> None:
        """Hear how the game ended; nothing needs to be done."""

    def game_voided(self, game_id: int, reason: VoidReason) -> None:
        """Hear that the game was broken off and counts for nobody; nothing needs to be done."""
