"""The page "A small competition in ten minutes", word by word: an organiser and a guest as real processes."""

import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/small-competition.md"
BOT = ROOT / "tests/commands/bots/first_move.py"


@pytest.fixture
def programs() -> Iterator[list[subprocess.Popen[str]]]:
    """Yield a list for programs that are to end with the test."""
    running: list[subprocess.Popen[str]] = []
    yield running
    for program in running:
        program.terminate()
        program.communicate(timeout=LIMIT)


def commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.level(3)
def test_every_command_of_the_page_works(tmp_path: Path, programs: list[subprocess.Popen[str]]) -> None:
    """In a guest's folder there is nothing of the organiser's but the link."""
    with socket.create_server(("localhost", 0)) as free, socket.create_server(("localhost", 0)) as web:
        port, web_port = (str(one.getsockname()[1]) for one in (free, web))
    where, link = tmp_path, ""
    guest = tmp_path / "guest"
    for folder in (guest, tmp_path / "bea"):
        folder.mkdir()
        shutil.copy(BOT, folder / "mybot.py")

    def words_of(command: str) -> list[str]:
        text = command.replace("arena.example.org", "localhost").replace("8080", web_port)
        program, *words = shlex.split(text.replace("$LINK", link))
        if program == "happycity" and words[:2] == ["competition", "init"]:
            words += ["--port", port]
        module = {
            "happycity": ["-m", "happycity"],
            "tournament": ["-m", "happycity_tournament"],
            "python": [],
        }
        return [sys.executable, *module[program], *words]

    def start(command: str, folder: Path, line: str) -> None:
        program = subprocess.Popen(
            words_of(command), cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        programs.append(program)
        assert program.stdout is not None
        seen = []
        for said in program.stdout:
            seen.append(said)
            if line in said:
                return
        raise AssertionError(seen)

    def run(command: str, folder: Path) -> str:
        done = subprocess.run(
            words_of(command), cwd=folder, text=True, capture_output=True, timeout=LIMIT, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    for command in commands():
        if command == "cd cup":
            where = tmp_path / "cup"
        elif command.startswith("happycity serve"):
            start(command, where, "greedy: connected to")  # the house is there for practice
        elif command == "python mybot.py":
            start(command, guest, "connected to localhost")
        elif command.startswith("happycity join"):
            run(command, guest)
        elif command.startswith("happycity practice"):
            assert "2 of 2 games of alice" in run(command, guest)
        elif command.startswith("happycity invite create"):
            link = run(command, where).strip()
        elif command.startswith("tournament run"):
            # A second guest, who names the other bot of the tournament.
            other = run('happycity invite create --owner "Team 8"', where).strip()
            run(f"happycity join {shlex.quote(other)} --bot bea --out ../bea/happycity.env", where)
            start("python mybot.py", tmp_path / "bea", "connected to localhost")
            assert "8 of 8 games" in run(command, where)
        else:
            run(command, where)
    assert (where / "report.html").stat().st_size > 1000
    assert "alice" in (where / "games.csv").read_text()
    assert run("tournament games --bot alice --lost", guest)
