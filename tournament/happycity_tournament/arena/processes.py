"""The process of a run's own server, with its output in a file.

What starts it raises a ProcessError if that fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from happycity.runtime.child import Child, child_environment
from happycity_tournament.arena.run_folder import OwnServer
from happycity_tournament.bots.lineup import LOCAL_RAY, Lineup
from happycity_tournament.bots.processes import Process, ProcessError

START_SECONDS = 30.0
EVERY_INTERFACE = "0.0.0.0"  # noqa: S104 - for workers on other machines
LOST_SECONDS = 3.0
"""The time in which a server whose connection broke has to end."""
SERVER_LOG = "server.log"


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
            while "listening" not in (addresses := json.loads(await self._next_line())):
                pass  # a worker was quicker
            self.web = str(addresses.get("web", ""))
            return str(addresses["listening"]).replace(EVERY_INTERFACE, "127.0.0.1")
        except BaseException:
            await self.stop()
            raise

    async def remarks(self) -> AsyncIterator[str]:
        """Yield the lines that the server has for people about its workers, until it ends."""
        assert self.child.stdout is not None
        while line := await asyncio.to_thread(self.child.stdout.readline):
            yield str(json.loads(line)["remark"])

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
