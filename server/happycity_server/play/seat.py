"""A bot's place in a match, as its session sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from happycity import Ending, FailurePolicy, TimeControl


class SeatedMatch(Protocol):
    """A match in which bots have seats, which are counted from 0."""

    @property
    def match_id(self) -> int:
        """The match's number."""

    @property
    def practice(self) -> bool:
        """Whether it is a practice match."""

    def is_asked(self, seat: int) -> bool:
        """Return whether a decision waits for a seat's bot."""

    def asked_at(self, seat: int) -> float | None:
        """Return when the clock of a seat's open decision was started; None if none waits for its bot."""

    def was_asked(self, seat: int, decision_id: int) -> bool:
        """Return whether a decision is or was this seat's."""

    def answer(
        self, seat: int, decision_id: int, index: int, now: float, metrics: Mapping[str, float] | None = None
    ) -> None:
        """Take a bot's choice."""

    def forfeit(self, seat: int, ending: Ending, now: float, *, reason: str = "") -> bool:
        """Continue without a seat's bot, which is asked no more in this seat; return whether that is new."""

    def keep(self, seat: int, *, resumed: bool) -> bool:
        """Return whether a seat's bot goes on with the game over a new connection.

        A program that is not `resumed` has nothing to do with a forfeited seat, and is sent nothing of it.
        """

    def present(self, seat: int, now: float, *, resumed: bool) -> None:
        """Send the game to a seat's bot over a new connection.

        A `resumed` bot gets the events that it may have missed, another one all.
        """

    def drop(self, seat: int) -> None:
        """Send a seat's bot nothing more of this match."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One seat of one match."""

    match: SeatedMatch
    index: int
    time: TimeControl
    policy: FailurePolicy
