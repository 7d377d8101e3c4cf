"""What a scripted bot can do, however it is connected."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from happycity.v1 import play_service_pb2 as play


class Program(ABC):
    """A bot's program at one connection, and all that came over it."""

    def __init__(self) -> None:
        self.received = play.PlayResponse()
        """Everything so far, in one message."""
        self._decisions_taken = 0

    @abstractmethod
    async def read(self) -> play.PlayResponse:
        """Return the next batch."""

    @abstractmethod
    async def say(self, **parts: Any) -> None:
        """Send a batch."""

    @property
    def notices(self) -> list[play.NoticeKind.ValueType]:
        return [notice.kind for notice in self.received.notices]

    @property
    def seats(self) -> list[int]:
        return [started.seat for started in self.received.games_started]

    async def until(self, happened: Callable[[play.PlayResponse], object]) -> play.PlayResponse:
        """Read until something has happened; return all that came so far."""
        while not happened(self.received):
            await self.read()
        return self.received

    async def decision(self) -> play.Decision:
        taken = self._decisions_taken
        await self.until(lambda received: len(received.decisions) > taken)
        self._decisions_taken += 1
        return self.received.decisions[taken]

    async def answer(self, decision: play.Decision, move: int = 0, **metrics: float) -> None:
        """Answer a decision; a negative `move` counts from the last one."""
        if move < 0:
            move += len(decision.moves)
        answer = play.Answer(
            match_id=decision.match_id, decision_id=decision.decision_id, move=move, metrics=metrics
        )
        await self.say(answers=[answer])

    async def settle(self) -> None:
        """Wait until the server has read all that was sent: until it notices an unknown match."""
        nonce = 2**62 + len(self.received.notices)
        await self.say(answers=[play.Answer(match_id=nonce)])
        await self.until(lambda received: any(notice.match_id == nonce for notice in received.notices))

    async def play_to_end(self) -> play.GameOver:
        """Play neutral moves until a game ends; return its end."""
        ended = len(self.received.games_over)
        while len(self.received.games_over) == ended:
            if self._decisions_taken == len(self.received.decisions):
                await self.read()
            while self._decisions_taken < len(self.received.decisions):
                await self.answer(await self.decision())
        return self.received.games_over[ended]
