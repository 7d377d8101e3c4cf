"""Load a ladder for ten minutes: 100 bots come and go, and its server is killed.

Bots of six languages and behind the bridge leave and return, some as new versions. The server is killed five
times and backed up once. Exit status 1 if a stored game is lost, a finished deal isn't rated, a bot that is
connected and has room waits for more than 10 seconds, or the restored backup has another leaderboard.
"""

from __future__ import annotations

import argparse
import asyncio
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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from sqlalchemy import delete, func, select, update

from happycity import BotInfo
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.ladder.v1beta1.ladder_service_pb2_grpc import LadderServiceStub
from happycity.v1 import bot_service_pb2 as bots_pb
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity_bots.catalogue import BOTS
from happycity_client import Settings, play, run_until_stopped
from happycity_ladder.entries import DealKind, Rating
from happycity_ladder.ladder_config import LadderConfig
from happycity_runtime.transport import Access
from happycity_server.config import LogFormat
from happycity_server.ladder.ratings import LadderRatings
from happycity_server.ladder.served_book import ServedBook
from happycity_server.process.logs import configure
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.backup import back_up
from happycity_tournament.storage.schema import (
    games,
    ladder_beliefs,
    ladder_deals,
    ladder_games,
    ladder_ratings,
)
from happycity_tournament.storage.store import Store
from tools.benchmarks.harness import COMMANDS, Process, parser, serve, store_url
from tools.languages import CLIENTS, LANGUAGES, command, missing

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
"""Among this number of bots, one of each other language and one behind the bridge."""
BRIDGED = ("bash", str(CLIENTS / "examples/bash/first.sh"))
"""The program behind the bridge."""
PAGE = 200
"""Entries of a page."""
SAME_ELO = 1e-6
"""LadderRatings that differ by less are the same: sums may be made in another order after a restart."""


Known = dict[tuple[str, int], Rating]
"""LadderRatings by board and version."""
WAIT_SECONDS = 60.0
"""How long a server that is killed may be away."""
KINDS = ("greedy", "random")
"""What the guests play, by turns."""


async def _play_guests(server: str, version: str, names: Sequence[str]) -> None:
    """Play with some guests until SIGTERM."""
    async with asyncio.timeout(WAIT_SECONDS), Access().channel(server) as channel:
        await channel.channel_ready()
    await asyncio.gather(
        *(
            play(
                BOTS[KINDS[number % len(KINDS)]],
                Settings(
                    name=name,
                    server=server,
                    games=8,
                    reconnect=WAIT_SECONDS,
                    info=BotInfo(version=version, language="Python"),
                ),
            )
            for number, name in enumerate(names)
        )
    )


@dataclass
class Waits:
    """How long connected bots with room wait for a game, seen from outside."""

    longest: float = 0.0
    by_whom: str = ""
    longest_said: float = 0.0
    """What the ladder itself says."""
    _busy_at: dict[str, tuple[float, int]] = field(default_factory=dict)

    def note(self, bots: Sequence[bots_pb.ConnectedBot], now: float) -> None:
        """Note the bots at one moment; a bot that is in no game and has answered nothing since waits."""
        for bot in bots:
            before = self._busy_at.get(bot.name)
            since = bot.since.ToMicroseconds() / 1e6
            if not bot.connected or before is None or bot.games or bot.answers != before[1]:
                self._busy_at[bot.name] = now, bot.answers
                continue
            wait = now - max(before[0], since)
            if wait > self.longest:
                self.longest, self.by_whom = wait, bot.name

    def restart(self) -> None:
        """Begin again, as all bots are disconnected."""
        self._busy_at.clear()


def ids_of(url: str) -> set[int]:
    """Return the ids of the stored games."""
    with Store.existing(url) as store, store.reading() as connection:
        return set(connection.execute(select(games.c.id)).scalars())


def unrated(url: str, config: Path) -> list[str]:
    """Return what is wrong with the ratings of a store: finished deals have all games, and all count."""
    with Store.existing(url) as store, store.reading() as connection:
        rated = connection.execute(
            select(ladder_deals.c.id, ladder_deals.c.board, ladder_deals.c.versions).where(
                ladder_deals.c.finished > 0, ladder_deals.c.kind == DealKind.RATED.value
            )
        ).all()
        played = Counter(connection.execute(select(ladder_games.c.deal_id)).scalars())
    problems = [
        f"the finished deal {deal.id} lacks games" for deal in rated if played[deal.id] != len(deal.versions)
    ]
    expected = Counter((deal.board, version) for deal in rated for version in deal.versions)
    ratings = asyncio.run(_ratings_of(url, config))
    found = Counter({key: rating.deals for key, rating in ratings.items() if rating.deals})
    if found != expected:
        problems.append(f"ratings lack {(expected - found).total()} seats of finished deals")
    return problems


def ratings_then(url: str, restored: str, config: Path) -> Known:
    """Return what the ratings were when a backup was made, from the store that went on.

    `url` is a copy of that store; the deals that are later than the backup `restored` are taken away from it.
    """
    with Store.existing(restored) as store, store.reading() as connection:
        last = connection.scalar(select(func.max(ladder_deals.c.finished))) or 0
    with Store.create(url) as store, store.writing() as connection:
        connection.execute(update(ladder_deals).where(ladder_deals.c.finished > last).values(finished=0))
        connection.execute(delete(ladder_beliefs))
        connection.execute(delete(ladder_ratings))
    return asyncio.run(_ratings_of(url, config))


