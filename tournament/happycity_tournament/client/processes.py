"""The processes that a run starts, each with its output in a file of its own: bots, and a server.

What starts one raises a ProcessError if that fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from happycity.errors import HappyCityError
from happycity_runtime.child import (
    Child,
    child_environment,
    describe_status,
    last_line,
    model_keys,
    split_command,
)
from happycity_runtime.transport import TOKENS_VARIABLE, format_tokens
from happycity_tournament.client.run_folder import USAGE_FILE, OwnServer
from happycity_tournament.lineup import LOCAL_RAY, Lineup

STOP_SECONDS = 10.0
SHOWN_NAMES = 4
"""Reference bots of a process that are named in a line about it."""
START_SECONDS = 30.0
EVERY_INTERFACE = "0.0.0.0"  # noqa: S104 - for workers on other machines
LOST_SECONDS = 3.0
"""The time in which a server whose connection broke has to end."""
SERVER_LOG = "server.log"
LOG_BYTES = 1_000_000
"""The end of a server's log in which its last error is looked for."""


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

    async def wait(self, seconds: float | None = None) -> int | None:
        """Return the exit status; None if the program still runs after `seconds`."""
        return await self.child.wait(seconds)

    def exit_summary(self, *, has_played: bool = True) -> str:
        """Return in one line how the program ended, with the last line of its output and where that is."""
        never = self.child.status == 0 and not has_played
        text = (
            f"{self.name} ended without connecting; does it end with run(MyBot)?" if never else self.ending()
        )
        return f"{text} (output: {self.log})"

    def ending(self) -> str:
        """Return in one line how the program ended, with the last line of its output."""
        with self.log.open("rb") as output:
            last = last_line(output, start=self.log_start).removeprefix("error: ")
        last = last or "there is no error in its output"
        status = self.child.status
        ended = "runs" if status is None else f"ended with {describe_status(status)}"
        return f"{self.name} {ended}: {last}"

    async def stop(self) -> None:
        """End the program and all that it has started; kill what doesn't end in time."""
        if self.child.stdin is not None:
            self.child.stdin.close()
        await self.child.stop(STOP_SECONDS)
        if self.child.stdout is not None:
            self.child.stdout.close()


@dataclass(slots=True, eq=False)
class BotProgram(Process):
    """A program that plays for one or more bots."""

    bots: tuple[str, ...]
    """The names under which it plays."""
    start: Callable[[], Child]
    """Starts the program."""
    restarts: int = 0
    """How often it was started again."""
    is_noted: bool = False
    """Whether the CPU time that it took is noted."""

    @classmethod
    def start_bot(
        cls,
        name: str,
        command: Sequence[str],
        *,
        bots: Iterable[str],
        log: Path,
        environment: Mapping[str, str],
        directory: Path | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> Self:
        """Start a program that plays; its `environment` is added to that of this process."""

        def start() -> Child:
            try:
                child = Child.start(
                    command,
                    environment=child_environment(**model_keys(command), **environment),
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    directory=directory,
                )
            except HappyCityError as error:
                raise ProcessError(f"{name}: {error}") from None
            child.yield_to_games()
            return child

        log_start = log.stat().st_size if log.exists() else 0
        return cls(name, start(), log, log_start, tuple(bots), start)

    async def stop(self) -> None:
        """End the program and all that it has started, and note the CPU time that it took."""
        await Process.stop(self)  # `super()` doesn't work in a dataclass with slots
        if not self.is_noted:
            self.is_noted = True
            with self.log.with_name(USAGE_FILE).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"bots": self.bots, "cpu_seconds": self.child.cpu_seconds}) + "\n")

    async def restart(self) -> None:
        """Start the program again, which has ended, and end what it has left behind."""
        await self.stop()
        self.log_start = self.log.stat().st_size
        self.child, self.is_noted = self.start(), False
        self.restarts += 1


@dataclass(slots=True, eq=False)
class ReferenceBots(BotProgram):
    """A process of reference bots, which end with this one unless they are connected."""

    address: str = ""
    """The server that they were let connect to; "" before that."""

    def connect(self, address: str) -> None:
        """Let the bots connect to a server."""
        self.address = address
        assert self.child.stdin is not None
        with suppress(BrokenPipeError):  # they have ended, which their exit status says
            self.child.stdin.write(f"{address}\n".encode())
            self.child.stdin.close()

    async def restart(self) -> None:
        """Start the bots again, and let them connect to the same server."""
        await BotProgram.restart(self)  # `super()` doesn't work in a dataclass with slots
        self.connect(self.address)


def start_all_reference_bots(
    lineup: Lineup, *, tokens: Mapping[str, str], environment: Mapping[str, str], folder: Path
) -> list[ReferenceBots]:
    """Start the reference bots of a lineup, divided among its processes.

    They begin to import what they need, and connect when `connect` tells them where.
    """
    started = []
    for number in range(lineup.processes):
        bots = dict(lineup.reference_bots[number :: lineup.processes])
        if not bots:
            break
        names = list(bots)
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        own = {name: tokens[name] for name in names if name in tokens}
        process = ReferenceBots.start_bot(
            f"the reference bots ({', '.join(names[:SHOWN_NAMES])}{more})",
            [sys.executable, "-m", "happycity_bots", *map("=".join, bots.items())],
            bots=names,
            stdin=subprocess.PIPE,
            log=folder / (f"bots-{number + 1}.log" if number else "bots.log"),
            environment={**environment, **({TOKENS_VARIABLE: format_tokens(own)} if own else {})},
        )
        started.append(process)
    return started


