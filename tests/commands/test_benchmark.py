"""`happycity benchmark` with its processes: results that no process, kill or machine changes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands.programs import Start, happycity
from tools import ROOT

from happycity_tournament.proof.benchmark import BENCHMARK_FILE
from happycity_tournament.proof.publication import GAMES_FILE


@pytest.mark.level(3)
def test_a_result_is_the_same_in_other_processes_and_after_a_kill(start: Start) -> None:
    """Neither hash seeds, nor a kill in the middle, nor the bot's own name in the run change a byte."""
    arguments = ("benchmark", "HappyCity-2-family-v1", "--bot", "planner", "--games", "160")
    first = start(
        "happycity", *arguments, "--out", "first", "--json", env={**os.environ, "PYTHONHASHSEED": "1"}
    )
    output, _ = first.communicate()
    assert first.returncode == 0
    killed = start("happycity", *arguments, "--out", "second", stderr=subprocess.PIPE)
    killed.stderr.readline()  # type: ignore[union-attr]  # wherever it stands then, perhaps at its end
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert "another bot" in happycity(*arguments[:3], "greedy", "--games", "160", "--out", "second").error
    done = happycity(*arguments, "--out", "second")
    assert done.status == 0, done
    results = [json.loads((Path(name) / BENCHMARK_FILE).read_bytes()) for name in ("first", "second")]
    for result in results:
        assert result.pop("cost")["decisions"] > 2000
    assert results[0] == results[1] | {"hash": json.loads(output)["hash"]}
    assert (Path("first") / GAMES_FILE).read_bytes() == (Path("second") / GAMES_FILE).read_bytes()
    done = happycity("benchmark", "verify", "second", "--ask", "2")
    assert done.status == 0, done
    assert "Elo over planner   0.0 ±0.0" in done.output
    assert "a try, not a result" in done.output


def test_the_planners_games_are_those_of_the_docs() -> None:
    done = happycity("benchmark", "HappyCity-4-family-lite-v1", "--bot", "planner", "--json")
    assert json.loads(done.output)["complete"]
    assert json.loads(done.output)["chain"] in (ROOT / "docs/benchmark.md").read_text("utf-8")


def test_a_program_is_measured_with_what_it_notes() -> None:
    Path("mine.py").write_text(PROGRAM)
    command = f"mine={sys.executable} {os.path.abspath('mine.py')}"
    done = happycity(
        "benchmark", "run", "HappyCity-3-family-v1", "--bot", command, "--games", "3",
        "--money", "2 USD", "--json",
    )  # fmt: skip
    assert done.status == 0, done
    result = json.loads(done.output)
    folder = Path("HappyCity-3-family-v1-mine")
    assert result["cost"]["notes"] == {"tokens_in": 5 * result["cost"]["decisions"]}
    assert (result["cost"]["cpu_seconds"] > 0, result["cost"]["money"]) == (True, "2 USD")
    assert "has a result already" in happycity("benchmark", "HappyCity-3-family-v1", "--bot", command).error
    assert "tokens in          " in happycity("benchmark", "verify", folder).output


PROGRAM = """
from happycity_client import Bot, run

class Mine(Bot):
    def choose(self, decision):
        decision.note(tokens_in=5)
        return decision.moves[0]

run(Mine)
"""
