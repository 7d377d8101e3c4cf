"""A bot that fails in the way of its name: `crash`, `illegal`, `slow` or `silent`."""

import asyncio
import os
import time
from collections.abc import Mapping

from happycity import Move
from happycity_client import Bot, Decision, run
from happycity_client.player import Outbox

NAME = os.environ["HAPPYCITY_NAME"]


class Failing(Bot):
    """Fails."""

    decisions = 0

    async def choose(self, decision: Decision) -> Move:
        """Return the first legal move, if it comes to that."""
        self.decisions += 1
        if NAME == "crash":
            return decision.moves[99]
        if NAME == "silent":
            time.sleep(3600)  # noqa: ASYNC251 - so that not even the connection is looked after
        if NAME == "slow" and self.decisions > 1:
            await asyncio.sleep(3600)
        return decision.moves[0]


_answer = Outbox.answer


def _answer_illegally(
    outbox: Outbox, match_id: int, decision_id: int, move: int, metrics: Mapping[str, float]
) -> None:
    """Answer with a move that there isn't, which the SDK itself would not send."""
    _answer(outbox, match_id, decision_id, move + 99, metrics)


if NAME == "illegal":
    setattr(Outbox, "answer", _answer_illegally)  # noqa: B010 - no assignment to a method that mypy would allow
run(Failing)
