"""The bot as a process."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Self

from happycity import HappyCityError

_KILL_SECONDS = 3.0


class CommandError(HappyCityError):
    """The bot's command can't be run."""


class BotProcess:
    """A running bot. Its output goes to a temporary file, of which the last line is told if it fails."""

    def __init__(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self._process = process
        self._output = output
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        threading.Thread(target=self._watch, args=(asyncio.get_running_loop(),), daemon=True).start()

    @classmethod
    def start(cls, command: str, environment: Mapping[str, str]) -> Self:
        """Start a command, split into words as a shell does.

        Raises:
            CommandError: it can't be started.
        """
        output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is stopped
        try:
            # Not by asyncio: where its loop is uvloop, that forks, which gRPC doesn't like.
            process = subprocess.Popen(  # noqa: S603 - running it is what was asked for
                words_of(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **environment},
                start_new_session=True,  # Ctrl-C is ours to deal with, and the whole group can be ended
            )
        except OSError as error:
            output.close()
            raise CommandError(f"bot: {command!r} can't be started: {error.strerror}") from None
        return cls(process, output)

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        status = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(self._note, status)

    def _note(self, status: int) -> None:
        if not self._ended.done():
            self._ended.set_result(status)

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self, timeout: float) -> int | None:  # noqa: ASYNC109 - seconds, as told by the user
        """Return the exit status; None if the process still runs after so many seconds."""
        await asyncio.wait((self._ended,), timeout=timeout)
        return self.status

    def terminate(self) -> None:
        """Ask it to end, as an organiser does."""
        self._process.terminate()

    async def stop(self) -> None:
        """End it with everything that it started."""
        self.terminate()
        await self.wait(_KILL_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._ended
        self._output.close()

    def last_line(self) -> str:
        """Return the last line of its output, or ""."""
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def words_of(command: str) -> list[str]:
    """Split a command into words.

    Raises:
        CommandError: a quote is not closed, or there is no word.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise CommandError(f"bot: can't read the command {command!r}: {error}") from None
    if not words:
        raise CommandError("bot: the command is empty")
    return words


def describe_status(status: int) -> str:
    """Say how a process ended."""
    if status >= 0:
        return f"status {status}"
    return f"signal {signal.Signals(-status).name}"
