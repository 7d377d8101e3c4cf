"""A bot on the SDK with an asynchronous choose and the SDK's own number of games."""

import asyncio

from happycity import Move
from happycity_client import Bot, Decision, run


class Patient(Bot):
    """Chooses by chance, after a detour over a thread."""

    async def choose(self, decision: Decision) -> Move:
        return await asyncio.to_thread(self.rng.choice, decision.moves)


run(Patient)
