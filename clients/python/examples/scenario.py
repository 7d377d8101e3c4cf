"""Obeys the names of the other bots: for `happycity check`, which looks how an SDK treats bots that fail."""

import asyncio
import os

from happycity_client import Bot, Decision, GameOver, GameStarted, Move, VoidReason, run
from happycity_client.settings import RECONNECT_SECONDS


class Scenario(Bot):
    """Plays the last move, unless another bot's name orders something else."""

    def __init__(self, start: GameStarted) -> None:
        super().__init__(start)
        self.fail_if("crash-start")

    async def choose(self, decision: Decision) -> Move | int:
        """Return a move as it is ordered."""
        self.fail_if("crash-choose")
        if "illegal" in self.start.bots:
            return 99
        if "slow" in self.start.bots:
            await asyncio.sleep(2.0)
        if "note" in self.start.bots:
            decision.note(depth=3, nodes=1200.5)
        return decision.moves[0 if "first" in self.start.bots else -1]

    def game_over(self, over: GameOver) -> None:
        """Say that the game is over."""
        print(f"over {over.match_id}", flush=True)  # noqa: T201 - the check reads it
        self.fail_if("crash-over")

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Say that the game was voided."""
        print(f"void {match_id}", flush=True)  # noqa: T201 - the check reads it
        self.fail_if("crash-over")

    def fail_if(self, order: str) -> None:
        """Fail if it is ordered."""
        if order in self.start.bots:
            raise RuntimeError("scenario")


if __name__ == "__main__":
    run(Scenario, reconnect=float(os.environ.get("HAPPYCITY_RECONNECT") or RECONNECT_SECONDS))
