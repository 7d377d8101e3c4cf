"""`make soak-ladder`: ten minutes of a ladder with 100 bots that come and go, and a server that is killed.

Bots of six languages and behind the bridge leave and return, some as new versions. The server is killed five
times and backed up once. Exit status 1 if a stored game is lost, a finished deal isn't rated, a bot that is
connected and has room waits for more than 10 seconds, or the restored backup has another leaderboard.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
from sqlalchemy import select
from tests.clients.languages import CLIENTS, LANGUAGES, command, missing

from benchmarks.ladder_checks import PAGE, Waits, differing, ids_of, leaderboards, ratings_then, unrated
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.ladder.v1beta1.ladder_service_pb2_grpc import LadderServiceStub
from happycity.v1 import bot_service_pb2 as bots_pb
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity_server.config import LogFormat
from happycity_server.process.logs import configure
from happycity_tournament.storage import Store
from happycity_tournament.storage.backup import back_up
from happycity_tournament.storage.schema import games, ladder_deals

LADDER = """
boards = [{players = 4}, {players = 2, weight = 0.5}]
deals_per_bot = 1
return_seconds = 60.0
[time]
decision_seconds = 30.0
"""
HOUSE = "planner,greedy,random"
MAX_WAIT_SECONDS = 10.0
POLL_SECONDS = 1.0
RATING_SECONDS = 120.0
"""How long a server that starts on the restored backup may take to rate its deals."""
CALL_SECONDS = 10.0
NAMES_PER_PROCESS = 8
SINGLE_SHARE = 20
"""Of so many bots, one of each other language, and one behind the bridge."""
BRIDGED = ("bash", str(CLIENTS / "examples/bash/first.sh"))
"""The program behind the bridge."""


def console(name: str) -> str:
    """Return the path of a command of this environment."""
    return str(Path(sys.executable).parent / name)


def free_port() -> int:
    """Return a port that nobody listens on: bots come back to the same one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Guest:
    """A process with one or several bots, which leaves and returns."""

    language: str
    names: Sequence[str]
    version: int = 1
    process: subprocess.Popen[bytes] | None = None
    returns_at: float = 0.0
    """When it is started again, while it is away."""

    def start(self, server: str, log: int) -> None:
        """Connect."""
        environ = {**os.environ, "HAPPYCITY_SERVER": server, "HAPPYCITY_GAMES": "8"}
        if self.language == "python":
            own = [sys.executable, "-m", "benchmarks.ladder_guests", server, str(self.version), *self.names]
        else:
            environ["HAPPYCITY_NAME"] = self.names[0]
            own = (
                shlex.split(command(self.language, "greedy"))
                if self.language in LANGUAGES
                else self._bridge()
            )
        self.process = subprocess.Popen(own, env=environ, stdout=log, stderr=log)

    def _bridge(self) -> list[str]:
        return [console("happycity"), "bridge", "--version", str(self.version), "--", *BRIDGED]

    def stop(self) -> None:
        """Say goodbye and end."""
        if self.process is not None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.process.kill()
            self.process.wait()
            self.process = None


