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
class CheckStep:
    """One thing that the protocol demands, or the SDKs."""

    name: str
    demand: str
    advice: str
    """What to do about it if it doesn't; "" where the demand says it all."""
    run: Run
    """Tries it and returns what was seen. Raises UnexpectedError, SkippedError or WarningError."""
    needs: tuple[str, ...]
    """Steps that this one needs."""
    sdk: bool
    """Whether it is for the scenario examples of SDKs alone."""
    waits: bool
    """Whether it waits for many seconds, with a bot of its own: it begins with the first step."""


def step(
    advice: str = "", *, needs: tuple[str, ...] = (), sdk: bool = False, waits: bool = False
) -> Callable[[Run], CheckStep]:
    """Make a function the step of its name, `whole-game` of `_whole_game`; its docstring is the demand."""

    def decorate(run: Run) -> CheckStep:
        name = run.__name__.strip("_").replace("_", "-")
        demand = (run.__doc__ or name).removesuffix(".")  # python -OO drops it
        return CheckStep(name=name, demand=demand, advice=advice, run=run, needs=needs, sdk=sdk, waits=waits)

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How a step turned out."""

    step: CheckStep
    status: Status
    seen: str
    seconds: float
