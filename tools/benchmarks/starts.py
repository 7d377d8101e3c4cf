"""Measure what commands cost before their first work, against another checkout, by turns.

CPU seconds of each command and of all that it starts, in an empty folder. What is printed is the median ratio
to the other checkout with a 95% interval: of nine pairs, the second smallest and the second largest ratio.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from tools import ROOT
from tools.benchmarks.harness import LIGHT_BOTS, cpu_of_children, interval, parser

COMMANDS = {
    "happycity --help": ("happycity", "--help"),
    "a usage error": ("tournament", "rate", "games.sqlite", "--bad"),
    "tournament list, no runs": ("tournament", "list"),
    "tournament list, one run": ("tournament", "list"),
    "tournament run, 1 round": ("tournament", "run", "--rounds", "1", "--seed", "1", "--no-web"),
    "the same, 2 workers": (
        "tournament",
        "run",
        "--rounds",
        "1",
        "--seed",
        "1",
        "--no-web",
        "--workers",
        "2",
    ),
    "tournament run, 8 rounds, light bots": (
        *("tournament", "run", "--rounds", "8", "--seed", "1", "--no-web", "--bots", LIGHT_BOTS),
    ),
}
"""What is measured; a run must come before the list of one."""


def cpu_of(tree: Path, command: tuple[str, ...], folder: str) -> float:
    """Return the CPU seconds of a command of a checkout and of all that it starts."""
    # Users keep bytecode. Without it, each process would compile all its sources at its start.
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = cpu_of_children()
    words = [str(tree / ".venv/bin" / command[0]), *command[1:]]
    subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
    return cpu_of_children() - before


def pairs_of(
    other: Path, command: tuple[str, ...], count: int, *, with_run: bool
) -> list[tuple[float, float]]:
    """Return the CPU seconds of both checkouts, this one first, after one pair that only writes bytecode."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as its_folder:
        places = {ROOT: folder, other: its_folder}
        for tree, place in places.items():
            if with_run:
                cpu_of(tree, COMMANDS["tournament run, 1 round"], place)
            cpu_of(tree, command, place)
        for turn in range(count):
            order = (ROOT, other) if turn % 2 else (other, ROOT)
            found = {tree: cpu_of(tree, command, places[tree]) for tree in order}
            pairs.append((found[ROOT], found[other]))
    return pairs


def main() -> None:
    """Measure all commands by turns."""
    options = parser(__doc__)
    options.add_argument("--against", type=Path, required=True, help="the other checkout, after `make setup`")
    options.add_argument("--pairs", type=int, default=9)
    options.add_argument("--only", default="", help="part of the name of what is measured")
    given = options.parse_args()
    print(f"{'CPU s, medians':40}{'here':>8}{'there':>8}  ratio, 95% interval")
    for name, command in COMMANDS.items():
        if given.only in name:
            pairs = pairs_of(given.against.resolve(), command, given.pairs, with_run="one run" in name)
            own, others = (median(column) for column in zip(*pairs, strict=True))
            ratios = [here / there for here, there in pairs]
            low, high = interval(ratios)
            print(
                f"{name:40}{own:8.3f}{others:8.3f}  {median(ratios):.2f} ({low:.2f} to {high:.2f})",
                flush=True,
            )
