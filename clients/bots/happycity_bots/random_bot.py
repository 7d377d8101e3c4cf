"""The bot that every other one must beat."""

from __future__ import annotations

from happycity import Move
from happycity_client import Bot, Decision


class RandomBot(Bot):
    """Play any legal move, all equally likely. Looks at nothing but the moves."""

    def choose(self, decision: Decision) -> Move:
        """Return a uniformly random move."""
        moves = decision.moves
        return moves[int(self.rng.random() * len(moves))]
