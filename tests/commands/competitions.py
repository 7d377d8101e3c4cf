"""Competitions of whole programs: an organiser's folder, a server, and guests with their bots."""

import json
import re
import socket
import sqlite3
import ssl
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import httpx
from tests.commands import programs
from tests.commands.programs import Program
from tests.programs import run
from tests.server.hosting.conftest import why_not
from tests.waiting import LIMIT
from tools.languages import LANGUAGES, command, missing

FIRST_MOVE = Path(__file__).parent / "bots/first_move.py"
HOSTED = "--hosted", "bots", "--sandbox", "bwrap"
LADDER = {"deals_at_once": 2, "games_per_day": 100_000, "decision_seconds": LIMIT, "grace_seconds": LIMIT}
BY_LINES = """while read -r line; do case $line in '{"type":"decision"'*) echo 0 ;; esac; done"""

Rows = dict[str, set[tuple[Any, ...]]]
STORED = {
    "games": "SELECT * FROM games",
    "records": "SELECT * FROM records",
    "games of the ladder": "SELECT * FROM ladder_games",
    "seats of the ladder": "SELECT * FROM ladder_seats",
    "deals of the ladder": "SELECT * FROM ladder_deals WHERE finished IS NOT NULL",
    "versions that have played": (
        "SELECT id, bot, version, owner, first_at FROM ladder_versions"
        " WHERE id IN (SELECT version_id FROM ladder_seats)"
    ),
    "acts": "SELECT * FROM acts",
    "seasons": "SELECT id, started_at, commitment FROM ladder_seasons",
    "tournaments": "SELECT id, request_id, config, seed, created_at FROM tournaments",
    "profiles": "SELECT * FROM profiles",
    "tables": "SELECT id FROM tables",
}
"""What is never changed once it is stored."""


class Running:
    """A program that runs, and the lines that it prints.

    A thread reads them: a program whose lines nobody reads stops when the pipe is full.
    """

    def __init__(self, program: Sequence[str], folder: Path) -> None:
        self.process: Program = subprocess.Popen(
            program, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.printed: list[str] = []
        self._lines = SimpleQueue[str]()
        """What nobody has looked at yet; an empty line is the end."""
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                self.printed.append(line)
                self._lines.put(line)
        self._lines.put("")

    def wait_for_line(self, *texts: str) -> str:
        """Wait until it prints a line with one of these texts; return the line."""
        said: list[str] = []
        while not said or not any(text in said[-1] for text in texts):
            said.append(self._lines.get(timeout=LIMIT))
            assert said[-1], said
        return said[-1]

    def skip_lines(self) -> None:
        """Forget the lines that were printed until now."""
        while not self._lines.empty():
            self._lines.get()

    def end(self) -> int:
        """Wait until it has ended; return its status."""
        status = self.process.wait(LIMIT)
        self._reader.join()
        return status

    def stop(self) -> None:
        self.process.terminate()
        self.end()


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

    def run(
        self, folder: str, *arguments: object, module: str = "happycity", status: int = 0, **options: Any
    ) -> str:
        """Run a command in a folder to its end, with options of `subprocess.run`; return its output."""
        done = run(*arguments, module=module, cwd=self.top / folder, **options)
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

    def trust(self) -> ssl.SSLContext:
        """Return what trusts the organiser's certificate."""
        return ssl.create_default_context(cafile=str(self.top / "cup/ca.pem"))

    def browser(self) -> httpx.Client:
        """Return a browser that has no token, and trusts the organiser's certificate."""
        pages = self.organiser_settings()["HAPPYCITY_WEB"]
        return httpx.Client(verify=self.trust(), base_url=pages, headers={"origin": pages}, timeout=LIMIT)

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

    def stored(self) -> Rows:
        """Return what is never changed once stored: rows of the store, tokens, programs of hosted bots."""
        cup = self.top / "cup"
        store = f"file:{cup / 'games.sqlite'}?mode=ro"
        with closing(sqlite3.connect(store, uri=True, timeout=LIMIT)) as database:
            rows: Rows = {name: set(database.execute(query)) for name, query in STORED.items()}
        tokens = json.loads((cup / "tokens.json").read_text())["tokens"]
        rows["tokens"] = {(json.dumps(one, sort_keys=True),) for one in tokens}
        rows["programs"] = {(str(file), file.read_bytes()) for file in cup.glob("bots/**/*.jsonl.gz")}
        return rows

    def loses_nothing(self, before: Rows) -> None:
        """Check that what was stored before is still there, and not another."""
        after = self.stored()
        lost = {name: [*(rows - after[name])][:3] for name, rows in before.items()}
        assert not any(lost.values()), {
            name: [*(after[name] - before[name])][:9] for name in lost if lost[name]
        }

    def serve(self) -> None:
        """Start the server, as the README of its folder says; hosted bots where they can be had."""
        serve = [sys.executable, "-m", "happycity", "serve", "--config", "server.toml", "--public"]
        self.start("server", "cup", [*serve, *(() if why_not() else HOSTED)], '"listening"')


@contextmanager
def competing(top: Path) -> Iterator[Competition]:
    """Stop all that runs of a competition with the context."""
    competition = Competition(top)
    try:
        yield competition
    finally:
        for program in competition.running.values():
            program.stop()


def _other_language() -> list[str]:
    """Return the command of a first bot: in Go, in another language that is built here, or in Python."""
    for language in sorted(LANGUAGES, key="go".__ne__):
        program = command(language, "first")
        if not missing(program):
            return ["sh", "-c", f"exec {program}"]
    return [sys.executable, str(FIRST_MOVE)]


def organiser_opens_it(competition: Competition, changed: Mapping[str, object] = LADDER) -> None:
    """The folder of `competition init` is used as it is, but for what is `changed`, as on a slow machine."""
    with socket.create_server(("localhost", 0)) as free, socket.create_server(("localhost", 0)) as web:
        ports = "--port", free.getsockname()[1], "--web-port", web.getsockname()[1]
    (competition.top / "cup").rmdir()
    competition.run("elsewhere", "competition", "init", "../cup", "--host", "localhost", "--ladder", *ports)
    ladder = competition.top / "cup/ladder.toml"
    text = ladder.read_text()
    for key, value in changed.items():
        text, lines = re.subn(rf"^# {key} = .*", f"{key} = {value}", text, flags=re.MULTILINE)
        assert lines == 1, key
    ladder.write_text(text)
    competition.serve()


def guests_join(competition: Competition) -> None:
    competition.guest_joins("python", [sys.executable, str(FIRST_MOVE)], "hosted")
    competition.guest_joins("go", _other_language())
    bridge = [sys.executable, "-m", "happycity", "bridge", "--", "sh", "-c", BY_LINES]
    competition.guest_joins_in_the_browser("bridge", bridge)
