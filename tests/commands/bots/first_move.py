"""A bot that always plays the first legal move."""

from happycity import Move
from happycity_client import Bot, Decision, run


class FirstMove(Bot):
    def choose(self, decision: Decision) -> Move:
        return decision.moves[0]


run(FirstMove)
