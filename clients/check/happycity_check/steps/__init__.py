"""The steps of the check, in their order: those that end the bot come last, and those of SDKs after them."""

from happycity_check.step import CheckStep
from happycity_check.steps import endings, games, greeting, pace, program, resuming, scenario, tolerance

_MODULES = (greeting, games, tolerance, resuming, pace, endings, scenario, program)
STEPS = tuple(value for module in _MODULES for value in vars(module).values() if isinstance(value, CheckStep))

__all__ = ["STEPS"]
