"""The SDKs of other languages, by their greedy bots: built by `make clients`, played as whole programs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from happycity import Mode
from happycity.records import Json, loads, without_measurements
from happycity_tournament.store import Store

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 120.0


class Language(NamedTuple):
    """How a language's greedy bot is started, once it is built."""

    tool: str
    built: str
    command: str


LANGUAGES = {
    "cpp": Language("cmake", "clients/cpp/build/bin/greedy", "{built}"),
    "go": Language("go", "clients/go/bin/greedy", "{built}"),
    "rust": Language("cargo", "clients/rust/target/debug/examples/greedy", "{built}"),
    "java": Language("java", "clients/java/examples/target/examples.jar", "java -cp {built} Greedy"),
    "typescript": Language("node", "clients/typescript/dist/examples/greedy.js", "node {built}"),
}


@pytest.fixture(params=LANGUAGES)
def greedy(request: pytest.FixtureRequest) -> str:
    """Give the command of a language's greedy bot."""
    language = LANGUAGES[request.param]
    built = ROOT / language.built
    if not built.exists() or shutil.which(language.tool) is None:
        pytest.skip(f"{language.built} is not built; `make clients` builds it where {language.tool} is there")
    return language.command.format(built=built)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of ours to its end."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def played(bots: Sequence[str], *, mode: Mode, folder: Path) -> dict[tuple[int, ...], Json]:
    """Play a tournament of `greedy`, however it is started, and `random`; return its records."""
    folder.mkdir()
    options = ("--rounds", "10", "--seats", "2", "--seed", "5", "--mode", mode.value)
    done = run(
        "happycity_tournament", "run", *bots, *options, "--store", "sqlite:///games.sqlite", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    with Store(f"sqlite:///{folder / 'games.sqlite'}") as store:
        return {
            game.result.fixture.position: without_measurements(loads(store.record(game.id) or ""))
            for game in store.games(1000)
        }


def test_greedy_speaks_the_protocol(greedy: str, tmp_path: Path) -> None:
    """The bot passes every step of the conformance kit: handshake, many games, reconnect, clean exit."""
    done = run("happycity", "check", "--bot", greedy, "--token", "secret", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)
def test_greedy_plays_as_python_does(greedy: str, mode: Mode, tmp_path: Path) -> None:
    """In the same seats and with the same seed, the records are those of the Python bot."""
    python = played(("--bots", "random,greedy"), mode=mode, folder=tmp_path / "python")
    other = played(("--bots", "random", "--bot", f"greedy={greedy}"), mode=mode, folder=tmp_path / "other")
    assert python == other
    assert all(record["endings"] == ["finished", "finished"] for record in other.values())
