"""Limits of a bot and its connection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """Limits of a bot and its connection."""

    ping_seconds: float = 5.0
    """How often bots get a ping, which measures the round-trip time."""
    stall_seconds: float = 15.0
    """How long a bot may leave a message unread."""
    outbox_bytes: int = 4 * 1024 * 1024
    """How much may wait to be sent to a bot before its stream ends."""
    high_water_bytes: int = 256 * 1024
    """How much may wait to be sent to a bot before nothing more is read from it."""
    notices: int = 100
    """Notices in one message; further ones are only counted."""
    batch: int = 10_000
    """Answers and resignations in one message."""
    games: int = 0
    """Games at once, whatever the bot asks for; 0: any number."""
    keep_seconds: float = 10.0
    """How long a bot that is away and plays nothing is remembered, if no match's grace time is longer."""
    ended_games: int = 1000
    """Ended games whose results are kept for a bot that may have missed them."""
    no_clock: bool = False
    """Whether all matches are played without clocks, for debugging."""
