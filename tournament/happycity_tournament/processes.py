"""The processes of a tournament: a server and bots, each with its output in a file of its own."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from happycity import HappyCityError

START_SECONDS = 30.0
STOP_SECONDS = 10.0
BOT_NICENESS = 5


class ProcessError(HappyCityError):
    """A process of the tournament can't be started, or ended when it should not."""


class Process:
    """A running program of which the tournament is in charge."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        """Where its output goes."""
        self._process = process

    @classmethod
    async def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        talks: bool = False,
    ) -> Self:
        """Start a program.

        Args:
            name: what to call it when speaking to a person.
            command: the program and its arguments.
            log: file for its standard error, and its standard output too unless it talks.
            environment: added to this process's own.
            talks: whether its standard output is read here. Such a program's standard input is held open
                until it is to stop, so that it can notice if this process dies.

        Raises:
            ProcessError: there is no such program.
        """
        with log.open("ab") as output:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE if talks else asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE if talks else output,
                    stderr=output,
                    env={**os.environ, **environment},
                    # A Ctrl-C at the terminal is this process's to deal with.
                    start_new_session=True,
                )
            except OSError as error:
                raise ProcessError(f"{name}: {command[0]!r} can't be started: {error.strerror}") from None
        if not talks and sys.platform != "win32":
            # The server's clock runs for bots: where cores are short, the server comes first.
            with suppress(ProcessLookupError):  # it ended at once
                os.setpriority(os.PRIO_PROCESS, process.pid, BOT_NICENESS)
        return cls(name, process, log)

    async def line(self) -> str:
        """Return the next line that the program says.

        Raises:
            ProcessError: it ended without saying anything, or said nothing for long.
        """
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), START_SECONDS)
        except TimeoutError:
            raise ProcessError(f"{self.name} said nothing for {START_SECONDS:g} s; see {self.log}") from None
        if not line:
            await self._process.wait()
            raise ProcessError(self.obituary())
        return line.decode()

    async def wait(self) -> int:
        """Wait for the program's end and return its exit status."""
        return await self._process.wait()

    def obituary(self) -> str:
        """Say in one line how the program ended: its own last word, if it had one."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
        status = self._process.returncode
        return f"{self.name} ended with status {status}: {last.removeprefix('error: ')} (output: {self.log})"

    async def stop(self) -> None:
        """End the program: ask it, and if it doesn't listen, kill it."""
        if self._process.returncode is not None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


async def start_server(store: str, *, logs: Path) -> tuple[Process, str]:
    """Start a game server on a free loopback port; return it and its address.

    Raises:
        ProcessError: it didn't come up.
    """
    options = ["--listen", "127.0.0.1:0", "--store", store, "--log", "json", "--stop-with-stdin"]
    server = await Process.start(
        "server",
        [sys.executable, "-m", "happycity", "serve", *options],
        log=logs / "server.log",
        environment={},
        talks=True,
    )
    try:
        return server, str(json.loads(await server.line())["listening"])
    except BaseException:
        await server.stop()
        raise


async def start_builtin_bots(entries: Sequence[str], *, server: str, logs: Path) -> Process:
    """Start reference bots, `NAME` or `NAME=BOT` each, together in one process."""
    names = [entry.partition("=")[0] for entry in entries]
    return await Process.start(
        f"bot {', '.join(names)}",
        [sys.executable, "-m", "happycity", "bot", *entries, "--server", server],
        log=logs / f"bot-{'-'.join(names)}.log",
        environment={},
    )


async def start_bot(name: str, command: str, *, server: str, logs: Path) -> Process:
    """Start anybody's bot; the environment tells it where to connect and under which name.

    Raises:
        ProcessError: the command can't be started.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ProcessError(f"bot {name}: can't read the command {command!r}: {error}") from None
    if not words:
        raise ProcessError(f"bot {name}: the command is empty; expected NAME=COMMAND")
    return await Process.start(
        f"bot {name}",
        words,
        log=logs / f"bot-{name}.log",
        environment={"HAPPYCITY_SERVER": server, "HAPPYCITY_NAME": name},
    )
