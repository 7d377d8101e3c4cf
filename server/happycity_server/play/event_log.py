"""What has happened in a match, and how much of it each seat's bot has got."""

from __future__ import annotations

from collections.abc import Sequence


class EventLog:
    """The encoded events of a match, move by move, with a cursor for each seat.

    Only an answer proves that a bot has got the events: what was sent before a connection broke may have to
    be sent again.
    """

    def __init__(self, seats: int) -> None:
        self._events: list[bytes] = []
        self._sent = [0] * seats  # how much each bot was sent over its present connection
        self._acknowledged = [0] * seats  # how much each bot has answered to

    def append(self, events: bytes) -> None:
        """Add what a move brought about; every seat gets it with its next decision."""
        self._events.append(events)

    def unsent(self, seat: int) -> Sequence[bytes]:
        """Return the events for the seat's open decision: the same until it is settled."""
        return self._events[self._sent[seat] :]

    def settle(self, seat: int, *, answered: bool) -> None:
        """Note that the seat's open decision is settled, by an answer of its bot or without one."""
        self._sent[seat] = len(self._events)
        if answered:
            self._acknowledged[seat] = len(self._events)

    def rewind(self, seat: int) -> None:
        """Let the seat's next decision carry all that no answer has acknowledged."""
        self._sent[seat] = self._acknowledged[seat]

    def reset(self, seat: int) -> None:
        """Let the seat's next decision carry all that has happened in the game."""
        self._sent[seat] = self._acknowledged[seat] = 0
