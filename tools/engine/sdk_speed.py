"""Measure the engine by the SDK of each language, and what a decision of its searcher takes, in one run.

The position is `position(1)` of `clients/conformance/first.decision`. Its moves are all played out, in one
call where the SDK has that; a call is a copy to which the first move is applied. A process does this in two
numbers of times that differ by `--times`, and the CPU time of the difference counts: neither its start nor
what a runtime compiles at first. A decision is one of the searcher that plays itself at a table of two,
measured likewise. It takes what `make clients` builds: in Rust, only the engine is optimised there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from happycity_client import read_decision
from tools import ROOT
from tools.benchmarks.clients import PER, Client, measure
from tools.benchmarks.harness import cpu_of_children, parser, serve
from tools.engine import load_engine
from tools.languages import CLIENTS, command, missing

FIRST = CLIENTS / "conformance" / "first.decision"
VARIABLE = "HAPPYCITY_ENGINE_SPEED"
"""The environment says in it what a program does, and how often: `playouts 1000` or `calls 1000`."""
MOVES = 6
"""Legal moves of the position, each of which is played out."""
PROGRAMS: dict[str, tuple[str, ...]] = {
    "python": (sys.executable, "-c", "from tools.engine.sdk_speed import repeat; repeat()"),
    "rust": (
        *("cargo", "test", "--quiet", "--locked", "--features", "engine", "--test", "engine"),
        *("--", "--ignored", "speed"),
    ),
    "cpp": ("build/tests/tests", "--gtest_also_run_disabled_tests", "--gtest_filter=Position.DISABLED_Speed"),
    "typescript": ("node", "dist/test/engine-speed.js"),
    "go": ("go", "test", "-count=1", "-run", "^TestEngineSpeed$", "."),
    "java": (
        *("java", "-cp", "happycity/target/test-classes:examples/target/examples.jar"),
        "dev.happycity.EngineSpeed",
    ),
}
"""What does it in each language, in the SDK's folder."""


def repeat() -> None:
    """Do in Python what the environment says."""
    what, times = os.environ[VARIABLE].split()
    world = read_decision(FIRST)[1].position(seed=1)
    moves = world.legal_moves
    for _ in range(int(times)):
        if what == "playouts":
            for move in moves:
                world.playout(move)
        else:
            world.copy().apply(moves[0])


def rate(language: str, what: str, times: int) -> float:
    """Return how often a program does something in a CPU second.

    Raises:
        SystemExit: the program fails.
    """
    seconds = []
    for number in (times, times // 10, times + times // 10):  # the first one compiles what must be
        began = cpu_of_children()
        done = subprocess.run(
            PROGRAMS[language],
            cwd=ROOT if language == "python" else CLIENTS / language,
            env={**os.environ, VARIABLE: f"{what} {number}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"error: {language}: {done.stdout}")
        seconds.append(cpu_of_children() - began)
    return times / (seconds[2] - seconds[1])


def main() -> None:
    """Measure all languages whose SDK is built, and print the table."""
    options = parser(__doc__)
    options.add_argument(
        "--times", type=int, default=50_000, help="playouts of all moves; ten times the calls"
    )
    options.add_argument("--rounds", type=int, default=6, help="rounds of the searcher, each of two games")
    options.add_argument("--languages", nargs="+", choices=PROGRAMS, default=[*PROGRAMS])
    given = options.parse_args()
    os.environ["PYTHONPATH"] = str(Path(str(load_engine().__file__)).parent)
    print("| language | playouts a CPU second | calls a CPU second | CPU ms a decision of the searcher |")
    print("|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        _, addresses = serve(stack, Path(temporary))
        for language in given.languages:
            searcher = command(language, "searcher")
            if lack := missing(searcher):
                print(f"not measured: {language}, there is no {lack}", file=sys.stderr)
                continue
            playouts = MOVES * rate(language, "playouts", given.times)
            calls = rate(language, "calls", 10 * given.times)
            client = Client(language, searcher, given.rounds)
            decision = 1000 / PER * measure(client, addresses["listening"], Path(temporary)).cpu
            print(f"| {language} | {playouts:,.0f} | {calls:,.0f} | {decision:.1f} |", flush=True)


if __name__ == "__main__":
    main()
