"""What a step of the check is, and how it may turn out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from happycity_check.bench import Bench


class Status(Enum):
    """How a step turned out."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"
    WARNING = "warning"
    """Nothing that the protocol demands, but the bot's author will want to know."""


class SkippedError(Exception):
    """The step can't be tried with this bot; the text tells why."""


class WarningError(Exception):
    """Nothing is wrong by the protocol; the text tells what was seen all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that the protocol demands."""

    name: str
    demand: str
    """What a bot has to do."""
    advice: str
    """What to do about it if it doesn't."""
    run: Callable[[Bench], Awaitable[str]]
    """Tries it and returns what was seen. Raises UnexpectedError, SkippedError or WarningError."""
    needs: tuple[str, ...] = ()
    """Steps without which this one makes no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How a step turned out."""

    step: Step
    status: Status
    seen: str
    seconds: float
