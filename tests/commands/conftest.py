import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.commands import programs
from tests.commands.programs import ALL_GAMES, STORE, Gate, Program, Start, Undisturbed
from tests.waiting import LIMIT


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test and its programs run in a folder of the test's own, with tables that are wide enough."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def start() -> Iterator[Start]:
    """Yield a function that starts a program; what still runs at the end is killed."""
    started: list[Program] = []

    def start_one(module: str, *arguments: str, shell: str = 'exec "$@"', **options: Any) -> Program:
        program = subprocess.Popen(
            ["sh", "-c", shell, "sh", sys.executable, "-m", module, *arguments],
            text=True,
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.DEVNULL,
                **options,
            },
        )
        started.append(program)
        return program

    yield start_one
    for program in started:
        program.kill()
        program.communicate(timeout=LIMIT)  # for what a killed program has started


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Undisturbed]:
    """Return a function that returns the end of a gated run by its number of games, which is played once."""

    @cache
    def played(games: int) -> Undisturbed:
        folder = tmp_path_factory.mktemp("undisturbed")
        with Gate(folder) as gate, pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            gate.let_through(ALL_GAMES)
            result = programs.played(*programs.gated_run(games, at_once=4, store=STORE))
            return Undisturbed(programs.records(), result)

    return played


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Yield what holds back the gated bots that run in the test's folder."""
    with Gate(tmp_path) as opened:
        yield opened
