"""The planner with mistakes: steps between reference bots that are far apart."""

from __future__ import annotations

from happycity import Move
from happycity_bots.planner import PlannerBot
from happycity_client import Decision, GameStarted


class CarelessBot(PlannerBot):
    """Plan like the planner, but play any legal move in one of five decisions, as the game's seed draws."""

    def __init__(self, start: GameStarted, *, mistakes: float = 1 / 5) -> None:
        super().__init__(start)
        self._mistakes = mistakes
        """The share of decisions in which each legal move is equally likely."""

    def choose(self, decision: Decision) -> Move:
        """Return the planner's move, or by mistake a uniformly random one."""
        if self.rng.random() >= self._mistakes:
            return super().choose(decision)
        moves = decision.moves
        return moves[int(self.rng.random() * len(moves))]