def differing(lines: Sequence[tuple[str, pb.LeaderboardLine]], expected: Known) -> list[str]:
    """Return how lines of leaderboards, each with its board, differ from the ratings that are expected."""
    if not any(line.rating.deals for _, line in lines):
        return ["the leaderboards of the restored backup are empty"]
    problems = []
    for board, line in lines:
        rating = expected.get((board, line.version.version_id))
        elo, deals = (rating.elo, rating.deals) if rating is not None else (0.0, 0)
        if deals != line.rating.deals or (deals and abs(elo - line.rating.elo) >= SAME_ELO):
            problems.append(
                f"the restored backup rates {line.version.bot} at {line.rating.elo:.3f} after "
                f"{line.rating.deals} deals, and the ladder did at {elo:.3f} after {deals}"
            )
    return problems


async def _ratings_of(url: str, config: Path) -> Known:
    """Return the ratings that follow from the deals of a store, by board and version."""
    ladder = LadderConfig.read(config)
    with Store.create(url) as store:
        async with AsyncStore(store) as async_store:
            ratings = LadderRatings(ServedBook(ladder, async_store, time.time))
            await ratings.load()
            await ratings.catch_up()
            found = {
                (board.name, version): rating
                for board in ladder.boards
                for version, rating in (await ratings.of(board.name)).items()
            }
            ratings.close()
    return found


def leaderboards(ladder: LadderServiceStub) -> Iterator[tuple[str, pb.LeaderboardLine]]:
    """Yield the lines of all leaderboards, each with its board."""
    for board in ladder.GetLadder(pb.GetLadderRequest(), wait_for_ready=True).boards:
        token = ""
        while True:
            request = pb.GetLeaderboardRequest(board=board.name, page_size=PAGE, page_token=token)
            page = ladder.GetLeaderboard(request)
            yield from ((board.name, line) for line in page.lines)
            token = page.next_page_token
            if not token:
                break


def free_port() -> int:
    """Return a port that is not in use: bots come back to the same one."""
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
            guests = ("-m", "tools", "ladder-load", "guests", server, str(self.version), *self.names)
            own = [sys.executable, *guests]
        elif self.language == "bridge":
            own = [str(COMMANDS / "happycity"), "bridge", "--version", str(self.version), "--", *BRIDGED]
        else:
            own = shlex.split(command(self.language, "greedy"))
        environ["HAPPYCITY_NAME"] = self.names[0]
        self.process = subprocess.Popen(own, env=environ, stdout=log, stderr=log)

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
        self.url = store_url(folder)
        self.copy = folder / "backup.sqlite"
        self.address = f"127.0.0.1:{free_port()}"
        self.config = folder / "ladder.toml"
        self.config.write_text(LADDER)
        self.waits = Waits()
        self.restarts: list[float] = []
        self.departures = 0
        self.restored_lines = 0
        """Lines of the leaderboards of the restored backup."""
        self.failed: Counter[str] = Counter()
        self.problems: list[str] = []
        self.ids: set[int] = set()
        self._rng = random.Random(options.seed)
        self._stack = stack
        self._log = stack.enter_context((folder / "guests.log").open("wb"))
        self.guests, self.absent = guests(options.bots)
        stack.callback(self._end)
        self._server = self.start_server(self.folder, self.address)
        channel = stack.enter_context(
            grpc.insecure_channel(self.address, [("grpc.max_reconnect_backoff_ms", 500)])
        )
        self.ladder, self.bots = LadderServiceStub(channel), BotServiceStub(channel)

    def start_server(self, folder: Path, address: str) -> Process:
        """Start a server and wait until it listens."""
        ladder = ("--ladder", str(self.config), "--house", HOUSE, "--calls-burst", "100000")
        return serve(self._stack, folder, "--open", *ladder, listen=address)[0]

    def play(self) -> None:
        """Let everything happen that is planned, however long that takes on a slow machine."""
        options, started = self.options, time.monotonic()
        for guest in self.guests:
            guest.start(self.address, self._log.fileno())
        kills = [options.seconds * (number + 1) / (options.kills + 1) for number in range(options.kills)]
        backup_at = options.seconds * 0.55
        backup: subprocess.Popen[bytes] | None = None
        next_departure = 10.0
        while (passed := time.monotonic() - started) < options.seconds or kills or backup is None:
            if kills and passed >= kills[0]:
                kills.pop(0)
                self._kill()
            if backup is None and passed >= backup_at:
                backup = subprocess.Popen(
                    [str(COMMANDS / "happycity"), "backup", str(self.copy), "--store", self.url]
                )
            if passed >= next_departure:
                next_departure = passed + options.seconds / options.departures
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
        self.departures += 1

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
        self._server = self.start_server(self.folder, self.address)
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
        """Disconnect all bots, and stop the server as usual."""
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
        other = self.folder / "restored"
        other.mkdir()
        command = [
            str(COMMANDS / "happycity"),
            "backup",
            str(self.copy),
            "--restore",
            "--store",
            store_url(other),
        ]
        subprocess.run(command, check=True)
        then = self.folder / "then.sqlite"
        back_up(self.url, then, progress=lambda _, __: None)
        expected = ratings_then(f"sqlite:///{then}", store_url(other), self.config)
        server = self.start_server(other, address := f"127.0.0.1:{free_port()}")
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
        "left and returned": soak.departures,
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
    if sys.argv[1:2] == ["guests"]:  # processes that the soak starts: guests SERVER VERSION NAME...
        run_until_stopped(_play_guests(sys.argv[2], sys.argv[3], sys.argv[4:]))
        return
    given = parser(__doc__)
    given.add_argument("--seconds", type=float, default=600.0)
    given.add_argument("--bots", type=int, default=100)
    given.add_argument("--kills", type=int, default=5)
    given.add_argument(
        "--departures", type=int, default=60, help="how often a process of bots leaves and returns"
    )
    given.add_argument("--seed", type=int, default=1)
    options = given.parse_args()
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
