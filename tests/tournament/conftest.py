import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import tournament
from tests.tournament.servers import arena

from happycity import Config
from happycity_tournament.config import RandomRounds, TournamentConfig

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return a function that runs a command of `tournament` in this process, in a folder of the test's own.

    It returns the exit status, the standard output and the standard error.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name in [name for name in os.environ if name.startswith("HAPPYCITY_")]:
        monkeypatch.delenv(name)

    def call(*arguments: object) -> tuple[int, str, str]:
        done = tournament(*arguments)
        return done.status, done.output, done.errors

    return call


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play a small tournament on a real server, once for all tests; return its store's file."""
    folder = tmp_path_factory.mktemp("played")
    bots = {"random": "random", "greedy": "greedy", "planner": "planner", "random2": "random"}
    config = TournamentConfig(
        bots=tuple(bots), game=Config(players=4), format=RandomRounds(rounds=12), seed=3
    )
    with arena(folder, bots) as opened:
        opened.play(config)
    return folder / "games.sqlite"


def json_of(run: Run, *arguments: object) -> Any:
    status, output, errors = run(*arguments, "--json")
    assert status == 0, errors
    return json.loads(output)
