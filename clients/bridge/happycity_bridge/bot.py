"""The bot that asks a program."""

from __future__ import annotations

import logging

from happycity import Move, VoidReason
from happycity_bridge import encode
from happycity_bridge.decode import chosen_move
from happycity_bridge.errors import AnswerError, ProgramError
from happycity_bridge.pool import ProgramPool
from happycity_client import Bot, Decision, GameOver, GameStarted

_log = logging.getLogger("happycity_bridge")


class BridgedBot(Bot):
    """Passes everything on to a program. If that fails, `choose` raises, and the SDK gives the game up."""

    def __init__(self, start: GameStarted, pool: ProgramPool) -> None:
        super().__init__(start)
        self._pool = pool
        self._program = pool.acquire(start)
        self._program.send(encode.game_started(start))

    async def choose(self, decision: Decision) -> Move:
        """Return what the program answers."""
        try:
            answer = await self._program.ask(decision)
            move = chosen_move(answer, decision.moves)
        except ProgramError as error:
            if isinstance(error, AnswerError) and error.legal:
                label, legal = self._pool.label(self.start), ", ".join(map(str, error.legal))
                _log.info("%s: legal: %s (or 0 to %d)", label, legal, len(error.legal) - 1)
            self._end(encode.error(self.start, str(error), decision.moves))
            raise
        decision.note(**answer.metrics)
        return move

    def game_over(self, over: GameOver) -> None:
        """Send the result."""
        self._end(encode.game_over(over))

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Send the reason."""
        self._end(encode.game_voided(match_id, reason))

    def _end(self, line: encode.Line) -> None:
        self._program.send(line)
        self._pool.release(self._program)
