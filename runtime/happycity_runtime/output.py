"""The output of programs in bounds: its first and its last part, and how much was left out between."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from happycity_runtime.rates import TokenBuckets

FIRST_BYTES = 4 * 1024 * 1024
"""The beginning of a program's output that its file keeps."""
LAST_BYTES = 4 * 1024 * 1024
"""The end of it that is kept as well; while the program runs, up to twice that."""
LOGGED_BYTES = 256 * 1024
"""What a program may have logged at once; more only at the next rate."""
LOGGED_PER_SECOND = 256
_READ_BYTES = 65_536


def keep_output(output: IO[bytes], path: Path) -> None:
    """Add what a pipe brings to a file until the pipe ends; a thread of its own calls this.

    Where the file can't be written, the rest is read and dropped, so that the program doesn't wait.
    """
    with output, path.open("r+b", buffering=0) as file:
        first_end, printed = file.seek(0, os.SEEK_END) + FIRST_BYTES, 0
        while data := os.read(output.fileno(), _READ_BYTES):
            printed += len(data)
            with suppress(OSError):
                file.write(data)
                if file.tell() > first_end + 2 * LAST_BYTES:
                    file.seek(-LAST_BYTES, os.SEEK_END)
                    last = file.read()
                    left_out = printed - FIRST_BYTES - LAST_BYTES
                    file.seek(first_end)
                    file.write(f"\n... {left_out:,} bytes left out ...\n".encode() + last)
                    file.truncate()


class LogAllowance:
    """Decides which lines of a program are logged: some at once, more as time goes on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow all; `clock` returns seconds."""
        self._room = TokenBuckets(rate=LOGGED_PER_SECOND, burst=LOGGED_BYTES, clock=clock)
        self._left_out, self._last = 0, ""

    def passed(self, line: str) -> list[str]:
        """Return what is logged of a line: nothing, or the line, after one on what was left out before it."""
        if self._room.wait("", len(line)):
            self._left_out += len(line)
            self._last = line
            return []
        return [*self.rest(last=False), line]

    def rest(self, *, last: bool = True) -> list[str]:
        """Return what is logged of the lines that were left out, at the end with the last of them."""
        left_out, self._left_out = self._left_out, 0
        if not left_out:
            return []
        said = f"... {left_out:,} characters left out ..."
        return [said, self._last] if last else [said]
