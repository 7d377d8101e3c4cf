"""The steps of the check, in their order: those that end the bot come last."""

from happycity_check.step import Step
from happycity_check.steps import endings, games, greeting, liveness, pace, resuming, tolerance

STEPS: tuple[Step, ...] = (
    *greeting.STEPS,
    *games.STEPS,
    *tolerance.STEPS,
    *liveness.STEPS,
    *resuming.STEPS,
    *pace.STEPS,
    *endings.STEPS,
)

__all__ = ["STEPS"]
