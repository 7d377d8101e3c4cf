"""Commands that can't do what they are asked: `refused.txt` has each with all that it prints.

The status is 2, the standard output is empty, and nothing is started, written or changed. This writes what
is printed now: python -m tests.commands.test_refused
"""

import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands.programs import happycity, tournament
from tests.tournament.leagues import League
from tests.tournament.runs import make_run

from happycity_tournament.config import TournamentState

TABLE = Path(__file__).parent / "refused.txt"
BOTS = ("ann", "bob", "cem", "dee")
PROGRAMS = {"happycity": happycity, "tournament": tournament}


def cases() -> dict[str, str]:
    parts = TABLE.read_text(encoding="utf-8").removeprefix("$ ").split("\n$ ")
    return dict((part if "\n" in part else f"{part}\n").split("\n", 1) for part in parts)


def make_files() -> None:
    """Make what the commands are about, in this folder: runs, stores, and files that are neither."""
    make_run("20261122-070000", state=TournamentState.STOPPED, games=4)
    make_run("20261122-080000")
    League(BOTS, rounds=2).store(Path("league.sqlite"))
    League(BOTS, rounds=2, seed=8).store(Path("other-seed.sqlite"))
    League((*BOTS[:3], "new"), rounds=2).store(Path("other-bots.sqlite"))
    League(BOTS, playing=()).store(Path("unplayed.sqlite"))
    Path("empty").mkdir()
    for path in ("empty/run.json", "empty.txt", "games.jsonl"):
        Path(path).touch()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of all commands, which none of them changes."""
    made = tmp_path_factory.mktemp("refused")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        make_files()
        before = contents(made)
        yield made
        assert contents(made) == before


def contents(folder: Path) -> dict[Path, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path: path.read_bytes() for path in files}


def printed(command: str) -> str:
    program, *arguments = shlex.split(command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("happycity_tournament.client.connection.CONNECT_SECONDS", 0.1)
        done = PROGRAMS[program](*arguments)
    assert (done.status, done.output) == (2, ""), done
    return done.errors.rstrip("\n")


@pytest.mark.parametrize("command", cases())
def test_a_command_is_refused(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that says what is wrong, where, and what would be right."""
    monkeypatch.chdir(folder)
    expected = cases()[command].rstrip("\n")
    assert printed(command) == expected
    assert expected.startswith("error: ")
    assert "\n" not in expected


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)
        make_files()
        lines = [f"$ {command}\n{printed(command)}\n" for command in cases()]
    TABLE.write_text("".join(lines), encoding="utf-8")
