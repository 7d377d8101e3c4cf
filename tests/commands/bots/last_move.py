"""A bot that always plays the last legal move."""

from happycity import Move
from happycity_client import Bot, Decision, run


class LastMove(Bot):
    """Plays the last legal move."""

    def choose(self, decision: Decision) -> Move:
        """Return it."""
        return decision.moves[-1]


run(LastMove)
