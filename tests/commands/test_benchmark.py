"""`happycity benchmark` with its processes: results that no process, kill or machine changes."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands.programs import (
    ALL_GAMES,
    Gate,
    Program,
    Start,
    command_of,
    follow,
    happycity,
    kill_processes,
    own_server,
    server_of,
    wait_for_line,
)
from tools import ROOT

from happycity_tournament.proof.benchmark import BENCHMARK_FILE
from happycity_tournament.proof.publication import GAMES_FILE

PROTOCOL = "HappyCity-2-family-v4"
SOME_GAMES = 4


@pytest.mark.level(3)
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes as Linux has it")
def test_a_result_is_the_same_in_other_processes_and_after_a_kill(start: Start, gate: Gate) -> None:
    """Neither hash seeds nor a kill in the middle change a byte."""
    arguments = ("benchmark", PROTOCOL, "--bot", command_of("gated"), "--games", "20")
    gate.let_through(ALL_GAMES)
    first = start(
        "happycity", *arguments, "--out", "first", "--json", env={**os.environ, "PYTHONHASHSEED": "1"}
    )
    output, _ = first.communicate()
    assert first.returncode == 0
    gate.close()
    gate.let_through(SOME_GAMES)
    killed = start("happycity", *arguments, "--out", "second", stderr=subprocess.PIPE)
    wait_for_line(killed, "Ctrl-C stops it")
    folder = Path("second")
    follow(own_server(folder), until_games=SOME_GAMES)
    end_by_kill(killed)
    assert "another protocol, beacon" in happycity(*arguments, "--out", folder, "--beacon", "x").error
    assert "another bot" in happycity(*arguments[:3], "greedy", "--games", "20", "--out", folder).error
    gate.let_through(ALL_GAMES)
    done = happycity(*arguments, "--out", folder)
    assert done.status == 0, done
    results = [json.loads((Path(name) / BENCHMARK_FILE).read_bytes()) for name in ("first", "second")]
    decisions = [result.pop("stated")["decisions"] for result in results]
    assert decisions[0] == decisions[1] > 400
    assert results[0] == results[1] | {"hash": json.loads(output)["hash"]}
    assert (Path("first") / GAMES_FILE).read_bytes() == (folder / GAMES_FILE).read_bytes()
    done = happycity("benchmark", "verify", folder, "--ask", "2")
    assert done.status == 0, done
    assert "a try, not a result" in done.output


def end_by_kill(run: Program) -> None:
    """Kill a run, and all that it has started."""
    server = os.pidfd_open(server_of(run))
    run.kill()
    run.communicate()
    select.select([server], [], [])  # it stops by itself
    os.close(server)
    kill_processes()


def test_the_planners_games_are_those_of_the_docs() -> None:
    """The same on every machine; the planner is as strong as itself, whatever it is called in the run."""
    done = happycity("benchmark", PROTOCOL, "--bot", "planner", "--games", "10", "--json")
    result = json.loads(done.output)
    assert result["columns"]["planner"]["score"]["value"] == 0.5
    assert result["chain"] in (ROOT / "docs/benchmark.md").read_text("utf-8")
    done = happycity("benchmark", "verify", f"{PROTOCOL}-planner", "--ask", "2")
    assert done.status == 0, done
    assert "Elo over planner      0.0\n" in done.output


def test_deals_of_a_beacon_are_played_and_verified() -> None:
    """An organiser draws it after the bots are there, or keeps it secret until they have played."""
    beacon = ("--beacon", "drand 4242 8a1c")
    done = happycity("benchmark", PROTOCOL, "--bot", "greedy", "--games", "10", *beacon, "--out", "drawn")
    assert done.status == 0, done
    assert json.loads((Path("drawn") / BENCHMARK_FILE).read_bytes())["beacon"] == beacon[1]
    done = happycity("benchmark", "verify", "drawn", *beacon)
    assert done.status == 0, done
    done = happycity("benchmark", "verify", "drawn", "--beacon", "drand 4243 11f0")
    assert (done.status, done.errors) == (1, "error: --beacon: the deals follow from 'drand 4242 8a1c'\n")


def test_a_program_is_measured_with_what_it_notes() -> None:
    Path("mine.py").write_text(PROGRAM)
    command = f"mine={sys.executable} {os.path.abspath('mine.py')}"
    done = happycity(
        "benchmark", "run", PROTOCOL, "--bot", command, "--games", "3",
        "--money", "2 USD", "--json",
    )  # fmt: skip
    assert done.status == 0, done
    result = json.loads(done.output)
    folder = Path(f"{PROTOCOL}-mine")
    assert result["stated"]["notes"] == {"tokens_in": 5 * result["stated"]["decisions"]}
    assert (result["stated"]["cpu_seconds"] > 0, result["stated"]["money"]) == (True, "2 USD")
    assert "has a result already" in happycity("benchmark", PROTOCOL, "--bot", command).error
    assert "tokens in             " in happycity("benchmark", "verify", folder).output


PROGRAM = """
from happycity_client import Bot, run

class Mine(Bot):
    def choose(self, decision):
        decision.note(tokens_in=5)
        return decision.moves[0]

run(Mine)
"""
