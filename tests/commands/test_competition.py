"""A whole small competition as real processes, from the organiser's folder to recomputed results."""

import json
import re
import socket
import ssl
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import httpx
import pytest
from tests.commands import programs
from tests.commands.programs import Program
from tests.programs import run
from tests.server.hosting.conftest import why_not
from tests.waiting import LIMIT, PATIENT
from tools.languages import LANGUAGES, command, missing

FIRST_MOVE = Path(__file__).parent / "bots/first_move.py"
HOSTED = "--hosted", "bots", "--sandbox", "bwrap"
LADDER = {"deals_at_once": 2, "games_per_day": 100_000, "decision_seconds": LIMIT, "grace_seconds": LIMIT}
REASON = "loses to another bot on purpose"
FURTHER_DEALS = 5
"""Deals of the ladder in which every bot that may play has been: who has waited longest gets a seat."""
BY_LINES = """while read -r line; do case $line in '{"type":"decision"'*) echo 0 ;; esac; done"""


class Running:
    """A program that runs, and the lines that it prints.

    A thread reads them: a program whose lines nobody reads stops when the pipe is full.
    """

    def __init__(self, program: Sequence[str], folder: Path) -> None:
        self.process: Program = subprocess.Popen(
            program, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._lines = SimpleQueue[str]()
        """What nobody has looked at yet; an empty line is the end."""
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                self._lines.put(line)
        self._lines.put("")

    def wait_for_line(self, *texts: str) -> None:
        """Wait until it prints a line with one of these texts."""
        said: list[str] = []
        while not said or not any(text in said[-1] for text in texts):
            said.append(self._lines.get(timeout=LIMIT))
            assert said[-1], said

    def skip_lines(self) -> None:
        """Forget the lines that were printed until now."""
        while not self._lines.empty():
            self._lines.get()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(LIMIT)
        self._reader.join()


@dataclass(frozen=True)
class Competition:
    """The folders of an organiser and of guests on one machine, and what runs there."""

    top: Path
    running: dict[str, Running] = field(default_factory=dict)
    """The programs by name: the server, and bots."""
    bots: list[str] = field(default_factory=list)
    """The guests' bots."""

    def __post_init__(self) -> None:
        for folder in ("cup", "elsewhere"):
            (self.top / folder).mkdir()

    def run(self, folder: str, *arguments: object, module: str = "happycity", status: int = 0) -> str:
        """Run a command in a folder to its end; return its output."""
        done = run(*arguments, module=module, cwd=self.top / folder)
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        return done.stdout

    def tournament(self, folder: str, *arguments: object, status: int = 0) -> str:
        return self.run(folder, *arguments, module="happycity_tournament", status=status)

    def asked(self, folder: str, *arguments: object) -> Any:
        """Return what a command prints as JSON that asks the server; it is called in this process."""
        with chdir(self.top / folder):
            done = programs.happycity(*arguments, "--json")
        assert done.status == 0, (arguments, done)
        return json.loads(done.output)

    def ladder(self, folder: str, *arguments: object) -> Any:
        return self.asked(folder, "ladder", *arguments)

    def deals(self, *arguments: object, after: int = 0) -> list[dict[str, Any]]:
        """Return the deals of the ladder that are over, and began after another one."""
        listed = self.ladder("cup", "deals", "--limit", 0, *arguments)
        return [deal for deal in listed if deal["finish_time"] and deal["deal_id"] > after]

    def start(self, name: str, folder: str, program: Sequence[str], line: str) -> None:
        """Start a program in a folder and wait until it says something."""
        self.running[name] = Running(program, self.top / folder)
        self.running[name].wait_for_line(line)

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait until it is so; look again when the server tells that a match is over or that a bot left."""
        server = self.running["server"]
        server.skip_lines()
        while not is_so():
            server.wait_for_line('"match_over"', '"bot_disconnected"')
            server.skip_lines()

    def guest_joins(self, name: str, program: Sequence[str], *others: str) -> None:
        """Invite a guest, who joins and starts a bot in a folder where only the link is the organiser's."""
        (self.top / name).mkdir()
        invited = "--owner", f"Team {name}", "--bots", 1 + len(others)
        link = self.run("cup", "invite", "create", *invited).strip()
        self.run(name, "join", link, *(word for bot in (name, *others) for word in ("--bot", bot)))
        self.guest_starts(name, program)

    def connected(self) -> set[str]:
        """Return the names of the bots that are connected."""
        return {bot["name"] for bot in self.asked("cup", "status")["bots"] if bot["connected"]}

    def guest_starts(self, name: str, program: Sequence[str]) -> None:
        self.start(name, name, program, "connected to localhost")
        self.bots.append(name)

    def organiser_settings(self) -> dict[str, str]:
        lines = (self.top / "cup/happycity.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines[1:])

    def browser(self) -> httpx.Client:
        """Return a browser that has no token, and trusts the organiser's certificate."""
        trusted = ssl.create_default_context(cafile=str(self.top / "cup/ca.pem"))
        pages = self.organiser_settings()["HAPPYCITY_WEB"]
        return httpx.Client(verify=trusted, base_url=pages, headers={"origin": pages}, timeout=LIMIT)

    def guest_joins_in_the_browser(self, name: str, program: Sequence[str]) -> None:
        """Do the same by the pages: the organiser's, and the one to which the link leads."""
        (self.top / name).mkdir()
        asked = {"act": "invite", "owner": f"Team {name}", "bots": "1", "days": "1"}
        own = {"authorization": f"Bearer {self.organiser_settings()['HAPPYCITY_TOKEN']}"}
        with self.browser() as browser:
            made = browser.post("/access", data=asked, headers=own).text
            (link,) = re.findall(r'readonly value="(https://[^"]+)"', made)
            joined = browser.post("/join", data={"link": link, "bots": name}).text
        for file, text in re.findall(r'download="([^"]+)" href="data:text/plain;base64,([^"]+)"', joined):
            (self.top / name / file).write_bytes(b64decode(text))
        self.guest_starts(name, program)

    def stop(self) -> None:
        for program in self.running.values():
            program.stop()


@pytest.fixture
def competition(tmp_path: Path) -> Iterator[Competition]:
    made = Competition(tmp_path)
    yield made
    made.stop()


def _other_language() -> list[str]:
    """Return the command of a first bot: in Go, in another language that is built here, or in Python."""
    for language in sorted(LANGUAGES, key="go".__ne__):
        program = command(language, "first")
        if not missing(program):
            return ["sh", "-c", f"exec {program}"]
    return [sys.executable, str(FIRST_MOVE)]


def organiser_opens_it(competition: Competition) -> None:
    """The folder of `competition init` is used as it is, but for times: this machine may have much load."""
    with socket.create_server(("localhost", 0)) as free, socket.create_server(("localhost", 0)) as web:
        ports = "--port", free.getsockname()[1], "--web-port", web.getsockname()[1]
    (competition.top / "cup").rmdir()
    competition.run("elsewhere", "competition", "init", "../cup", "--host", "localhost", "--ladder", *ports)
    ladder = competition.top / "cup/ladder.toml"
    text = ladder.read_text()
    for key, value in LADDER.items():
        text, lines = re.subn(rf"^# {key} = .*", f"{key} = {value}", text, flags=re.MULTILINE)
        assert lines == 1, key
    ladder.write_text(text)
    serve = [sys.executable, "-m", "happycity", "serve", "--config", "server.toml", "--public"]
    if not why_not():
        serve += HOSTED
    competition.start("server", "cup", serve, '"listening"')


def guests_join(competition: Competition) -> None:
    competition.guest_joins("python", [sys.executable, str(FIRST_MOVE)], "hosted")
    competition.guest_joins("go", _other_language())
    bridge = [sys.executable, "-m", "happycity", "bridge", "--", "sh", "-c", BY_LINES]
    competition.guest_joins_in_the_browser("bridge", bridge)


def guest_submits_a_bot(competition: Competition) -> None:
    """The guest's second bot, a new project as it is made, passes its trial and plays on the server."""
    if reason := why_not():
        pytest.skip(reason)
    competition.run("python", "new-bot", "hosted", "--language", "python")
    submitted = json.loads(competition.run("python", "submit", "hosted", "--json"))
    assert submitted["state"] == "playing"
    competition.bots.append("hosted")
    competition.until(lambda: competition.deals("--bot", "hosted"))
    shown = competition.ladder("python", "show", "hosted")
    assert [one["info"]["version"] for one in shown["versions"]] == [submitted["digest"][:12]]
    assert shown["owner"] == "Team python"


def tournament_is_played(competition: Competition) -> None:
    """It comes before the ladder's deals."""
    bots = [*competition.bots, "greedy"][:4]
    joined = [word for name in bots for word in ("--join", name)]
    played = competition.tournament("cup", "run", *joined, "--rounds", 2, *PATIENT, "--json")
    standings = json.loads(played)["standings"]
    assert {line["bot"] for line in standings} == set(bots)
    assert all(line["games"] == 8 and not line["forfeits"] for line in standings)
    own = json.loads(competition.tournament("python", "games", "--bot", "python", "--json"))
    assert len(own) == 8


def results_are_published(competition: Competition) -> None:
    """A folder without access to the server recomputes the same hashes; a change is found."""
    (results,) = (competition.top / "cup/runs").iterdir()
    published = competition.tournament("cup", "publish", results, "../published")
    assert competition.tournament("elsewhere", "verify", "../published") == published
    file = competition.top / "published/tournament.json"
    file.write_text(file.read_text().replace('"python"', '"pythons"', 1))
    competition.tournament("elsewhere", "verify", "../published", status=1)


def organiser_suspends_a_bot(competition: Competition) -> None:
    """The bot ends what it plays, and is in no deal that begins later."""
    competition.until(lambda: competition.deals("--bot", "bridge"))
    competition.run("cup", "ladder", "act", "suspend", "bridge", "--reason", REASON)
    (act,) = competition.ladder("cup", "acts")
    assert (act["kind"], act["bot"], act["text"]) == ("suspend", "bridge", REASON)
    begun = competition.ladder("cup", "deals", "--limit", 0)
    competition.until(lambda: len(competition.deals(after=begun[0]["deal_id"])) >= FURTHER_DEALS)
    assert not competition.deals("--bot", "bridge", after=begun[0]["deal_id"])
    assert REASON in competition.ladder("bridge", "show", "bridge")["wait"]["text"]


def season_ends(competition: Competition) -> None:
    """Its leaderboard stays, with the suspended bot, and agrees with the deals that ended in it."""
    competition.run("cup", "ladder", "seasons", "--close", 1)
    new, ended = competition.ladder("cup", "seasons")
    assert (new["season_id"], new["end_time"], ended["season_id"]) == (2, None, 1)
    assert ended["end_time"]
    deals = competition.deals("--season", 1)
    assert ended["deals"] == len(deals)
    assert ended["games"] == sum(len(deal["match_ids"]) for deal in deals)
    lines = competition.ladder("go", "show", "--season", 1)["leaderboard"]["lines"]
    assert {line["version"]["bot"] for line in lines} >= {*competition.bots, "planner"}
    assert sum(line["games"] for line in lines) == 4 * ended["games"]
    if "hosted" in competition.bots:
        competition.until(lambda: cpu_seconds_of(competition, "hosted") > 0)  # counted every two seconds
    competition.until(lambda: competition.deals("--season", 2))


def cpu_seconds_of(competition: Competition, bot: str) -> float:
    """Return what the leaderboard shows of a bot that the server runs."""
    lines = competition.ladder("go", "show", "--season", 1)["leaderboard"]["lines"]
    (line,) = (one for one in lines if one["version"]["bot"] == bot)
    seconds: float = line["cost"]["cpu_seconds"]
    return seconds


def public_looks(competition: Competition) -> None:
    """Who has no token reads results without owners, by pages and commands, and can do nothing."""
    game = competition.deals("--season", 1)[0]["match_ids"][0]
    shown = {
        "/": "Ladder",
        "/acts": REASON,
        "/ladder": "planner",
        "/ladder?season=1": "CPU s",
        f"/matches/{game}": f"{game}",
        "/feed.atom": "/ladder/deals?deal=",
    }
    closed = "/play", "/access", "/ladder/flags", "/ladder/challenges"
    forms = "/play", "/access", "/ladder/challenges", "/ladder/challenges/1"
    with competition.browser() as visitor:
        for path, text in shown.items():
            answer = visitor.get(path)
            assert answer.status_code == 200, path
            assert text in answer.text, path
            assert "Team " not in answer.text, path
        for answer in (*map(visitor.get, closed), *map(visitor.post, forms)):
            assert answer.status_code in (401, 403), answer.url
    own, settings = competition.top / "visitor", competition.organiser_settings()
    own.mkdir()
    (own / "happycity.env").write_text(
        f"HAPPYCITY_SERVER={settings['HAPPYCITY_SERVER']}\nHAPPYCITY_CA=../cup/ca.pem\n"
    )
    (act,) = competition.ladder("cup", "acts")
    assert competition.ladder("visitor", "acts") == [{**act, "owner": None}]
    for words in (
        ("act", "suspend", "go", "--reason", REASON),
        ("seasons", "--close", 2),
        ("challenge", "go", "--deals", 1),
    ):
        competition.run("visitor", "ladder", *words, status=2)


def guest_leaves(competition: Competition) -> None:
    """All bots of the guest leave, also the one that the server runs."""
    competition.run("python", "join", "--revoke")
    assert competition.running["python"].process.wait(LIMIT) == 2
    assert "python" not in competition.run("cup", "token", "list")
    competition.until(lambda: not competition.connected() & {"python", "hosted"})


STEPS: tuple[Callable[[Competition], None], ...] = (
    organiser_opens_it,
    guests_join,
    guest_submits_a_bot,
    tournament_is_played,
    results_are_published,
    organiser_suspends_a_bot,
    season_ends,
    public_looks,
    guest_leaves,
)


@pytest.mark.level(3)
def test_a_whole_competition(competition: Competition) -> None:
    """A step that this machine can't do is skipped, and named after all others have passed."""
    skipped = []
    for step in STEPS:
        try:
            step(competition)
        except pytest.skip.Exception as reason:
            skipped.append(f"{step.__name__}: {reason.msg}")
    if skipped:
        pytest.skip(f"all other steps passed; {'; '.join(skipped)}")
