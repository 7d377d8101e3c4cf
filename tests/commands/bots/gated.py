"""A bot that plays as many games as the file `gate` says; the others wait until it says more."""

import asyncio
import itertools
from pathlib import Path

from happycity import Move
from happycity_client import Bot, Decision, GameStart, run

GATE = Path("gate")

numbers = itertools.count(1)


class Gated(Bot):
    """Plays by chance."""

    def __init__(self, start: GameStart) -> None:
        super().__init__(start)
        self._number = next(numbers)

    async def choose(self, decision: Decision) -> Move:
        """Return any move, as soon as the game may be played."""
        while not self._may_be_played():  # noqa: ASYNC110 - nothing tells that a file has changed
            await asyncio.sleep(0.01)
        return self.rng.choice(decision.moves)

    def _may_be_played(self) -> bool:
        return self._number <= int(GATE.read_text())


run(Gated)
