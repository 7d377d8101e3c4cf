"""The bot that looks ahead: it plays the planner's two best purchases out in sampled worlds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from happycity import Mode, Move, View
from happycity.rules.deals import CITY_SIZE
from happycity.rules.moves import DECLINE
from happycity_bots.planner import PlannerBot, best
from happycity_bots.sampled import playouts
from happycity_client import Decision
from happycity_evaluation.valuation import turns_left

FEW_TURNS = 5.2
"""Turns left from which on playing out pays: before, it takes long and luck drowns the choice."""
NEAR = 0.06
"""How far behind the best purchase the second may be to be tried, as a share of the expected points."""
PRIOR = 0.5
"""How much of its deficit in the plan counts against the second purchase after the trial."""
CAUTION = 0.5
"""Standard errors by which the trial must speak for the second purchase."""
LEAST_WORLDS = 2
"""Worlds to try before the trial may be decided."""


class RolloutBot(PlannerBot):
    """Plan like the planner, but late in the game try out whether its second choice was the better one.

    A simulation is one purchase, played out to the end of the game in one sampled world. Both purchases
    are played in the same worlds, so that much of the luck cancels out. The second replaces the first only
    on evidence: its mean lead has to exceed its deficit in the plan by a share of the standard error.
    """

    simulations = 10
    """Simulations for one decision, at most: two a world. Trials stop early: more rarely matter."""

    def pick(self, decision: Decision, values: Sequence[float], *, points: float) -> Move:
        """Return the best move in the plan, or the second one if it is near and does better in the trial."""
        moves = decision.moves
        if moves[0] is DECLINE and self.start.config.mode is Mode.FAMILY:
            return best(moves, values)  # printed values are weighed well enough
        order = sorted(range(len(moves)), key=values.__getitem__, reverse=True)
        first, second = moves[order[0]], moves[order[1]]
        deficit = (values[order[0]] - values[order[1]]) / (points + CITY_SIZE)
        if deficit > NEAR or not _is_late(view := decision.view):
            return first
        return second if self._is_better(second, first, view=view, needed=PRIOR * deficit) else first

    def _is_better(self, challenger: Move, holder: Move, *, view: View, needed: float) -> bool:
        """Try two moves in sampled worlds, as long as the challenger may still come out better."""
        leads: list[float] = []
        mean = error = 0.0
        for play_out in islice(playouts(view, self.rng), self.simulations // 2):
            leads.append(play_out(challenger) - play_out(holder))
            mean, error = _mean_and_error(leads)
            if len(leads) >= LEAST_WORLDS and mean < needed:
                return False
        return len(leads) >= LEAST_WORLDS and mean - CAUTION * error > needed


def _is_late(view: View) -> bool:
    free = CITY_SIZE - len(view.cities[view.seat])
    return min(float(free), turns_left(view, view.seat)) <= FEW_TURNS


def _mean_and_error(samples: list[float]) -> tuple[float, float]:
    """Return the mean of the samples and its standard error."""
    count = len(samples)
    mean = sum(samples) / count
    return mean, sum([(sample - mean) ** 2 for sample in samples]) ** 0.5 / count
