"""Lines that a person types, or that a script sends by a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import Protocol

from prompt_toolkit import PromptSession

from happycity_terminal.screen import is_terminal


class Keyboard(Protocol):
    """Where lines come from."""

    async def line(self, prompt: str) -> str | None:
        """Return the next line without its end; None at the end of the input, or for Ctrl-D.

        Raises:
            KeyboardInterrupt: the person pressed Ctrl-C.
        """


class TerminalKeyboard:
    """A person's keyboard; lines can be edited, and the arrows bring earlier ones back."""

    def __init__(self) -> None:
        self._session: PromptSession[str] = PromptSession()

    async def line(self, prompt: str) -> str | None:
        """Return the next line."""
        try:
            return await self._session.prompt_async(prompt)
        except EOFError:
            return None


class PipeKeyboard:
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
    """Return where this process gets lines from."""
    return TerminalKeyboard() if is_terminal() else PipeKeyboard()
