from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from happycity.cli import run_cli
from happycity_tournament.offline_cli import register

DEADLINE = 120.0

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play a small tournament with real processes, once for all tests; return its store's file."""
    folder = tmp_path_factory.mktemp("played")
    subprocess.run(
        [
            sys.executable, "-m", "happycity_tournament", "run", "--rounds", "12", "--seed", "3",
            "--bots", "random,greedy,planner,random2=random", "--store", "sqlite:///games.sqlite",
        ],
        cwd=folder, capture_output=True, timeout=DEADLINE, check=True,
    )  # fmt: skip
    return folder / "games.sqlite"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command and returns its exit status, output and errors."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    register(app)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tournament", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run_cli(app)
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call
