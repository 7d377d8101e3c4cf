"""Measure runs with workers, by turns: `python -m benchmarks.workers 0 1 2` plays with so many."""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

LINEUPS = {"light": "random,random2=random,greedy,greedy2=greedy", "default": "random,greedy,planner,rollout"}


def measured(workers: int, bots: str, rounds: int) -> tuple[float, float, float]:
    """Play a tournament; return decisions a second, CPU microseconds a decision, and seconds in all."""
    arguments = ("--bots", bots, "--rounds", rounds, "--seed", 1, "--no-web", "--workers", workers)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "happycity_tournament", "run", *map(str, arguments), "--json"],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result["decisions"] / result["seconds"], 1e6 * cpu / result["decisions"], seconds


def main() -> None:
    """Print the medians of some turns for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workers", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--lineup", choices=LINEUPS, default="light")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    turns = [
        [measured(workers, LINEUPS[options.lineup], options.rounds) for workers in options.workers]
        for _ in range(options.turns)
    ]
    for number, workers in enumerate(options.workers):
        rate, cpu, seconds = map(statistics.median, zip(*(turn[number] for turn in turns), strict=True))
        times = f"{cpu:.0f} us of CPU a decision, {seconds:.1f} s in all"
        print(f"{workers} workers: {rate:,.0f} decisions/s, {times}")


if __name__ == "__main__":
    main()
