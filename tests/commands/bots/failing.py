"""A bot that fails in the way of its name: `crash`, `illegal`, `slow` or `silent`."""

import asyncio
import os
import time

from happycity import Move
from happycity.v1 import play_service_pb2 as play
from happycity_client import Bot, Decision, run
from happycity_client.player import RequestOutbox

NAME = os.environ["HAPPYCITY_NAME"]


class Failing(Bot):
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


_take = RequestOutbox.take


def _take_illegal(outbox: RequestOutbox) -> play.PlayRequest:
    """Answer with moves that there aren't, which the SDK itself would not send."""
    request = _take(outbox)
    for answer in request.answers:
        answer.move += 99
    return request


if NAME == "illegal":
    setattr(RequestOutbox, "take", _take_illegal)  # noqa: B010 - no assignment to a method that mypy would allow
run(Failing)
