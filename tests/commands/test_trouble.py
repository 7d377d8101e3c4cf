"""A server that strangers reach, in trouble: killed, flooded, without room on its disk."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

import pytest
from tests.commands import programs
from tests.commands.competitions import Competition, competing, guests_join, organiser_opens_it
from tests.server.hosting.conftest import why_not
from tests.waiting import LIMIT, PATIENT
from websockets import ConnectionClosed, Origin
from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).parents[2]
DISK_BYTES = 2 << 30
"""A server takes no program of a bot on a disk with less than half of it free."""
VISITS = 20
"""Pages that an honest visitor asks for, in the quiet and in each kind of trouble."""
PAGES = ("/", "/ladder", "/index.json", "/static/style.css")
FULL = "no room left"
GAMES = 100
"""Games that a full disk is tried with, at most."""
DECISIONS = 8
"""Choices of a person at a table, which no game ends before."""
ROUNDS = 6
"""Rounds of a tournament's schedule, which has some games before a kill and some after it."""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a file system of its own, which can be filled."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Trouble:
    """A competition, and what befalls it."""

    def __init__(self, competition: Competition) -> None:
        self.competition = competition
        self.waits: dict[str, list[float]] = {}
        """Seconds that an honest visitor waited for a page, by what happened meanwhile."""
        self.table = self.cookie = ""
        self.noticed = 0
        """How often the server has noticed that its disk is full."""

    @property
    def server(self) -> subprocess.Popen[str]:
        return self.competition.running["server"].process

    def visit(self, during: str) -> None:
        """Ask for pages as an honest visitor, one after the other, each over a connection of its own."""
        for number in range(VISITS):
            with self.competition.browser() as visitor:
                began = time.perf_counter()
                answer = visitor.get(PAGES[number % len(PAGES)])
                self.waits.setdefault(during, []).append(time.perf_counter() - began)
            assert answer.status_code == 200, (during, answer)

    def start_tournament(self) -> None:
        """Start the same tournament as ever."""
        run = [sys.executable, "-m", "happycity_tournament", "run", "--seats", "2", "--rounds", str(ROUNDS)]
        joined = ("--join", "python", "--join", "go", "--seed", "7", *PATIENT)
        self.competition.start("run", "cup", [*run, *joined], "Ctrl-C")

    def sit_down(self, name: str) -> None:
        """Begin a game of a person against two bots, without a clock."""
        form = {"name": name, "clock": "none", "seat1": "me", "seat2": "greedy", "seat3": "careless"}
        own = {"authorization": f"Bearer {self.competition.organiser_settings()['HAPPYCITY_TOKEN']}"}
        with self.competition.browser() as browser:
            seated = browser.post("/play", data=form, headers=own)
        assert seated.status_code == 303, seated.text
        self.table, self.cookie = seated.headers["location"], seated.headers["set-cookie"].partition(";")[0]

    def _seat(self) -> ClientConnection:
        """Return a connection to the person's seat."""
        url = self.competition.organiser_settings()["HAPPYCITY_WEB"]
        return connect(
            f"{url.replace('http', 'ws')}{self.table}?from=0",
            ssl=self.competition.trust(), origin=Origin(url), additional_headers={"cookie": self.cookie},
            open_timeout=LIMIT, ping_timeout=LIMIT,
        )  # fmt: skip

    def give_up(self) -> None:
        """Leave the game, which ends soon, as bots alone are left; a person has few tables at once."""
        with self._seat() as socket, suppress(ConnectionClosed):
            socket.send(json.dumps({"leave": True}))
            while True:
                socket.recv(LIMIT)

    def choose(self, *, after: int) -> int:
        """Make the person's next choice, which comes after another one; return the number of the next."""
        with self._seat() as socket:
            asked = self._decision(socket, 0)
            assert asked >= after
            socket.send(json.dumps({"answer": [asked, 0]}))
            return self._decision(socket, asked)

    def _decision(self, socket: ClientConnection, after: int) -> int:
        while True:
            decision: int = json.loads(socket.recv(LIMIT)).get("decision") or 0
            if decision > after:
                return decision

    def flood(self) -> None:
        strangers = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.commands.strangers"]
        url = self.competition.organiser_settings()["HAPPYCITY_WEB"]
        self.competition.start("strangers", "elsewhere", [*strangers, url], "flooding")
        self.visit("flood")

    def calm(self) -> None:
        self.competition.running.pop("strangers").stop()

    def fill_disk(self) -> None:
        """Leave no room until the server has noticed, or some games are over, and make room again.

        The store's log may have room for them.
        """
        ballast = self.competition.top / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(ballast.parent).free)
            while True:  # the rest of it
                file.seek(0, os.SEEK_END)
                file.write(b"x")
        lines = (self.competition.running["server"].wait_for_line(FULL, '"match_over"') for _ in range(GAMES))
        self.noticed += any(FULL in line for line in lines)
        self.visit("full disk")
        ballast.unlink()

    def kill(self) -> None:
        """Kill the server, and start it again; nothing that was stored is missing or another."""
        before = self.competition.stored()
        self.server.kill()
        self.competition.running["server"].end()
        self.competition.serve()
        self.competition.loses_nothing(before)

    def go_on(self) -> None:
        """Wait until more deals of the ladder are rated, and the tournament is over."""
        known = self.competition.ladder("cup", "deals", "--limit", 1)[0]["deal_id"]
        self.competition.until(lambda: len(self.competition.deals(after=known)) >= 2)
        self.competition.running.pop("run").end()


def games_of(competition: Competition, tournament: int) -> programs.Records:
    return programs.records(f"sqlite:///{competition.top}/cup/games.sqlite", tournament)


@pytest.mark.nightly
@pytest.mark.timeout(0)  # half an hour, of which each wait has its own limit
@pytest.mark.parametrize("rounds", [100])
def test_an_open_server_loses_nothing(
    tmp_path: Path, rounds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ladder, tournaments, a table and a hosted bot go on through floods, full disks and kills.

    What honest visitors waited is printed, in units of the quiet before.
    """
    rng = random.Random("trouble")
    with small_disk(tmp_path / "disk") as disk, competing(disk) as competition:
        organiser_opens_it(competition)
        guests_join(competition)
        if not why_not():
            competition.run("python", "new-bot", "hosted", "--language", "python")
            competition.run("python", "submit", "hosted")
        trouble, decision = Trouble(competition), 0
        for number in range(rounds):
            trouble.visit("quiet")
            if not number % DECISIONS:
                trouble.sit_down(f"Ida {number}")
                decision = 0
            trouble.start_tournament()
            troubles = [trouble.flood, trouble.fill_disk, trouble.kill]
            rng.shuffle(troubles)
            for befall in troubles:
                befall()
            trouble.calm()
            decision = trouble.choose(after=decision)
            trouble.go_on()
            if not (number + 1) % DECISIONS:
                trouble.give_up()
        trouble.start_tournament()
        trouble.go_on()
        *disturbed, undisturbed = (games_of(competition, number + 1) for number in range(rounds + 1))
        assert all(games == undisturbed for games in disturbed)
        assert trouble.noticed
    quiet = median(trouble.waits["quiet"])
    with capsys.disabled():
        for during, seconds in trouble.waits.items():
            times = sorted(wait / quiet for wait in seconds)
            half, most, longest = median(times), times[len(times) * 95 // 100], times[-1]
            sys.stdout.write(
                f"\n{during}: {len(times)} pages; in medians of the quiet, "
                f"half within {half:.1f}, 95 % within {most:.1f}, all within {longest:.1f}\n"
            )
