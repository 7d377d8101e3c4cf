"""What a bot reads of a choice that waits for it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, SupportsIndex

from happycity import Card, Event, Game, Move, View
from happycity.compiled import required
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import cards_of, decision_message, known_events, known_moves, view_of
from happycity_client.errors import IllegalChoiceError, ProtocolError

if TYPE_CHECKING:
    from happycity_engine import Position, Worlds


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
    def seat(self) -> int:
        """The bot's own seat."""
        return self.message.view.seat

    @property
    def view(self) -> View:
        """The whole public state."""
        if self._view is None:
            self._view = view_of(self.message.view)
        return self._view

    @property
    def round(self) -> int:
        """The round, as `view.round`, without reading the rest of the view."""
        return self.message.view.round

    @property
    def centre(self) -> tuple[Card, ...]:
        """The buildings in the centre, as `view.centre`, without reading the rest of the view."""
        return cards_of(self.message.view.centre[:])

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
            ConfigError: it is of another version than this package.
        """
        if self._worlds is None:
            worlds: type[Worlds] = required("Worlds")
            self._worlds = worlds(self.message.view.SerializeToString())
        return self._worlds.sample(seed=seed)

    def position_of(self, choice: object) -> int:
        """Return the position in the message of a choice: one of `moves`, or a position in `moves`.

        Raises:
            IllegalChoiceError: it is neither.
        """
        if isinstance(choice, Move):
            if choice in self._options:
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
