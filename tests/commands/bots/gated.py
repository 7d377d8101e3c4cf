"""A bot that takes a permit from the pipe `gate` before its first move of a game; there it waits."""

import asyncio
import os
from collections import deque

from happycity import Move
from happycity_client import Bot, Decision, GameStarted, run

pipe = os.open("gate", os.O_RDWR | os.O_NONBLOCK)
waiting: deque[asyncio.Future[None]] = deque()


def take_permit() -> None:
    """Let a game begin that waits; without any, leave the permits for other bots."""
    while waiting and waiting[0].cancelled():
        waiting.popleft()
    if not waiting:
        asyncio.get_running_loop().remove_reader(pipe)
    elif os.read(pipe, 1):
        waiting.popleft().set_result(None)


class Gated(Bot):
    def __init__(self, start: GameStarted) -> None:
        super().__init__(start)
        self._permitted = False

    async def choose(self, decision: Decision) -> Move:
        """Return any move, as soon as the game may be played."""
        if not self._permitted:
            loop = asyncio.get_running_loop()
            waiting.append(loop.create_future())
            loop.add_reader(pipe, take_permit)
            await waiting[-1]
            self._permitted = True
        return self.rng.choice(decision.moves)


run(Gated)
