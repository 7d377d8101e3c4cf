"""A reader who does what a text says: every command line of its code blocks, in the order given."""

from __future__ import annotations

import os
import queue
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from tests.waiting import LIMIT

from happycity_runtime.child import child_environment

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROGRAMS = str(Path(sys.executable).parent)


def command_lines(text: str) -> list[str]:
    """Return the command lines of a text's code blocks."""
    lines = [line for block in _BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if shlex.split(line, comments=True)]


def commented_commands(text: str) -> list[str]:
    """Return the command lines in the comments of a file of settings: in backticks, or after a colon."""
    comments = re.findall(r"^# (.*)$", text, re.MULTILINE)
    found = [re.findall(r"`([^`]+)`|: ((?:happycity|tournament) .*)", comment) for comment in comments]
    return [quoted or last for line in found for quoted, last in line]


class Reader:
    """Runs command lines by a shell, in a folder that `cd` changes, until `stop` ends what still runs.

    The tests' environment stands for that of a reader who has installed the project. Variables by which
    this process reaches servers are not part of it.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.environment = {
            **child_environment(),
            "PATH": f"{_PROGRAMS}{os.pathsep}{os.environ['PATH']}",
            **(environment or {}),
        }
        self._running: list[_Program] = []

    def run(self, line: str) -> str:
        """Run a command line to its end, which has to be a success; return what it printed."""
        if line.startswith("cd "):
            self.folder = self.folder / shlex.split(line)[1]
            return ""
        if line.startswith(". ") and line.endswith("/bin/activate"):
            programs = (self.folder / line[2:]).parent.resolve(strict=True)
            self.environment["PATH"] = f"{programs}{os.pathsep}{self.environment['PATH']}"
            return ""
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=LIMIT,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, line: str, until: str) -> None:
        """Start a program in a terminal of its own; wait until it has printed something."""
        program = _Program(line, self.folder, self.environment)
        self._running.append(program)
        program.wait_for(until)

    def stop(self) -> None:
        """End all programs as Ctrl-C or a closed terminal does, the last one first."""
        while self._running:
            self._running.pop().end()


class _Program:
    """A program that runs while its reader does something else."""

    def __init__(self, line: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._line = line
        self._process = subprocess.Popen(
            ["sh", "-c", f"exec env {line}"],  # it may begin with variables
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for said in self._process.stdout:
            self._said.put(said)
        self._said.put("")

    def wait_for(self, text: str) -> None:
        """Wait for a line with a text; if the program ends or is silent before, say what it has printed."""
        said = [""]
        while text not in said[-1]:
            try:
                said.append(self._said.get(timeout=LIMIT))
            except queue.Empty:
                said.append("")
            assert said[-1], f"{self._line}: no {text!r} in\n{''.join(said)}"

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(LIMIT)
        self._listener.join(LIMIT)
        assert self._process.stdout is not None
        self._process.stdout.close()
