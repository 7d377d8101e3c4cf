"""What a step of the check is, and how it may turn out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from happycity_check.trial_bot import TrialBot

Run = Callable[[TrialBot], Awaitable[str]]


class Status(Enum):
    """How a step turned out."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"
    WARNING = "warning"
    """Nothing that the protocol demands, but the bot's author will want to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that the protocol demands."""

    name: str
    demand: str
    advice: str
    """What to do about it if it doesn't."""
    run: Run
    """Tries it and returns what was seen. Raises UnexpectedError, SkippedError or WarningError."""
    needs: tuple[str, ...]
    """Steps that this one needs."""


def step(*, demand: str, advice: str, needs: tuple[str, ...] = ()) -> Callable[[Run], Step]:
    """Make a function a step of its name, such as `whole-game` of `_whole_game`."""

    def decorate(run: Run) -> Step:
        name = run.__name__.strip("_").replace("_", "-")
        return Step(name=name, demand=demand, advice=advice, run=run, needs=needs)

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How a step turned out."""

    step: Step
    status: Status
    seen: str
    seconds: float
