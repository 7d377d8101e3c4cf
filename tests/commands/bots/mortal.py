"""A bot that is killed in the middle of its games."""

import itertools
import os
import signal

from happycity import Move
from happycity_client import Bot, Decision, run

decisions = itertools.count(1)


class Mortal(Bot):
    def choose(self, decision: Decision) -> Move:
        if next(decisions) == 50:
            os.kill(os.getpid(), signal.SIGKILL)
        return decision.moves[0]


run(Mortal)
