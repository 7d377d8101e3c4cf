"""The bot that asks a program."""

from __future__ import annotations

from happycity import Move
from happycity_bridge import lines
from happycity_bridge.answers import chosen
from happycity_bridge.errors import ProgramError
from happycity_bridge.troupe import Troupe
from happycity_client import Bot, Decision, GameOver, GameStart, VoidReason


class BridgedBot(Bot):
    """Passes everything on to a program. If that fails, `choose` raises, and the SDK resigns the game."""

    def __init__(self, start: GameStart, troupe: Troupe) -> None:
        super().__init__(start)
        self._troupe = troupe
        self._program = troupe.enter(start.game_id)
        self._program.tell(lines.game_started(start))

    async def choose(self, decision: Decision) -> Move:
        """Ask the program."""
        try:
            answer = await self._program.ask(lines.decision(decision, self.rng))
            move = chosen(answer, decision.moves)
        except ProgramError as error:
            self._end(lines.error(self.start.game_id, str(error), decision.moves))
            raise
        decision.notes = answer.metrics
        return move

    def game_over(self, over: GameOver) -> None:
        """Tell the program."""
        self._end(lines.game_over(over))

    def game_voided(self, game_id: int, reason: VoidReason) -> None:
        """Tell the program."""
        self._end(lines.game_voided(game_id, reason))

    def _end(self, line: lines.Line) -> None:
        self._program.tell(line)
        self._troupe.leave(self._program)
