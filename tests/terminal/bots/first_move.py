"""Chooses the first move; the environment variable FAULT says what goes wrong in its second decision."""

import os
import sys
from pathlib import Path

from happycity import Move
from happycity_client import Bot, Decision, GameStarted, run

FAULT = os.environ.get("FAULT", "")


class FirstMove(Bot):
    def __init__(self, start: GameStarted) -> None:
        super().__init__(start)
        self.decisions = 0

    def choose(self, decision: Decision) -> Move:
        self.decisions += 1
        decision.note(decisions=self.decisions)
        if self.decisions == 2:
            if FAULT == "crash":
                raise IndexError("tuple index out of range")
            if FAULT == "last":
                return decision.moves[-1]
            if FAULT == "exit":
                os._exit(3)
            if FAULT == "wait":
                Path("gate").read_text()  # a named pipe
            if FAULT == "breakpoint":
                breakpoint()
        sys.stdout.write(f"choosing {decision.moves[0]}\n")
        sys.stdout.flush()
        return decision.moves[0]


if FAULT == "refuse":
    sys.exit("no model file")
run(FirstMove)
