"""How a step ends that isn't passed: each error's text says what was seen, or why."""

from __future__ import annotations


class UnexpectedError(Exception):
    """The bot did something else than the protocol demands, or nothing."""


class StreamEndedError(UnexpectedError):
    """The bot ended its stream, or died."""


class SkippedError(Exception):
    """The step can't be tried with this bot."""


class WarningError(Exception):
    """Nothing is wrong by the protocol, but the bot's author will want to know."""
