"""The bot that searches: it plays the plan's best moves out in the same sampled worlds, at all stages."""

from __future__ import annotations

from collections.abc import Sequence

from happycity import Move
from happycity.rules.deals import CITY_SIZE
from happycity_bots.halving import TrialBudget, halve, prune
from happycity_bots.planner import PlannerBot
from happycity_bots.sampled import Playout, playouts
from happycity_client import Decision, GameStarted

NEAR = 0.15
"""How far behind the best move another one may be to be tried, as a share of the expected points."""
MOST = 4
"""Moves that are tried, at most."""
CONFIDENCE = 8
"""Playouts that the plan counts as."""


class SearchBot(PlannerBot):
    """Try the plan's best purchases and specials in playouts to the end, all in the same sampled worlds.

    Sequential halving gives the worlds to the moves that may still be the best. What to discard and to draw
    is the planner's choice: these decisions gain less than luck in some hundred playouts hides.
    """

    budget = TrialBudget(playouts=64)

    def __init__(self, start: GameStarted, *, budget: TrialBudget | None = None) -> None:
        super().__init__(start)
        if budget is not None:
            self.budget = budget

    def pick(self, decision: Decision, values: Sequence[float], *, points: float) -> Move:
        """Return the move that does best in the plan and in playouts."""
        priors = [worth / (points + CITY_SIZE) for worth in values]
        candidates = prune(decision.moves, priors, near=NEAR, most=MOST)

        def trial(play_out: Playout, moves: Sequence[Move]) -> list[float]:
            return [play_out(move) for move in moves]

        worlds = playouts(decision.view, self.rng)
        return halve(worlds, candidates, trial, budget=self.budget, confidence=CONFIDENCE)
