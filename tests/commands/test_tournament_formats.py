"""`tournament run --format`, `sprt` and `init` as whole commands, most of them on one real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from happycity.records import Json, loads, without_measurements
from happycity_tournament.results import Position
from happycity_tournament.store import Store

DEADLINE = 120.0
BOTS = {"ann": "random", "bob": "random", "cem": "random", "dee": "random", "eva": "greedy", "eva2": "greedy"}
SIX = tuple(argument for bot in BOTS for argument in ("--join", bot))


def tournament(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "happycity_tournament", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


@dataclass(frozen=True, kw_only=True)
class Arena:
    """A server with bots."""

    folder: Path
    address: str

    def run(self, *arguments: str) -> Json:
        """Play a tournament and return its result."""
        done = tournament(
            "run", "--server", self.address, "--bots", "", "--seed", "7", "--json", "-", *arguments,
            cwd=self.folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told: Json = json.loads(done.stdout)
        return told

    def records(self, told: Json) -> dict[Position, Json]:
        """Return a tournament's records by their place in the schedule, without think times."""
        found: dict[Position, Json] = {}
        with Store(f"sqlite:///{self.folder}/games.sqlite") as store:
            for game in store.games(1000, tournament_id=told["tournament"]):
                record = store.record(game.id)
                assert record is not None
                found[game.result.fixture.position] = without_measurements(loads(record))
        return found


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """Start a server, and six bots in one process."""
    folder = tmp_path_factory.mktemp("arena")
    programs: list[subprocess.Popen[str]] = []

    def start(*command: str) -> Any:
        with (folder / f"{command[0]}.log").open("w") as log:
            program = subprocess.Popen(
                [sys.executable, "-m", "happycity", *command],
                cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        programs.append(program)
        return program

    try:
        server = start("serve", "--listen", "127.0.0.1:0", "--open", "--store", "sqlite:///games.sqlite")
        address = json.loads(server.stdout.readline())["listening"]
        start("bot", "--server", address, *(f"{name}={bot}" for name, bot in BOTS.items()))
        yield Arena(folder=folder, address=address)
    finally:
        for program in programs:
            program.kill()
            program.communicate()


@pytest.mark.parametrize(
    ("arguments", "games"),
    [
        (("--format", "round-robin", "--seats", "2"), 30),
        (("--format", "swiss", "--seats", "2", "--rounds", "4"), 24),
        (("--format", "gauntlet", "--seats", "3", "--challengers", "eva", "--cycles", "2"), 30),
        (("--format", "adaptive", "--seats", "3", "--rounds", "5", "--minimum", "2"), 30),
        (("--format", "random-rounds", "--seats", "3", "--rounds", "4", "--orders", "single"), 8),
        (("--seats", "3", "--rounds", "2", "--orders", "all"), 24),
    ],
)
def test_each_format_is_the_same_at_any_concurrency(
    arena: Arena, arguments: tuple[str, ...], games: int
) -> None:
    """A seed gives the same games, moves and standings, one at a time or many at once."""
    one = arena.run(*SIX, *arguments, "--concurrency", "1")
    many = arena.run(*SIX, *arguments, "--concurrency", "64")
    assert one["games"] == many["games"] == games
    assert arena.records(one) == arena.records(many)
    assert len(arena.records(one)) == games
    assert one["standings"] == many["standings"]


def test_a_swiss_of_several_rounds_separates_the_bots(arena: Arena) -> None:
    """The stronger bots meet each other, and end in front."""
    told = arena.run(*SIX, "--format", "swiss", "--seats", "2", "--rounds", "5")
    assert {line["bot"] for line in told["standings"][:2]} == {"eva", "eva2"}
    assert told["config"]["format"] == "swiss"


def test_a_test_finds_the_stronger_bot(tmp_path: Path) -> None:
    """The candidate is started in as many copies as the table needs; the verdict comes with its numbers."""
    done = tournament(
        "sprt", "--candidate", "greedy", "--base", "random", "--seats", "3", "--elo1", "100", "--seed", "1",
        "--concurrency", "16", "--json", "-", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["config"]["bots"] == ["greedy", "greedy+2", "random", "random+2"]
    assert told["sprt"]["verdict"] == "h1"
    assert told["sprt"]["llr"] >= told["sprt"]["upper"]
    assert told["sprt"]["elo"] is None or told["sprt"]["elo"] > 100
    assert told["games"] < told["games_total"]
    assert "H1 is accepted" in done.stderr


def test_equal_bots_end_without_a_difference(tmp_path: Path) -> None:
    """Two names of one deterministic bot play the same, which a test finds out."""
    done = tournament(
        "sprt", "--candidate", "new=greedy", "--base", "greedy", "--elo1", "60", "--seed", "1",
        "--concurrency", "16", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no difference" in done.stdout


def test_a_test_without_a_decision_has_a_status_of_its_own(tmp_path: Path) -> None:
    """Programs can tell that the maximum was played; a candidate may be any command."""
    done = tournament(
        "sprt", "--candidate", f"new={sys.executable} -m happycity bot new=random", "--base", "random",
        "--max-blocks", "5", "--seed", "1", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "undecided" in done.stdout


def test_the_example_is_written_once_and_played(tmp_path: Path) -> None:
    """What `init` writes, `run` plays; flags win over it, and it is not overwritten."""
    written = tournament("init", "league.toml", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    refused = tournament("init", "league.toml", cwd=tmp_path)
    assert refused.returncode == 2
    assert "is there already" in refused.stderr
    played = tournament(
        "run", "league.toml", "--rounds", "1", "--bots", "random,greedy", "--json", "-", cwd=tmp_path
    )
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout)["config"]["bots"] == ["random", "greedy"]


def test_every_problem_of_a_file_costs_a_line_and_status_2(tmp_path: Path) -> None:
    """Nothing is started if a file makes no sense."""
    (tmp_path / "bad.toml").write_text('round = 5\nbank = "much"\n', encoding="utf-8")
    done = tournament("run", "bad.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert sorted(done.stderr.splitlines()) == [
        "error: bad.toml: bank: it should be a valid number, not 'much'",
        "error: bad.toml: round: there is no such key; the nearest is rounds",
    ]
    assert not (tmp_path / "runs").exists()
