"""`python -m benchmarks.equal_bots`: real tournaments of equal bots, whose final intervals should hold 1500.

Every tournament is a `tournament run` with a server, bots and store of its own. With intervals that hold with
95%, a twentieth of them excludes 1500; those of one tournament depend on each other.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path


def excluded(bots: int, *, seats: int, format_name: str, seed: int) -> list[bool]:
    """Play a tournament of copies of `random`; return for each whether its interval excludes 1500."""
    names = ",".join(["random", *(f"random{number}=random" for number in range(2, bots + 1))])
    command = [str(Path(sys.executable).parent / "tournament"), "run", "--bots", names, "--no-web"]
    command += ["--seats", str(seats), "--format", format_name, "--seed", str(seed), "--json"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    lines = json.loads(done.stdout)["standings"]
    return [not line["elo_low"] <= 1500 <= line["elo_high"] for line in lines]


def main() -> None:
    """Print how many intervals exclude 1500 after each tournament, and their share in the end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equal_bots", description=__doc__)
    parser.add_argument("--tournaments", type=int, default=40)
    parser.add_argument("--bots", type=int, default=8)
    parser.add_argument("--seats", type=int, default=2)
    parser.add_argument("--format", default="adaptive")
    parser.add_argument("--seed", type=int, default=1, help="of the first tournament; the next ones follow")
    options = parser.parse_args()
    counts = []
    for seed in range(options.seed, options.seed + options.tournaments):
        wrong = excluded(options.bots, seats=options.seats, format_name=options.format, seed=seed)
        counts.append(sum(wrong))
        print(f"seed {seed}: {counts[-1]} of {options.bots} intervals exclude 1500", flush=True)
    total, mean = len(counts) * options.bots, sum(counts) / len(counts)
    squares = sum((count - mean) ** 2 for count in counts) / max(1, len(counts) - 1)
    error = math.sqrt(squares / len(counts)) / options.bots
    print(f"{sum(counts)} of {total} intervals exclude 1500: {sum(counts) / total:.1%} ±{error:.1%} (SE)")


if __name__ == "__main__":
    main()
