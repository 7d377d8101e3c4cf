"""The processes of a run: a server and bots, each with its output in a file of its own.

What starts one raises a ProcessError if that fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from happycity import HappyCityError
from happycity.runtime.child import Child, child_environment, describe_status, last_line, words_of
from happycity.runtime.transport import TOKENS_VARIABLE, format_tokens

START_SECONDS = 30.0
STOP_SECONDS = 10.0
LOST_SECONDS = 3.0
"""The time in which a server whose connection broke has to end."""
BOT_NICENESS = 5
SERVER_LOG = "server.log"
SHOWN_NAMES = 4
"""Reference bots of a process that are named in a line about it."""


class ProcessError(HappyCityError):
    """A process of a run can't be started, or ended when it should not."""


@dataclass(slots=True, eq=False)
class Process:
    """A running program of a run, with its output in a file."""

    name: str
    """What it is, for people."""
    child: Child
    log: Path
    """The file with its output."""
    log_start: int
    """The size of that file when it was started: programs before it have written there too."""

    @classmethod
    def start_bot(
        cls,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        directory: Path | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> Self:
        """Start a program that plays; its `environment` is added to that of this process."""
        with log.open("ab") as output:
            log_start = output.tell()
            try:
                child = Child.start(
                    command,
                    environment=child_environment(**environment),
                    stdin=stdin,
                    stdout=output,
                    stderr=output,
                    directory=directory,
                )
            except HappyCityError as error:
                raise ProcessError(f"{name}: {error}") from None
        if sys.platform != "win32":
            # The server's clock runs for bots: where cores are short, the server comes first.
            with suppress(ProcessLookupError):  # it ended at once
                os.setpriority(os.PRIO_PGRP, child.pid, BOT_NICENESS)
        return cls(name, child, log, log_start)

    async def wait(self, seconds: float | None = None) -> int | None:
        """Return the exit status; None if the program still runs after `seconds`."""
        return await self.child.wait(seconds)

    def exit_summary(self) -> str:
        """Return in one line how the program ended, with the last line of its output."""
        with self.log.open("rb") as output:
            last = last_line(output, start=self.log_start).removeprefix("error: ")
        last = last or "there is no error in its output"
        status = self.child.status
        ended = "runs" if status is None else f"ended with {describe_status(status)}"
        return f"{self.name} {ended}: {last} (output: {self.log})"

    async def stop(self) -> None:
        """End the program and all that it has started; kill what doesn't end in time."""
        if self.child.stdin is not None:
            self.child.stdin.close()
        await self.child.stop(STOP_SECONDS)
        if self.child.stdout is not None:
            self.child.stdout.close()


@dataclass(slots=True, eq=False)
class ServerProcess(Process):
    """A game server on this machine, which ends with this process."""

    web: str = ""
    """Where a browser finds its pages, once it listens; "" if it has none."""
    workers: Sequence[str] = ()
    """Where its workers listen, once it listens itself; "" for each that has not come to listen."""

    async def lost_summary(self) -> str:
        """Return in one line why the server can't be used: how it ended, else the last error of its log."""
        if await self.wait(LOST_SECONDS) is not None:
            return self.exit_summary()
        return f"{self.name}: {self._last_error() or 'it does not answer'} (output: {self.log})"

    def _last_error(self) -> str:
        """Return the text of the last error in the log; "" without one."""
        log = self.log.read_bytes()[self.log_start :].decode(errors="replace")
        for line in reversed(log.splitlines()):
            with suppress(ValueError, AttributeError):
                entry = json.loads(line)
                if entry.get("level") == "error":
                    text = str(entry.get("problem") or entry.get("exception") or entry["event"])
                    return text.strip().splitlines()[-1].rpartition("Error: ")[2]
        return ""

    async def address(self) -> str:
        """Wait until the server listens, and return where; stop it and raise a ProcessError if that fails."""
        try:
            addresses = json.loads(await self._first_line())
            self.web = str(addresses.get("web", ""))
            self.workers = tuple(addresses.get("workers", ()))
            return str(addresses["listening"])
        except BaseException:
            await self.stop()
            raise

    async def _first_line(self) -> str:
        assert self.child.stdout is not None
        try:
            line = await asyncio.wait_for(asyncio.to_thread(self.child.stdout.readline), START_SECONDS)
        except TimeoutError:
            raise ProcessError(
                f"{self.name} doesn't listen after {START_SECONDS:g} s; see {self.log}"
            ) from None
        if not line:
            await self.wait()
            raise ProcessError(self.exit_summary())
        return line.decode()


@dataclass(slots=True, eq=False)
class ReferenceBots(Process):
    """A process of reference bots, which end with this one unless they are connected."""

    worker: int = 0
    """The worker that they play at, from 1; 0: the server itself."""

    def connect(self, address: str) -> None:
        """Let the bots connect to a server."""
        assert self.child.stdin is not None
        with suppress(BrokenPipeError):  # they have ended, which their exit status says
            self.child.stdin.write(f"{address}\n".encode())
            self.child.stdin.close()


def start_server(
    store: str,
    *,
    tokens: Path,
    folder: Path,
    web: bool = False,
    workers: int = 0,
    house: Sequence[tuple[str, str]] = (),
) -> ServerProcess:
    """Start a game server with its workers on free loopback ports, with pages on another one if `web`.

    `store` is a URL, `tokens` is the file of its tokens, `house` are reference bots that it plays itself, by
    their names, and its output goes to `folder`.
    """
    log = folder / SERVER_LOG
    environment = child_environment(
        HAPPYCITY_SERVE_LISTEN="127.0.0.1:0",
        HAPPYCITY_SERVE_TOKENS=str(tokens),
        HAPPYCITY_SERVE_STORE=store,
        HAPPYCITY_SERVE_LOG="json",
        HAPPYCITY_SERVE_STOP_WITH_STDIN="true",
        # The bots of the store's other tournaments are not connected.
        HAPPYCITY_SERVE_RESUME_TOURNAMENTS="false",
        HAPPYCITY_SERVE_WORKERS=str(workers),
        # The run starts its bots once for each worker, so none of them is to connect to all.
        HAPPYCITY_SERVE_ANNOUNCE_WORKERS="false",
        **({"HAPPYCITY_SERVE_WEB": "127.0.0.1:0"} if web else {}),
        **({"HAPPYCITY_SERVE_HOUSE": ",".join(map("=".join, house))} if house else {}),
        **{name: value for name, value in os.environ.items() if name.startswith("PG")},
    )
    with log.open("ab") as output:
        log_start = output.tell()
        child = Child.start(
            [sys.executable, "-m", "happycity_server"],
            environment=environment,
            stdin=subprocess.PIPE,  # ends with this process, however that ends, and then the server stops
            stdout=subprocess.PIPE,
            stderr=output,
        )
    return ServerProcess("the server", child, log, log_start)


def start_reference_bots(
    bots: Sequence[tuple[str, str]],
    *,
    number: int,
    worker: int = 0,
    tokens: Mapping[str, str],
    environment: Mapping[str, str],
    folder: Path,
) -> ReferenceBots:
    """Start reference bots, names and bots, together in one process: the one of this number, from 1.

    They play at a worker, or at the server itself if that is 0.

    They begin to import what they need, and connect when `connect` tells them where.
    """
    names = [name for name, _ in bots]
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    own = {name: tokens[name] for name in names if name in tokens}
    process = ReferenceBots.start_bot(
        f"the reference bots ({', '.join(names[:SHOWN_NAMES])}{more}){_at(worker)}",
        [
            *(sys.executable, "-m", "happycity_bots"),
            *(f"{name}={bot}" for name, bot in bots),
        ],
        stdin=subprocess.PIPE,
        log=_log(folder, "bots" if number == 1 else f"bots-{number}", worker),
        environment={**environment, **({TOKENS_VARIABLE: format_tokens(own)} if own else {})},
    )
    process.worker = worker
    return process


def start_command(
    name: str,
    command: str,
    *,
    worker: int = 0,
    tokens: Mapping[str, str],
    environment: Mapping[str, str],
    folder: Path,
    directory: Path,
) -> Process:
    """Start a program that plays under a name, at a worker or, if that is 0, at the server itself.

    Its environment has what it needs to connect.
    """
    own = {"HAPPYCITY_NAME": name, **({"HAPPYCITY_TOKEN": tokens[name]} if name in tokens else {})}
    return Process.start_bot(
        f"bot {name}{_at(worker)}",
        words_of(command),
        log=_log(folder, f"bot-{name}", worker),
        environment={**environment, **own},
        directory=directory,
    )


def _at(worker: int) -> str:
    """Return what tells the bots of a worker from those of the others, for people."""
    return f" at worker {worker}" if worker else ""


def _log(folder: Path, name: str, worker: int) -> Path:
    """Return the file for the output of bots; those of each worker have their own."""
    return folder / (f"{name}.worker-{worker}.log" if worker else f"{name}.log")
