"""A bot that never answers."""

import asyncio

from happycity import Move
from happycity_client import Bot, Decision, run


class Silent(Bot):
    """Thinks for ever."""

    async def choose(self, decision: Decision) -> Move:
        """Never return."""
        await asyncio.Event().wait()
        return decision.moves[0]


run(Silent)
