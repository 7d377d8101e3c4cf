"""Which program plays which game."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from happycity_bridge.program import Program


class Troupe:
    """The programs of one bot: one for each game, or one for all of them.

    A shared program that has failed is started anew for the next game; those that it was playing are lost.
    """

    def __init__(self, command: Sequence[str], *, name: str, shared: bool) -> None:
        self._command = command
        self._name = name
        self._shared = shared
        self._star: Program | None = None
        self._programs: set[Program] = set()
        self._farewells: set[asyncio.Task[None]] = set()

    def enter(self, game_id: int) -> Program:
        """Return the program that plays a game.

        Raises:
            ProgramEndedError: it can't be started.
        """
        if not self._shared:
            return self._start(f"{self._name}: game {game_id}")
        if self._star is not None and self._star.failure is not None:
            self._dismiss(self._star)
            self._star = None
        if self._star is None:
            self._star = self._start(self._name)
        return self._star

    def leave(self, program: Program) -> None:
        """Note that a game of this program is over."""
        if not self._shared or program.failure is not None:
            self._dismiss(program)

    async def close(self) -> None:
        """End all programs."""
        for program in self._programs.copy():
            self._dismiss(program)
        await asyncio.gather(*self._farewells)

    def _start(self, label: str) -> Program:
        program = Program.start(self._command, label)
        self._programs.add(program)
        return program

    def _dismiss(self, program: Program) -> None:
        if program not in self._programs:
            return
        self._programs.discard(program)
        farewell = asyncio.create_task(program.close())
        self._farewells.add(farewell)
        farewell.add_done_callback(self._farewells.discard)
