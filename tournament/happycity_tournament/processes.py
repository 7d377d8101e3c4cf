"""The processes of a tournament: a server and bots, each with its output in a file of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
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

SERVER_VARIABLES = "HAPPYCITY_SERVE_.*"
"""Settings of other servers than the tournament's own."""
ACCESS_VARIABLES = "HAPPYCITY_(TOKEN|TLS|CA|CERT|KEY)"
"""How the tournament itself is let in by a server; above all, its token is none of its bots' business."""


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
        without: str,
        talks: bool = False,
        directory: Path | None = None,
    ) -> Self:
        """Start a program.

        Args:
            name: what to call it when speaking to a person.
            command: the program and its arguments.
            log: file for its standard error, and its standard output too unless it talks.
            environment: added to this process's own.
            without: pattern of the names of variables that are left out of this process's own.
            talks: whether its standard output is read here. Such a program's standard input is held open
                until it is to stop, so that it can notice if this process dies.
            directory: where to start it; None is this process's own.

        Raises:
            ProcessError: there is no such program or folder.
        """
        with log.open("ab") as output:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE if talks else asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE if talks else output,
                    stderr=output,
                    cwd=directory,
                    env={**_inherited(without), **environment},
                    # A Ctrl-C at the terminal is this process's to deal with.
                    start_new_session=True,
                )
            except OSError as error:
                place = f" in {directory}" if directory is not None else ""
                raise ProcessError(
                    f"{name}: {command[0]!r} can't be started{place}: {error.strerror}"
                ) from None
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
        # Log lines for programs are no last words.
        spoken = (line.strip() for line in reversed(lines) if line.strip() and not line.startswith("{"))
        last = next(spoken, "no last word").removeprefix("error: ")
        return f"{self.name} ended with status {self._process.returncode}: {last} (output: {self.log})"

    async def epitaph(self) -> str:
        """Say in one line how a program ended of which nothing is heard any more, or that it didn't."""
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            return f"{self.name} does not answer any more (output: {self.log})"
        return self.obituary()

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


def _inherited(without: str) -> Mapping[str, str]:
    """Return this process's environment without the variables whose names match a pattern."""
    return {name: value for name, value in os.environ.items() if not re.fullmatch(without, name)}


async def start_server(store: str, *, logs: Path) -> tuple[Process, str]:
    """Start a game server on a free loopback port; return it and its address.

    Raises:
        ProcessError: it didn't come up.
    """
    # Only this machine reaches it, and whoever runs the tournament may do everything.
    options = ["--listen", "127.0.0.1:0", "--open", "--log", "json", "--stop-with-stdin"]
    server = await Process.start(
        "server",
        [sys.executable, "-m", "happycity", "serve", *options],
        log=logs / "server.log",
        environment={
            # The URL may have a password in it, which all users of the machine would see in the command.
            "HAPPYCITY_SERVE_STORE": store,
            # Other tournaments of the store are nobody's business here, and their bots may not be there.
            "HAPPYCITY_SERVE_RESUME_TOURNAMENTS": "false",
        },
        without=SERVER_VARIABLES,
        talks=True,
    )
    try:
        return server, str(json.loads(await server.line())["listening"])
    except BaseException:
        await server.stop()
        raise


async def start_builtin_bots(
    entries: Sequence[str], *, environment: Mapping[str, str], logs: Path
) -> Process:
    """Start reference bots, `NAME` or `NAME=BOT` each, together in one process."""
    names = [entry.partition("=")[0] for entry in entries]
    return await Process.start(
        f"bot {', '.join(names)}",
        [sys.executable, "-m", "happycity", "bot", *entries],
        log=logs / f"bot-{'-'.join(names)}.log",
        environment=environment,
        without=ACCESS_VARIABLES,
    )


async def start_bot(
    name: str, command: str, *, environment: Mapping[str, str], logs: Path, directory: Path
) -> Process:
    """Start anybody's bot in a folder; the environment tells it where to connect and under which name.

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
        environment={**environment, "HAPPYCITY_NAME": name},
        without=ACCESS_VARIABLES,
        directory=directory,
    )