def start_command(
    name: str,
    command: str,
    *,
    tokens: Mapping[str, str],
    environment: Mapping[str, str],
    folder: Path,
    directory: Path,
) -> BotProgram:
    """Start a program that plays under a name.

    Its environment has what it needs to connect.
    """
    own = {"HAPPYCITY_NAME": name, **({"HAPPYCITY_TOKEN": tokens[name]} if name in tokens else {})}
    return BotProgram.start_bot(
        f"bot {name}",
        split_command(command),
        bots=(name,),
        log=folder / f"bot-{name}.log",
        environment={**environment, **own},
        directory=directory,
    )


@dataclass(slots=True, eq=False)
class ServerProcess(Process):
    """A game server on this machine, which ends with this process."""

    web: str = ""
    """Where a browser finds its pages, once it listens; "" if it has none."""

    async def lost_summary(self, problem: str) -> str:
        """Return in one line why the server can't be used.

        That is how it ended, else the last error of its log, else the `problem` that its client has met.
        """
        if await self.wait(LOST_SECONDS) is not None:
            return self.exit_summary()
        return f"{self.name}: {self._last_error() or problem} (output: {self.log})"

    def _last_error(self) -> str:
        """Return the text of the last error in the end of the log; "" without one."""
        with self.log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self.log_start, end - LOG_BYTES))
            text = log.read().decode(errors="replace")
        for line in reversed(text.splitlines()):
            with suppress(ValueError, AttributeError):
                entry = json.loads(line)
                if entry.get("level") == "error":
                    text = str(entry.get("problem") or entry.get("exception") or entry["event"])
                    return text.strip().splitlines()[-1].rpartition("Error: ")[2]
        return ""

    async def address(self) -> str:
        """Wait until the server listens, and return where; stop it and raise a ProcessError if that fails."""
        try:
            while "listening" not in (addresses := json.loads(await self._next_line())):
                pass  # a worker was quicker
            self.web = str(addresses.get("web", ""))
            return str(addresses["listening"]).replace(EVERY_INTERFACE, "127.0.0.1")
        except BaseException:
            await self.stop()
            raise

    restarts: Counter[str] = field(default_factory=Counter)
    """How often each program of bots beside its workers was started again."""

    async def remarks(self) -> AsyncIterator[str]:
        """Yield the lines that the server has for people about its workers, until it ends."""
        assert self.child.stdout is not None
        while line := await asyncio.to_thread(self.child.stdout.readline):
            said = json.loads(line)
            self.restarts.update(said.get("restarted", {}))
            yield str(said["remark"])

    async def _next_line(self) -> str:
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


def start_server(
    venue: OwnServer,
    lineup: Lineup,
    *,
    tokens: Path,
    folder: Path,
    web: bool = False,
    house: Sequence[tuple[str, str]] = (),
) -> ServerProcess:
    """Start the game server of a run on a free port, with pages on another one if `web`.

    Its workers start the bots of `lineup`. `tokens` is the file of its tokens, `house` are reference bots
    that it plays itself, by their names, and its output goes to `folder`.
    """
    log = folder / SERVER_LOG
    environment = {
        "HAPPYCITY_SERVE_LISTEN": "127.0.0.1:0",
        "HAPPYCITY_SERVE_TOKENS": str(tokens),
        "HAPPYCITY_SERVE_STORE": venue.store,
        "HAPPYCITY_SERVE_LOG": "json",
        "HAPPYCITY_SERVE_STOP_WITH_STDIN": "true",
        # The bots of the store's other tournaments are not connected.
        "HAPPYCITY_SERVE_RESUME_TOURNAMENTS": "false",
        "HAPPYCITY_SERVE_WORKERS": str(venue.workers),
        **({"HAPPYCITY_SERVE_WEB": "127.0.0.1:0"} if web else {}),
        **({"HAPPYCITY_SERVE_HOUSE": ",".join(map("=".join, house))} if house else {}),
        **({"HAPPYCITY_SERVE_RAY": venue.ray} if venue.ray is not None else {}),
        **({"HAPPYCITY_SERVE_HOSTED": str(venue.hosted)} if venue.hosted is not None else {}),
        **{name: value for name, value in os.environ.items() if name.startswith("PG")},
    }
    if venue.ray not in (None, LOCAL_RAY):
        # Workers on other machines join it over the network of the cluster, which Ray takes for trusted, too.
        environment |= {"HAPPYCITY_SERVE_LISTEN": f"{EVERY_INTERFACE}:0", "HAPPYCITY_SERVE_INSECURE": "true"}
    with log.open("ab") as errors:
        child = Child.start(
            [sys.executable, "-m", "happycity_server"],
            environment=child_environment(**environment),
            stdin=subprocess.PIPE,  # ends with this process, however that ends, and then the server stops
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        server = ServerProcess("the server", child, log, errors.tell())
    assert child.stdin is not None
    with suppress(BrokenPipeError):  # it has ended, which its exit status says
        child.stdin.write(f"{lineup.json()}\n".encode())
        child.stdin.flush()
    return server
