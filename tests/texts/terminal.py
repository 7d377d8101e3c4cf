"""A terminal in which somebody types, recorded with times: https://docs.asciinema.org/manual/asciicast/v2/."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.waiting import LIMIT

COLUMNS, LINES = 100, 40
_PROMPT: Final = re.compile(r"\[(\d+)\] \$ \Z")
"""What the shell prints when it waits: the status of the last command line."""
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[=>(][B0]?")
SILENCE: Final = 4 * LIMIT
"""Seconds for which a program may print nothing: what installs and compiles is silent for minutes."""
INTERRUPT: Final = "\x03"


class Terminal:
    """A shell in a terminal, in a folder; each of its texts is written to a recording.

    Args:
        recording: The file, of which `asciinema play` shows what happened.
        within: A command that starts the shell, as in another network name space.
    """

    def __init__(
        self,
        recording: Path,
        folder: Path,
        environment: Mapping[str, str],
        *,
        within: Sequence[str] = (),
    ) -> None:
        self._began = time.monotonic()
        self._said = ""
        """What was printed since the last line that was typed."""
        recording.parent.mkdir(parents=True, exist_ok=True)
        self._recording = recording.open("w", encoding="utf-8")
        header = {"version": 2, "width": COLUMNS, "height": LINES, "timestamp": int(time.time())}
        self._record(header | {"title": recording.stem})
        self._terminal, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        own = {**environment, "TERM": "xterm-256color", "PS1": r"\W [$?] $ "}
        shell = "bash", "--noprofile", "--norc", "--noediting", "-i"
        self._shell = subprocess.Popen(
            # What runs there ends with it and by Ctrl-C, also where the tests run in the background.
            ["env", "--default-signal=HUP,INT,QUIT", "setsid", "--ctty", *within, *shell],
            cwd=folder, env=own, stdin=inside, stdout=inside, stderr=inside,
        )  # fmt: skip
        os.close(inside)
        self._wait_for(_PROMPT)

    def run(self, line: str, *, status: int = 0) -> str:
        """Type a command line and wait until it has ended, with this status; return what it printed."""
        self.type(line)
        prompt = self._wait_for(_PROMPT)
        printed = self._said[: prompt.start()].rpartition("\n")[0]
        assert int(prompt[1]) == status, f"{line}\n{printed}\nstatus {prompt[1]}"
        return printed.partition("\n")[2]

    def save(self, file: str, text: str) -> None:
        """Type a text into a file."""
        self.run(f"cat > {file} <<'END'\n{text}END")

    def start(self, line: str, until: str) -> None:
        """Type a command line that runs until it is interrupted; wait until it has printed a text."""
        self.type(line)
        self.wait_for(until)

    def wait_for(self, text: str) -> None:
        self._wait_for(re.compile(re.escape(text)))

    def leave(self, key: str = INTERRUPT) -> str:
        """Press a key that ends what runs, and wait for the shell; return all that it printed."""
        os.write(self._terminal, key.encode())
        self._wait_for(_PROMPT)
        return self._said

    def type(self, line: str) -> None:
        self._said = ""
        os.write(self._terminal, f"{line}\n".encode())

    def close(self) -> None:
        """End what runs here, as a terminal that is closed does."""
        os.close(self._terminal)
        self._shell.wait(SILENCE)
        self._recording.close()

    def _wait_for(self, pattern: re.Pattern[str]) -> re.Match[str]:
        while (found := pattern.search(self._said)) is None:
            assert self._read(), f"the terminal was closed after\n{self._said}"
        return found

    def _read(self) -> bool:
        """Record what is printed next; return whether something was."""
        ready, _, _ = select.select([self._terminal], [], [], SILENCE)
        assert ready, f"nothing was printed for {SILENCE} s after\n{self._said}"
        try:
            printed = os.read(self._terminal, 1 << 16).decode("utf-8", "replace")
        except OSError as error:
            if error.errno != errno.EIO:  # all that ran here has ended
                raise
            return False
        self._record([round(time.monotonic() - self._began, 3), "o", printed])
        self._said += _ESCAPES.sub("", printed).replace("\r", "")
        return bool(printed)

    def _record(self, entry: object) -> None:
        self._recording.write(f"{json.dumps(entry, ensure_ascii=False)}\n")
        self._recording.flush()