def guests(count: int) -> tuple[list[Guest], list[str]]:
    """Return the guests, and the languages whose bots are not built."""
    single = max(1, count // SINGLE_SHARE)
    absent = [language for language in LANGUAGES if missing(command(language, "greedy"))]
    found = [
        Guest(language, [f"{language}-{number}"])
        for language in [*(each for each in LANGUAGES if each not in absent), "bridge"]
        for number in range(1, single + 1)
    ][: count // 2]
    names = [f"python-{number}" for number in range(1, count - len(found) + 1)]
    size = min(NAMES_PER_PROCESS, max(1, count // 4))
    found += [Guest("python", names[first : first + size]) for first in range(0, len(names), size)]
    return found, absent


class Soak:
    """A ladder, its guests, and what is done to them."""

    def __init__(self, options: argparse.Namespace, folder: Path, stack: ExitStack) -> None:
        self.options = options
        self.folder = folder
        self.url = f"sqlite:///{folder}/games.sqlite"
        self.copy = folder / "backup.sqlite"
        self.address = f"127.0.0.1:{free_port()}"
        self.config = folder / "ladder.toml"
        self.config.write_text(LADDER)
        self.waits = Waits()
        self.restarts: list[float] = []
        self.goings = 0
        self.restored_lines = 0
        """Lines of the leaderboards of the restored backup."""
        self.failed: Counter[str] = Counter()
        self.problems: list[str] = []
        self.ids: set[int] = set()
        self._rng = random.Random(options.seed)
        self._log = stack.enter_context((folder / "log").open("wb"))
        self.guests, self.absent = guests(options.bots)
        stack.callback(self._end)
        self._server = self.start_server(self.url, self.address)
        channel = stack.enter_context(
            grpc.insecure_channel(self.address, [("grpc.max_reconnect_backoff_ms", 500)])
        )
        self.ladder, self.bots = LadderServiceStub(channel), BotServiceStub(channel)

    def start_server(self, url: str, address: str) -> subprocess.Popen[bytes]:
        """Start a server and wait until it listens."""
        server = subprocess.Popen(
            [console("happycity"), "serve", "--listen", address, "--store", url, "--open", "--log", "json",
             "--ladder", str(self.config), "--house", HOUSE, "--calls-burst", "100000"],
            stdout=subprocess.PIPE, stderr=self._log,
        )  # fmt: skip
        assert server.stdout is not None
        if not server.stdout.readline():
            raise SystemExit(f"the server doesn't start: {Path(self._log.name).read_text()[-2000:]}")
        return server

    def play(self) -> None:
        """Let everything happen that is planned."""
        options, started = self.options, time.monotonic()
        for guest in self.guests:
            guest.start(self.address, self._log.fileno())
        kills = [options.seconds * (number + 1) / (options.kills + 1) for number in range(options.kills)]
        backup_at = options.seconds * 0.55
        backup: subprocess.Popen[bytes] | None = None
        next_going = 10.0
        while (passed := time.monotonic() - started) < options.seconds:
            if kills and passed >= kills[0]:
                kills.pop(0)
                self._kill()
            if backup is None and passed >= backup_at:
                backup = subprocess.Popen(
                    [console("happycity"), "backup", str(self.copy), "--store", self.url]
                )
            if passed >= next_going:
                next_going = passed + options.seconds / options.goings
                self._send_away(passed)
            self._bring_back(passed)
            self._poll()
            time.sleep(POLL_SECONDS)  # the interval of the measurement
        if backup is None or backup.wait(120):
            self.problems.append("the backup failed")

    def _send_away(self, passed: float) -> None:
        """Let a process leave for some seconds; half of them return as a new version."""
        here = [guest for guest in self.guests if guest.process is not None]
        guest = self._rng.choice(here)
        guest.stop()
        guest.returns_at = passed + self._rng.uniform(2.0, 15.0)
        guest.version += self._rng.randrange(2)
        self.goings += 1

    def _bring_back(self, passed: float) -> None:
        for guest in self.guests:
            if guest.process is not None and guest.process.poll() is not None:
                self.failed[guest.language] += 1
                guest.process, guest.returns_at = None, passed
            if guest.process is None and passed >= guest.returns_at:
                guest.start(self.address, self._log.fileno())

    def _kill(self) -> None:
        self.ids |= ids_of(self.url)
        self._server.kill()
        self._server.wait()
        began = time.monotonic()
        self._server = self.start_server(self.url, self.address)
        self.restarts.append(time.monotonic() - began)
        self.waits.restart()

    def _poll(self) -> None:
        try:
            said = self.ladder.GetLadder(pb.GetLadderRequest(), timeout=CALL_SECONDS, wait_for_ready=True)
            page = self.bots.ListBots(
                bots_pb.ListBotsRequest(page_size=PAGE, house=False),
                timeout=CALL_SECONDS,
                wait_for_ready=True,
            )
        except grpc.RpcError as error:
            self.problems.append(f"a call failed: {error}")
            return
        self.waits.longest_said = max(self.waits.longest_said, said.longest_wait.ToMicroseconds() / 1e6)
        self.waits.note(page.bots, time.time())

    def finish(self) -> None:
        """Send everybody away, and stop the server as usual."""
        for guest in self.guests:
            if guest.process is not None:
                guest.process.terminate()
        for guest in self.guests:
            guest.stop()
        self._server.send_signal(signal.SIGTERM)
        if self._server.wait(120):
            self.problems.append(f"the server ended with status {self._server.returncode}")

    def _end(self) -> None:
        for guest in self.guests:
            if guest.process is not None:
                guest.process.kill()
        self._server.kill()

    # Checks

    def check(self) -> None:
        """Note all that must not have happened."""
        lost = self.ids - ids_of(self.url)
        if lost:
            self.problems.append(f"{len(lost)} stored games are lost, such as {min(lost)}")
        for name, longest in (("outside", self.waits.longest), ("the ladder", self.waits.longest_said)):
            if longest > MAX_WAIT_SECONDS:
                who = f" ({self.waits.by_whom})" if name == "outside" else ""
                self.problems.append(f"seen by {name}, a bot waited for {longest:.1f} s{who}")
        self.problems += unrated(self.url, self.config)
        if self.copy.exists():
            self._check_backup()

    def _check_backup(self) -> None:
        """Restore the backup, and compare the leaderboards that a server shows of it."""
        restored = f"sqlite:///{self.folder}/restored.sqlite"
        command = [console("happycity"), "backup", str(self.copy), "--restore", "--store", restored]
        subprocess.run(command, check=True)
        then = self.folder / "then.sqlite"
        back_up(self.url, then, progress=lambda _, __: None)
        expected = ratings_then(f"sqlite:///{then}", restored, self.config)
        server = self.start_server(restored, address := f"127.0.0.1:{free_port()}")
        deadline = time.monotonic() + RATING_SECONDS
        try:
            with grpc.insecure_channel(address) as channel:
                ladder = LadderServiceStub(channel)
                while ladder.GetLadder(pb.GetLadderRequest(), wait_for_ready=True).ratings_behind:
                    if time.monotonic() > deadline:
                        self.problems.append(f"the restored ladder is not rated after {RATING_SECONDS:g} s")
                        break
                    time.sleep(POLL_SECONDS)  # no call waits until the server has rated its deals
                lines = list(leaderboards(ladder))
        finally:
            server.terminate()
            server.wait()
        self.restored_lines = len(lines)
        self.problems += differing(lines, expected)


def report(soak: Soak) -> None:
    """Print what was measured."""
    with Store.existing(soak.url) as store, store.reading() as connection:
        rows = connection.execute(select(ladder_deals.c.finished)).scalars().all()
        count = len(connection.execute(select(games.c.id)).all())
    finished = sum(1 for number in rows if number)
    dropped = sum(1 for number in rows if number == 0)
    languages = Counter(guest.language for guest in soak.guests for _ in guest.names)
    shown = {
        "seconds": soak.options.seconds,
        "bots": dict(languages),
        "not built": soak.absent,
        "left and returned": soak.goings,
        "versions": sum(guest.version * len(guest.names) for guest in soak.guests),
        "processes that ended by themselves": dict(soak.failed),
        "games": count,
        "deals": {"finished": finished, "dropped": dropped, "open": len(rows) - finished - dropped},
        "kills": len(soak.restarts),
        "seconds of a restart": [round(seconds, 2) for seconds in soak.restarts],
        "longest wait, seen from outside": round(soak.waits.longest, 2),
        "longest wait, said by the ladder": round(soak.waits.longest_said, 2),
        "restored lines": soak.restored_lines,
        "problems": soak.problems,
    }
    print(json.dumps(shown, indent=2))


def main() -> None:
    """Play, check and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--bots", type=int, default=100)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument(
        "--goings", type=int, default=60, help="how often a process of bots leaves and returns"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    configure(LogFormat.JSON)  # on the standard error: what is checked in this process logs, too
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        soak = Soak(options, Path(folder), stack)
        print(f"{options.bots} bots for {options.seconds:g} s; Ctrl-C stops it", file=sys.stderr)
        soak.play()
        soak.finish()
        soak.check()
        report(soak)
        if soak.problems:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
