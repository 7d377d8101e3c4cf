"""Lines that a person types, or that a script sends by a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable

from prompt_toolkit import PromptSession

from happycity_terminal.screen import is_terminal

Keyboard = Callable[[str], Awaitable[str | None]]
"""Asks for the next line, without its end; None at the end of the input, or for Ctrl-D.

It raises a KeyboardInterrupt if the person pressed Ctrl-C.
"""


class _Pipe:
    """Lines of a pipe or a file; each is printed, so that the output reads like a dialogue."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        # A thread of its own: an event loop can't wait for files, and nothing interrupts a blocked read.
        threading.Thread(target=self._read, daemon=True).start()

    async def line(self, prompt: str) -> str | None:
        """Return the next line."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)  # it stays the end
        sys.stdout.write(f"{prompt}{line or ''}\n")
        return line

    def _read(self) -> None:
        # Not through `sys.stdin`, whose lock a waiting reader would hold at the end of the process.
        rest = b""
        while read := os.read(0, 4096):
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                self._put(line.decode(errors="replace"))
            rest = rest[:_LONGEST]
        if rest:
            self._put(rest.decode(errors="replace"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:  # the loop is closed: no caller waits for lines
            return


_LONGEST = 10_000  # bytes of a line; no answer has as many


def keyboard() -> Keyboard:
    """Return where this process gets lines from; a person can edit them, and go back to earlier ones."""
    if not is_terminal():
        return _Pipe().line
    session: PromptSession[str] = PromptSession()

    async def line(prompt: str) -> str | None:
        try:
            return await session.prompt_async(prompt)
        except EOFError:
            return None

    return line
