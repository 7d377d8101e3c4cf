"""What waits for an agent: its open decisions, and the games that have ended."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, Field

from happycity import Move
from happycity_client import Decision, GameStarted

DecisionKey = tuple[int, int]
"""A match and a decision's number in it."""
KEPT_DECISIONS = 100
"""How many settled decisions are remembered, to say what became of them."""
KEPT_GAMES = 100
"""How many ended games wait for an agent to hear of them."""


class GameResult(BaseModel):
    """How a game ended for the agent."""

    match: int
    place: int | None = Field(description="From 1, ties share; null if the match was voided.")
    players: int
    points: int
    ending: str = Field(description="finished, voided, or how the seat was forfeited, such as timeout.")


@dataclass(frozen=True, slots=True, eq=False)
class OpenDecision:
    """A decision that waits for the agent's move."""

    decision: Decision
    start: GameStarted
    own_moves: tuple[str, ...]
    """The seat's earlier moves in this game."""
    deadline: float | None
    """By the board's clock; None: no limit."""
    move: asyncio.Future[Move]

    @property
    def key(self) -> DecisionKey:
        """By what an agent names it."""
        return self.decision.match_id, self.decision.decision_id


class DecisionBoard:
    """Holds what waits for an agent, and wakes those who wait for it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        """Seconds."""
        self.ended: deque[tuple[GameResult, str]] = deque(maxlen=KEPT_GAMES)
        """Results of which the agent hasn't heard, each with a sentence about it, the oldest first."""
        self._open: dict[DecisionKey, OpenDecision] = {}  # the oldest first
        self._settled: OrderedDict[DecisionKey, str] = OrderedDict()
        self._changed = asyncio.Event()

    @property
    def current(self) -> OpenDecision | None:
        """The decision that has waited longest."""
        return next(iter(self._open.values()), None)

    def find(self, match_id: int, decision_id: int) -> OpenDecision | None:
        """Return an open decision by its numbers."""
        return self._open.get((match_id, decision_id))

    def outcome_of(self, match_id: int, decision_id: int) -> str | None:
        """Return what became of a settled decision, in words; None if nothing is known of it."""
        return self._settled.get((match_id, decision_id))

    async def decide(self, decision: Decision, start: GameStarted, own_moves: tuple[str, ...]) -> Move:
        """Show a decision to the agent, and return its move.

        A decision that is cancelled, as its time is up or its game over, is shown no longer.
        """
        left = decision.time_left
        waiting = OpenDecision(
            decision,
            start,
            own_moves,
            None if left is None else self.clock() + left,
            asyncio.get_running_loop().create_future(),
        )
        self._open[waiting.key] = waiting
        self.wake()
        try:
            return await waiting.move
        except asyncio.CancelledError:
            self._settle(waiting, "its time ran out, so the arena chose a move")
            raise

    def play(self, waiting: OpenDecision, move: Move) -> None:
        """Answer an open decision."""
        self._settle(waiting, f"you have played {move} there")
        waiting.move.set_result(move)

    def _settle(self, waiting: OpenDecision, outcome: str) -> None:
        """Show a decision no longer, and remember what became of it."""
        if self._open.pop(waiting.key, None) is None:
            return  # it was played already
        self._settled[waiting.key] = outcome
        if len(self._settled) > KEPT_DECISIONS:
            self._settled.popitem(last=False)

    def end(self, result: GameResult, text: str) -> None:
        """Note that a game has ended; the text says what that means."""
        self.ended.append((result, f"Match {result.match} is over: {text}."))
        self.wake()

    def wake(self) -> None:
        """Let those who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Wait until something happens."""
        await self._changed.wait()
