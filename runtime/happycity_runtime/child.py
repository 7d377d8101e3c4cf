"""Child processes: everything that one starts ends with it, and with this process.

Each is in a session of its own, and has a mark in its environment, by which what has left the session is
found where there is `/proc`.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Self

from happycity.errors import HappyCityError
from happycity.match import one_line
from happycity_runtime import output

_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
POLL_SECONDS = 0.02
"""How often a process group that is to end is looked at: nothing reports the end of a group."""
BOT_NICENESS = 5
ORPHAN_SEARCHES = 100
"""How often what a program has left behind is looked for, as it may start more meanwhile."""
DRAIN_SECONDS = 1.0
"""How long the end of a program's output is waited for where what it has started still holds it open."""
TAIL_BYTES = 65_536
"""The part of a program's output that is searched for its last line."""

_NOT_FOR_PEOPLE = re.compile(r"\{|debug_error_string|(\S+ )?INFO ")
_ACCESS = re.compile(
    r"HAPPYCITY_((MCP_)?TOKENS?|CA|CERT|KEY|LLM_KEY|SERVE_.*)|OPENAI_API_KEY"
    r"|PG(PASSWORD|PASSFILE|SERVICEFILE|SSLKEY)"
)
"""How this process reaches servers, databases and models, or serves itself, with all secrets of it."""
MODEL_KEYS = ("HAPPYCITY_LLM_KEY", "OPENAI_API_KEY")
"""Variables that may hold the key of a language model's endpoint, for `happycity llm` alone."""


_MARK = "STARTED_BY_HAPPYCITY"
_marks = (f"{secrets.token_hex(8)}-{number}" for number in itertools.count())
_GUARD = """
read pid && read line && exit
[ "$pid" ] && kill -KILL "-$pid"
for file in /proc/[0-9]*/environ; do
    grep -qs "$0" "$file" && pid=${file#/proc/} && kill -KILL "${pid%/environ}"
done
"""
"""A shell waits for two lines: the program's id, and that it has ended; one fails to come if this process is
killed."""


class ChildError(HappyCityError):
    """A program can't be started."""


class _Guard:
    """Kills a program and all that it has started if this process is killed."""

    def __init__(self, mark: str) -> None:
        self._shell = subprocess.Popen(  # noqa: S603 - the own shell
            ("/bin/sh", "-c", _GUARD, mark),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )
        self._lines = [b"\n", b"\n"]
        self._turn = threading.Lock()

    def watch(self, pid: int) -> None:
        """Say which program it is; all of its group are killed too."""
        assert self._shell.stdin is not None
        self._lines.pop()
        self._shell.stdin.write(b"%d\n" % pid)
        self._shell.stdin.flush()

    def release(self) -> None:
        """Let it end: the program has. Any thread may call it, more than once."""
        with self._turn:
            if self._lines:
                self._shell.communicate(b"".join(self._lines))
                self._lines.clear()


