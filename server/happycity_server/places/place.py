"""What a place is: somewhere that bots are connected to and games are played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from happycity import Config, SeatResult, VoidReason
from happycity_server.play.match import MatchState


class Place(Protocol):
    """Somewhere that bots are connected to and games are played."""

    @property
    def ready(self) -> bool:
        """Whether games can be begun here."""

    def is_connected(self, bot: str) -> bool:
        """Return whether a bot is connected."""

    def knows(self, bot: str) -> bool:
        """Return whether a bot is connected, or was a moment ago."""


class OpenMatch(Protocol):
    """A match that waits or runs, wherever it does."""

    @property
    def match_id(self) -> int:
        """Its id."""

    @property
    def tournament_id(self) -> int:
        """The tournament that it belongs to, or 0."""

    @property
    def ladder_deal_id(self) -> int:
        """The deal of the ladder that it belongs to, or 0."""

    @property
    def config(self) -> Config:
        """The kind of game."""

    @property
    def bots(self) -> tuple[str, ...]:
        """The bots by seat."""

    @property
    def practice(self) -> bool:
        """Whether it is a practice match."""

    @property
    def state(self) -> MatchState:
        """Where it stands."""

    @property
    def decisions(self) -> int:
        """Decisions so far."""

    @property
    def created_at(self) -> float:
        """When it was set up, Unix time in seconds."""

    @property
    def started_at(self) -> float | None:
        """When it began, Unix time in seconds; None while it waits."""

    @property
    def results(self) -> Sequence[SeatResult]:
        """How the game ended, once it is finished."""

    @property
    def void_reason(self) -> VoidReason | None:
        """Why it was voided, if it was."""
