"""Which program plays which game."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from happycity_bridge.program import BridgedProgram
from happycity_client import GameStarted


class ProgramPool:
    """The programs of one bot: one for each game, or one for all of them.

    A shared program that has failed is started again for the next game; those that it was playing are lost.
    """

    def __init__(self, command: Sequence[str], *, name: str, share: bool) -> None:
        self._command = command
        self._name = name
        self._share = share
        self._shared: BridgedProgram | None = None
        self._programs: set[BridgedProgram] = set()
        self._closing: set[asyncio.Task[None]] = set()

    def label(self, start: GameStarted) -> str:
        """Return what stands before the log's lines about a game."""
        return f"{self._name}: match {start.match_id}, seat {start.seat}"

    def acquire(self, start: GameStarted) -> BridgedProgram:
        """Return the program that plays a game; ProgramEndedError if it can't be started."""
        if not self._share:
            return self._start(self.label(start))
        if self._shared is not None and self._shared.failure is not None:
            self._close(self._shared)
            self._shared = None
        if self._shared is None:
            self._shared = self._start(self._name)
        return self._shared

    def release(self, program: BridgedProgram) -> None:
        """Note that a game of this program is over."""
        if not self._share or program.failure is not None:
            self._close(program)

    async def close(self) -> None:
        """End all programs."""
        for program in self._programs.copy():
            self._close(program)
        await asyncio.gather(*self._closing)

    def _start(self, label: str) -> BridgedProgram:
        program = BridgedProgram.start(self._command, label)
        self._programs.add(program)
        return program

    def _close(self, program: BridgedProgram) -> None:
        if program not in self._programs:
            return
        self._programs.discard(program)
        closing = asyncio.create_task(program.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
