"""What waits to be sent to the server on the present connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from happycity.v1 import play_service_pb2 as play


class Outbox:
    """Gathers a batch while the last one is being written."""

    def __init__(self) -> None:
        self.filled = asyncio.Event()
        """Whether there is something to send."""
        self._request = play.PlayRequest()

    def answer(self, match_id: int, decision_id: int, *, move: int, metrics: Mapping[str, float]) -> None:
        """Add an answer; `move` is a position, and `metrics` are the bot's numbers about it."""
        answer = self._request.answers.add(match_id=match_id, decision_id=decision_id, move=move)
        if metrics:
            answer.metrics.update(metrics)
        self.filled.set()

    def resign(self, resignation: play.Resign) -> None:
        """Add that a game is given up."""
        self._request.resigns.append(resignation)
        self.filled.set()

    def pong(self, nonce: int) -> None:
        """Add the answer to a ping. A batch holds one: the newest says all that an older one would."""
        self._request.pong.nonce = nonce
        self.filled.set()

    def goodbye(self) -> None:
        """Add that the bot leaves for good."""
        self._request.goodbye.SetInParent()
        self.filled.set()

    def take(self) -> play.PlayRequest:
        """Return what has gathered, and begin an empty batch."""
        request, self._request = self._request, play.PlayRequest()
        self.filled.clear()
        return request
