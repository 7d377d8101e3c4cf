"""A whole small competition as real processes, from the organiser's folder to recomputed results."""

import json
import re
import socket
import ssl
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from tests.programs import run
from tools.languages import LANGUAGES, command, missing

SECONDS = 300.0
"""For each program, on a machine with much load."""
PATIENT = ("--connect-seconds", "120", "--decision-seconds", "60", "--grace-seconds", "60")
FIRST_MOVE = Path(__file__).parent / "bots/first_move.py"
BY_LINES = """while read -r line; do case $line in '{"type":"decision"'*) echo 0 ;; esac; done"""


@dataclass(frozen=True)
class Competition:
    """The folders of an organiser and of guests on one machine, and what runs there."""

    top: Path
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    """The programs by name: the server, and bots."""

    def __post_init__(self) -> None:
        for folder in ("cup", "elsewhere"):
            (self.top / folder).mkdir()

    def run(self, folder: str, *arguments: object, module: str = "happycity", status: int = 0) -> str:
        """Run a command in a folder to its end; return its output."""
        done = run(*arguments, module=module, cwd=self.top / folder, timeout=SECONDS)
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        return done.stdout

    def tournament(self, folder: str, *arguments: object, status: int = 0) -> str:
        return self.run(folder, *arguments, module="happycity_tournament", status=status)

    def start(self, name: str, folder: str, program: Sequence[str], line: str) -> None:
        """Start a program in a folder and wait until it says something."""
        started = subprocess.Popen(
            program, cwd=self.top / folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.running[name] = started
        assert started.stdout is not None
        said: list[str] = []
        while not said or line not in said[-1]:
            said.append(started.stdout.readline())
            assert said[-1], said

    def guest_joins(self, name: str, program: Sequence[str]) -> None:
        """Invite a guest, who joins and starts a bot in a folder where only the link is the organiser's."""
        (self.top / name).mkdir()
        link = self.run("cup", "invite", "create", "--owner", f"Team {name}").strip()
        self.run(name, "join", link, "--bot", name)
        self.start(name, name, program, "connected to localhost")

    def guest_joins_in_the_browser(self, name: str, program: Sequence[str]) -> None:
        """Do the same by the pages: the organiser's, and the one to which the link leads."""
        (self.top / name).mkdir()
        settings = dict(
            line.split("=", 1) for line in (self.top / "cup/happycity.env").read_text().splitlines()[1:]
        )
        trusted = ssl.create_default_context(cafile=str(self.top / "cup/ca.pem"))
        asked = {"act": "invite", "owner": f"Team {name}", "bots": "1", "days": "1"}
        own = {"authorization": f"Bearer {settings['HAPPYCITY_TOKEN']}", "origin": settings["HAPPYCITY_WEB"]}
        with httpx.Client(verify=trusted, base_url=settings["HAPPYCITY_WEB"], timeout=SECONDS) as browser:
            made = browser.post("/access", data=asked, headers=own).text
            (link,) = re.findall(r'readonly value="(https://[^"]+)"', made)
            joined = browser.post("/join", data={"link": link, "bots": name}).text
        for file, text in re.findall(r'download="([^"]+)" href="data:text/plain;base64,([^"]+)"', joined):
            (self.top / name / file).write_bytes(b64decode(text))
        self.start(name, name, program, "connected to localhost")

    def stop(self) -> None:
        for program in self.running.values():
            program.terminate()
        for program in self.running.values():
            program.communicate(timeout=SECONDS)


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
    with socket.create_server(("localhost", 0)) as free, socket.create_server(("localhost", 0)) as web:
        ports = "--port", free.getsockname()[1], "--web-port", web.getsockname()[1]
    (competition.top / "cup").rmdir()
    competition.run("elsewhere", "competition", "init", "../cup", "--host", "localhost", *ports)
    serve = [sys.executable, "-m", "happycity", "serve", "--config", "server.toml"]
    competition.start("server", "cup", serve, '"listening"')


def guests_join(competition: Competition) -> None:
    competition.guest_joins("python", [sys.executable, str(FIRST_MOVE)])
    competition.guest_joins("go", _other_language())
    bridge = [sys.executable, "-m", "happycity", "bridge", "--", "sh", "-c", BY_LINES]
    competition.guest_joins_in_the_browser("bridge", bridge)


def season_is_played(competition: Competition) -> None:
    joined = [word for name in ("python", "go", "bridge", "greedy") for word in ("--join", name)]
    played = competition.tournament("cup", "run", *joined, "--rounds", 2, *PATIENT, "--json")
    standings = json.loads(played)["standings"]
    assert {line["bot"] for line in standings} == {"python", "go", "bridge", "greedy"}
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


def guest_leaves(competition: Competition) -> None:
    competition.run("python", "join", "--revoke")
    assert competition.running["python"].wait(SECONDS) == 2
    assert "python" not in competition.run("cup", "token", "list")


STEPS: tuple[Callable[[Competition], None], ...] = (
    organiser_opens_it,
    guests_join,
    season_is_played,
    results_are_published,
    guest_leaves,
)


@pytest.mark.thorough
def test_a_whole_competition(competition: Competition) -> None:
    for step in STEPS:
        step(competition)
