"""A terminal in which a test runs a command, sends keys, and reads the screen as a person would."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import Self

import pyte
from tests.waiting import LIMIT


class Key(StrEnum):
    RIGHT, LEFT, UP, DOWN = "\x1b[C", "\x1b[D", "\x1b[A", "\x1b[B"
    HOME, END, PAGE_UP, PAGE_DOWN = "\x1b[H", "\x1b[F", "\x1b[5~", "\x1b[6~"
    ENTER, CTRL_C = "\r", "\x03"


class Terminal:
    """A command of `happycity` that runs in a pseudo-terminal of its own."""

    def __init__(
        self, *arguments: object, columns: int = 80, rows: int = 40, env: Mapping[str, str] | None = None
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        """All that the command has written."""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.program = subprocess.Popen(
            ["setsid", "--ctty", sys.executable, "-m", "happycity", *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environment, "TERM": "xterm-256color", "PYTHONUTF8": "1", **(env or {})},
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self._master)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def resize(self, *, columns: int, rows: int) -> None:
        self.screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, *texts: str) -> str:
        while not all(text in self.text for text in texts):
            assert self._read(), f"{texts} not on the last screen:\n{self.text}"
        return self.text

    def wait(self) -> int:
        """Wait for the end of the command and return its status."""
        reading = True
        while reading:
            reading = self._read()
        return self.program.wait(LIMIT)

    def _read(self) -> bool:
        """Wait for the command to write something, and draw it; return whether it may write more."""
        ready, _, _ = select.select([self._master], [], [], LIMIT)
        assert ready, f"the command writes nothing more:\n{self.text}"
        try:
            read = os.read(self._master, 65536)
        except OSError:  # Linux reports the end of a pseudo-terminal so
            return False
        self.raw += read
        self._stream.feed(read)
        if b"\x1b[6n" in read:  # the command asks where the cursor is
            self.send(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")
        return bool(read)
