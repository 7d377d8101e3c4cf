"""The process of a run's own server, with its output in a file.

What starts it raises a ProcessError if that fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from happycity.runtime.child import Child, child_environment
from happycity_tournament.bots.processes import Process, ProcessError

if TYPE_CHECKING:  # few runs have one
    from happycity_tournament.bots.cluster import ClusterTask

START_SECONDS = 30.0
CLUSTER_SECONDS = 120.0
"""How long a server may take to listen that connects to a cluster first."""
LOST_SECONDS = 3.0
"""The time in which a server whose connection broke has to end."""
SERVER_LOG = "server.log"


@dataclass(slots=True, eq=False)
class ServerProcess(Process):
    """A game server on this machine, which ends with this process."""

    web: str = ""
    """Where a browser finds its pages, once it listens; "" if it has none."""
    start_seconds: float = START_SECONDS
    """How long it may take until it listens, or has a line for people."""
    workers: tuple[str, ...] = ()
    """Where its workers listen, once it listens itself; "" for each that has not come to listen."""

    async def lost_summary(self, problem: str) -> str:
        """Return in one line why the server can't be used.

        That is how it ended, else the last error of its log, else the `problem` that its client has met.
        """
        if await self.wait(LOST_SECONDS) is not None:
            return self.exit_summary()
        return f"{self.name}: {self._last_error() or problem} (output: {self.log})"

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

    async def address(self, remark: Callable[[str], object] = lambda text: None) -> str:
        """Wait until the server listens, and return where; stop it and raise a ProcessError if that fails.

        `remark` gets the lines that it has for people.
        """
        try:
            while "remark" in (addresses := json.loads(await self._next_line())):
                remark(addresses["remark"])
            self.web = str(addresses.get("web", ""))
            self.workers = tuple(addresses.get("workers", ()))
            return str(addresses["listening"])
        except BaseException:
            await self.stop()
            raise

    async def remarks(self) -> AsyncIterator[str]:
        """Yield the further lines that the server has for people, until it ends."""
        assert self.child.stdout is not None
        while line := await asyncio.to_thread(self.child.stdout.readline):
            yield str(json.loads(line)["remark"])

    async def _next_line(self) -> str:
        assert self.child.stdout is not None
        try:
            line = await asyncio.wait_for(asyncio.to_thread(self.child.stdout.readline), self.start_seconds)
        except TimeoutError:
            raise ProcessError(
                f"{self.name} doesn't listen after {self.start_seconds:g} s; see {self.log}"
            ) from None
        if not line:
            await self.wait()
            raise ProcessError(self.exit_summary())
        return line.decode()


def start_server(
    store: str,
    *,
    tokens: Path,
    folder: Path,
    web: bool = False,
    workers: int = 0,
    cluster: ClusterTask | None = None,
    house: Sequence[tuple[str, str]] = (),
) -> ServerProcess:
    """Start a game server with its workers on free loopback ports, with pages on another one if `web`.

    `store` is a URL, `tokens` is the file of its tokens, `house` are reference bots that it plays itself, by
    their names, and its output goes to `folder`. With `cluster`, its workers are on the nodes there.
    """
    log = folder / SERVER_LOG
    environment = {
        "HAPPYCITY_SERVE_LISTEN": "127.0.0.1:0",
        "HAPPYCITY_SERVE_TOKENS": str(tokens),
        "HAPPYCITY_SERVE_STORE": store,
        "HAPPYCITY_SERVE_LOG": "json",
        "HAPPYCITY_SERVE_STOP_WITH_STDIN": "true",
        # The bots of the store's other tournaments are not connected.
        "HAPPYCITY_SERVE_RESUME_TOURNAMENTS": "false",
        "HAPPYCITY_SERVE_WORKERS": str(workers),
        # The run starts its bots once for each worker, so none of them is to connect to all.
        **({"HAPPYCITY_SERVE_WEB": "127.0.0.1:0"} if web else {}),
        **({"HAPPYCITY_SERVE_HOUSE": ",".join(map("=".join, house))} if house else {}),
        **{name: value for name, value in os.environ.items() if name.startswith("PG")},
    }
    with log.open("ab") as errors:
        child = Child.start(
            [sys.executable, "-m", "happycity_server"],
            environment=child_environment(**environment),
            stdin=subprocess.PIPE,  # ends with this process, however that ends, and then the server stops
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        server = ServerProcess("the server", child, log, errors.tell())
    task = ""
    if cluster is not None:
        server.start_seconds, task = CLUSTER_SECONDS, cluster.model_dump_json()
    assert child.stdin is not None
    with suppress(BrokenPipeError):  # it has ended, which its exit status says
        child.stdin.write(f"{task}\n".encode())
        child.stdin.flush()
    return server
