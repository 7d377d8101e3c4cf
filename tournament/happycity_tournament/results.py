"""What the other modules speak of: a game that is scheduled, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from happycity.records import FINISHED

Position = tuple[int, int, int]
"""A game's place in the order of the schedule: (round, table, rotation)."""

FORFEIT = "forfeit:"
"""How the ending of a forfeited seat begins; its reason follows."""
DISQUALIFIED = FORFEIT + "disqualified"
"""How a seat ends that was forfeited for a bot that had failed too often."""


class VoidReason(Enum):
    """Why a game was broken off. None of these is a bot's fault, and nobody is charged."""

    SHUTDOWN = "shutdown"
    """The host is about to stop."""
    SERVER_ERROR = "server_error"
    """The host failed in this game."""
    STOPPED = "stopped"
    """Whoever asked for the game gave it up."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One scheduled game; all tuples are by seat."""

    round: int
    """From 1."""
    table: int
    """From 0, within the round."""
    rotation: int
    """Which of the orders of seats in which the deal is played, from 0."""
    deal_seed: int
    """The deal, the same in every order of seats; below 2^53."""
    bots: tuple[str, ...]
    """The bots' names."""
    bot_seeds: tuple[int, ...]
    """What each bot may draw its own randomness from; below 2^53."""

    @property
    def deal(self) -> tuple[int, int]:
        """The (round, table) whose games share one deal and are therefore dependent."""
        return (self.round, self.table)

    @property
    def position(self) -> Position:
        """The fixture's place in the order of the schedule."""
        return (self.round, self.table, self.rotation)

    @property
    def place(self) -> str:
        """The same in words."""
        return f"round {self.round}, table {self.table}, rotation {self.rotation}"


@dataclass(frozen=True, slots=True)
class GameResult:
    """How a scheduled game ended; all tuples are by seat."""

    fixture: Fixture
    """The game."""
    points: tuple[int, ...]
    """Points by the rules."""
    coins: tuple[int, ...]
    """Coins left, which break ties."""
    places: tuple[int, ...]
    """1 is best; equal seats share a place."""
    endings: tuple[str, ...]
    """`finished`, or `forfeit:` and the reason."""
    decisions: int
    """Decisions asked of the bots, forced moves not counted."""
    seconds: float
    """Wall time from the game's start to its end."""

    @property
    def quarantined(self) -> bool:
        """Whether a seat was forfeited for a disqualified bot: such a game is not rated."""
        return DISQUALIFIED in self.endings

    def forfeited(self, seat: int) -> bool:
        """Tell whether the bot in `seat` (from 0) forfeited the game."""
        return self.endings[seat] != FINISHED

    def forfeit_reason(self, seat: int) -> str | None:
        """Return why the bot in `seat` (from 0) forfeited the game, None if it played to the end."""
        return self.endings[seat].removeprefix(FORFEIT) if self.forfeited(seat) else None