class Child:
    """A running program, and all that it has started; `start` makes it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        mark: str,
        *,
        logs: Sequence[Path | None],
        foreground: bool,
        guard: _Guard | None,
    ) -> None:
        self.pid = process.pid
        """The id of the process, which is also that of its group."""
        self.stdin = process.stdin
        self.stdout, self.stderr = (
            None if log is not None else pipe
            for pipe, log in zip((process.stdout, process.stderr), logs, strict=True)
        )
        """Its standard streams, those of them that are pipes."""
        self._process, self._mark, self._foreground = process, mark, foreground
        self._keepers = [
            threading.Thread(target=output.keep_output, args=(pipe, log), daemon=True)
            for pipe, log in zip((process.stdout, process.stderr), logs, strict=True)
            if pipe is not None and log is not None
        ]
        for keeper in self._keepers:
            keeper.start()
        self._guard = guard
        self.cpu_seconds: float | None = None
        """CPU time of the program and its children; None while it runs, and where that isn't known."""
        # Not a future of asyncio's, as programs may be started before an event loop; it can't be cancelled.
        self._ended: Future[int] = Future()
        self._ended.set_running_or_notify_cancel()
        threading.Thread(target=self._watch, daemon=True).start()

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stdin: int | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | Path | None = subprocess.DEVNULL,
        stderr: int | IO[bytes] | Path | None = subprocess.DEVNULL,
        directory: Path | None = None,
        foreground: bool = False,
    ) -> Self:
        """Start a program, by default in this process's folder; its streams are as for `subprocess.Popen`.

        To a file that is given by its path, the first and the last part of a stream are added. If this
        process is killed, so is the program, unless its standard input is a pipe, whose end it can read.

        In the foreground it belongs to the terminal of this process, and a Ctrl-C there goes to both. What it
        has started itself then doesn't end with it.

        ChildError if there is no such program or folder, or it can't be executed.
        """
        mark = next(_marks)
        logs = [stream if isinstance(stream, Path) else None for stream in (stdout, stderr)]
        streams = [subprocess.PIPE if isinstance(stream, Path) else stream for stream in (stdout, stderr)]
        if isinstance(stdout, Path) and stderr == stdout:
            streams[1] = subprocess.STDOUT
        for log in filter(None, logs):
            log.touch()
        # First, or a program whose start this process doesn't outlive would run on.
        guarded = stdin != subprocess.PIPE and not foreground and sys.platform != "win32"
        guard = None
        try:
            guard = _Guard(mark) if guarded else None
            # Not by asyncio: where its loop is uvloop, that forks, which gRPC doesn't like.
            process = subprocess.Popen(  # noqa: S603 - the caller asks for just this program
                command,
                stdin=stdin,
                stdout=streams[0],
                stderr=streams[1],
                env={**environment, _MARK: f"{os.environ.get(_MARK, '')}:{mark}"},
                cwd=directory,
                start_new_session=not foreground,  # a Ctrl-C at the terminal is for this process alone
            )
        except (OSError, ValueError) as error:
            if guard is not None:
                guard.release()
            where = f" in {directory}" if directory is not None else ""
            reason = error.strerror if isinstance(error, OSError) else str(error)
            place = Path() if directory is None else directory
            if isinstance(error, FileNotFoundError) and place.is_dir() and (place / command[0]).is_file():
                in_path = "/" not in command[0]
                missing = "its first line names an interpreter that isn't there"
                reason = missing_program(command[0], place) if in_path else missing
            raise ChildError(f"{command[0]!r} can't be started{where}: {reason}") from None
        if guard is not None:
            guard.watch(process.pid)
        return cls(process, mark, logs=logs, foreground=foreground, guard=guard)

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while the program runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self, seconds: float | None = None) -> int | None:
        """Return the exit status; None if the program still runs after `seconds`."""
        await asyncio.wait((asyncio.wrap_future(self._ended),), timeout=seconds)
        return self.status

    def yield_to_games(self) -> None:
        """Let the server come first where cores are short, as its clock runs for bots."""
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):  # it ended at once, or belongs to root by now
                # Never lowered, which only root may do: this process itself may be a nice one.
                niceness = max(BOT_NICENESS, os.getpriority(os.PRIO_PGRP, self.pid))
                os.setpriority(os.PRIO_PGRP, self.pid, niceness)

    def terminate(self) -> None:
        """Ask the program and all that it has started to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the program and all that it has started at once."""
        self._signal(_KILL)

    async def stop(self, grace_seconds: float) -> None:
        """Terminate the program and all that it has started; kill what still runs after the grace time.

        If the program has ended by itself, what it has left behind is killed at once.
        """
        try:
            if self.status is None:
                clock = asyncio.get_running_loop().time
                deadline = clock() + grace_seconds
                self.terminate()
                await self.wait(grace_seconds)
                while self._signal(0) and clock() < deadline:  # noqa: ASYNC110 - there is no event
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            self.kill()
            await asyncio.to_thread(self._kill_orphans)
            await self.wait()

    def _kill_orphans(self) -> None:
        """Kill what has left the program's session, and release the guard, which has nothing to do then."""
        for _ in range(ORPHAN_SEARCHES):
            with suppress(OSError):  # for want of a descriptor it can't look, and tries again
                if self._foreground or not (orphans := self._orphans()):
                    break
                for pid in orphans:
                    with suppress(ProcessLookupError):
                        os.kill(pid, _KILL)
            time.sleep(POLL_SECONDS)
        self._release()

    def _release(self) -> None:
        if self._guard is not None:
            self._guard.release()

    def _orphans(self) -> list[int]:
        """Return the processes with this program's mark that have not ended; none without `/proc`.

        OSError if this process has no descriptor left to look.
        """
        found, mark = [], self._mark.encode()
        # Not by a pattern: pathlib raises ESRCH for a process that ends while it looks.
        for name in filter(str.isdecimal, os.listdir("/proc") if Path("/proc").is_dir() else ()):
            # It has ended, or belongs to another user.
            with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if mark in Path("/proc", name, "environ").read_bytes():
                    found.append(int(name))
        return found

    def _signal(self, number: int) -> bool:
        """Send a signal to the group, 0 for none; return whether there is anything of the group."""
        if sys.platform == "win32":  # it knows no groups, and one way to end a program
            if number:
                self._process.terminate()
            return False
        try:
            if self._foreground:
                self._process.send_signal(number)
                return self._process.returncode is None
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS refuses a group of nothing but zombies
            return False
        return True

    def _watch(self) -> None:
        # A program in the foreground is polled for by others too, who would take the status away.
        if sys.platform != "win32" and not self._foreground:
            _, status, usage = os.wait4(self.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = usage.ru_utime + usage.ru_stime
        status = self._process.wait()
        for keeper in self._keepers:
            keeper.join(DRAIN_SECONDS)
        try:
            with suppress(OSError):  # it can't look: the guard stays until the program is stopped
                if not self._orphans():
                    self._release()
        finally:
            self._ended.set_result(status)


def child_environment(**variables: str) -> dict[str, str]:
    """Return this process's environment with `variables`, without what is for this process alone.

    That is the token, the key and everything else by which it reaches servers, databases and models, and the
    settings by which it serves: a child gets these only if they are among `variables`.
    """
    own = {name: value for name, value in os.environ.items() if not _ACCESS.fullmatch(name)}
    return {**own, **variables}


def model_keys(command: Sequence[str]) -> dict[str, str]:
    """Return the variables with keys of language models, if a command is `happycity llm`; else none."""
    program = [Path(word).name for word in command[:4]]
    if ("happycity", "llm") not in pairwise(program):
        return {}
    return {name: os.environ[name] for name in MODEL_KEYS if name in os.environ}


def split_command(command: str) -> list[str]:
    """Split a command into words as a shell does; ChildError without any, or if a quote is not closed."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ChildError(f"can't read the command {command!r}: {error}") from None
    if not words:
        raise ChildError("the command is empty")
    return words


def missing_program(program: str, directory: Path) -> str:
    """Return that there is no program of a name, and how a file of that name in a folder is started."""
    reason = "there is no such program"
    if "/" in program or not (directory / program).is_file():
        return reason
    start = f"python {program}" if program.endswith(".py") else f"./{program}"
    return f"{reason}; the file of that name is started by: {start}"


def describe_status(status: int) -> str:
    """Return an exit status in words: `status 1`, `signal SIGKILL`."""
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal has no name
        return f"signal {-status}"


def last_line(output: IO[bytes], *, start: int = 0) -> str:
    """Return the last line of a program's output that says what is wrong; "" if there is none.

    Lines without a letter or digit, log lines in JSON, an SDK's information and details for gRPC's own
    developers don't. Control characters are left out. Only output after `start` bytes is read.
    """
    output.seek(max(start, output.seek(0, os.SEEK_END) - TAIL_BYTES))
    lines = (one_line(line) for line in reversed(output.read().decode(errors="replace").split("\n")))
    worded = (line for line in lines if any(map(str.isalnum, line)))
    return next((line for line in worded if not _NOT_FOR_PEOPLE.match(line)), "")
