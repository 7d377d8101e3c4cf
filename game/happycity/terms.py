"""The terms of a match: names, clocks, and what happens to a bot that fails. All times are seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from happycity.errors import ConfigError

BOT_NAME = re.compile(r"[A-Za-z0-9._+-]{1,64}")
"""What a bot may be called."""


class Fallback(Enum):
    """What is played for a bot that doesn't choose."""

    NEUTRAL = "neutral"
    """The first legal move: keep, the lowest deck, coin, decline."""
    RANDOM = "random"
    """A legal move by chance, always the same for the same deal and decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeControl:
    """How long things may take."""

    connect_seconds: float = 10.0
    """How long a match waits for its bots to connect."""
    decision_seconds: float = 10.0
    """The limit for each decision."""
    bank_seconds: float = 0.0
    """What each seat may think in a game on top of its increments; 0 means that there is no bank."""
    increment_seconds: float = 0.0
    """What is added to a seat's bank before each of its decisions."""
    margin_seconds: float = 0.02
    """The part of each think time that counts for nothing, for the jitter of network and machines."""
    no_clock: bool = False
    """Whether no clock runs at all, for debugging."""

    def __post_init__(self) -> None:
        """Refuse times that make no sense.

        Raises:
            ConfigError: a time is negative, or a limit is 0.
        """
        if self.decision_seconds <= 0:
            raise ConfigError(f"decision_seconds: {self.decision_seconds:g} is not more than 0")
        for name in ("connect_seconds", "bank_seconds", "increment_seconds", "margin_seconds"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}: {getattr(self, name):g} is less than 0")
        if self.increment_seconds and not self.bank_seconds:
            raise ConfigError("increment_seconds: an increment needs a bank; give bank_seconds too")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePolicy:
    """What happens to a bot that fails."""

    max_strikes: int = 3
    """Late and illegal answers that a seat may give in a game; one more forfeits it."""
    grace_seconds: float = 10.0
    """How long a bot may be disconnected before its seats are forfeited; its clocks run on."""
    fallback: Fallback = Fallback.NEUTRAL
    disqualify_share: float = 1.0
    """In tournaments: a bot that forfeits more than this share of its games is disqualified; 1 spares all."""
    disqualify_games: int = 20
    """In tournaments: games that a bot must have played before it can be disqualified."""

    def __post_init__(self) -> None:
        """Refuse a policy that makes no sense.

        Raises:
            ConfigError: a number is out of its range.
        """
        if self.max_strikes < 0:
            raise ConfigError(f"max_strikes: {self.max_strikes} is less than 0")
        if self.grace_seconds < 0:
            raise ConfigError(f"grace_seconds: {self.grace_seconds:g} is less than 0")
        if not 0 <= self.disqualify_share <= 1:
            raise ConfigError(f"disqualify_share: {self.disqualify_share:g} is not between 0 and 1")
        if self.disqualify_games < 1:
            raise ConfigError(f"disqualify_games: {self.disqualify_games} is less than 1")
