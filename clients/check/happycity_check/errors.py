"""How a step ends that isn't passed: each error's text says what was seen, or why."""

from __future__ import annotations

from happycity.match import one_line


class UnexpectedError(Exception):
    """The bot did something else than the protocol demands, or nothing."""


class ResignedError(UnexpectedError):
    """The bot gave a game up."""

    def __init__(self, match_id: int, *, crashed: bool, reason: str) -> None:
        self.crashed = crashed
        """Whether the bot failed, rather than chose to resign."""
        self.reason = one_line(reason) or "no reason"
        """Why, in one line."""
        super().__init__(f"the bot {'crashed in' if crashed else 'resigned'} match {match_id}: {self.reason}")


class StreamEndedError(UnexpectedError):
    """The bot ended its stream, or died."""


class SkippedError(Exception):
    """The step can't be tried with this bot."""


class WarningError(Exception):
    """Nothing is wrong by the protocol, but the bot's author will want to know."""


def demand(condition: object, otherwise: str) -> None:
    """Raise an UnexpectedError, which says what was seen, if the condition isn't met."""
    if not condition:
        raise UnexpectedError(otherwise)
