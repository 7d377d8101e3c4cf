"""What the benchmarks share: whole tournaments, servers and other processes, and how fast the machine is."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from math import comb
from pathlib import Path
from typing import IO, Any, NamedTuple

from tools import ROOT

COMMANDS = ROOT / ".venv" / "bin"
COMPILED = ROOT / "build" / "compiled"
"""The compiled code that `make test-all` and `python -m tools --compiled` leave."""
LIGHT_BOTS = "random,random2=random,greedy,greedy2=greedy"
DEFAULT_BOTS = "random,greedy,planner,rollout"

Process = subprocess.Popen[str]


def parser(text: str | None) -> argparse.ArgumentParser:
    """Return a parser of options that shows the text of a module and all defaults."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.ArgumentDefaultsHelpFormatter)


def additions() -> float:
    """Return millions of additions a second in a plain loop: how fast this machine and Python are today."""
    started = time.perf_counter()
    total = 0
    for number in range(5_000_000):
        total += number
    return 5 / (time.perf_counter() - started)


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return the ends of the narrowest interval of order statistics that holds the median in 95% of cases."""
    ordered, count = sorted(ratios), len(ratios)
    outside = [2 * sum(comb(count, below) for below in range(rank + 1)) / 2**count for rank in range(count)]
    rank = max((each for each in range(count // 2) if outside[each] <= 0.05), default=0)
    return ordered[rank], ordered[-1 - rank]


def cpu_of_children() -> float:
    """Return the CPU seconds of all ended processes that this one has started, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_line(text: str) -> str:
    """Return the last line of what a program said."""
    return (text.splitlines() or ["it said nothing"])[-1]


class Tournament(NamedTuple):
    """A tournament that was played by `tournament run`."""

    result: dict[str, Any]
    """What the command printed with `--json`."""
    wall: float
    """Seconds from the command's start to its end."""
    cpu: float
    """CPU seconds of the command and all that it started."""
    bots_cpu: float
    """Those of the bots that it started."""

    @property
    def decisions(self) -> int:
        """All decisions of its games."""
        return int(self.result["decisions"])

    @property
    def rate(self) -> float:
        """Decisions a second, start and end of the processes left out."""
        return float(self.decisions / self.result["seconds"])


def play_tournament(*arguments: object, tree: Path = ROOT, path: str = "") -> Tournament:
    """Play a tournament with seed 1 in a folder of its own, by a checkout with its own interpreter.

    `path` is what Python imports from before the checkout.

    Raises:
        SystemExit: the command failed.
    """
    command = [str(tree / ".venv/bin/python"), "-m", "happycity_tournament", "run", "--json", "--seed", "1"]
    # Users keep bytecode. Without it, each process of a run would compile all its sources at its start.
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, started = cpu_of_children(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        words = [*command, *map(str, arguments)]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        usage = [json.loads(line) for file in Path(folder).glob("runs/*/usage.jsonl") for line in file.open()]
    if done.returncode:
        raise SystemExit(f"{last_line(done.stderr)} (tournament run {arguments})")
    wall, cpu = time.perf_counter() - started, cpu_of_children() - before
    return Tournament(json.loads(done.stdout), wall, cpu, sum(line["cpu_seconds"] for line in usage))


def start(stack: ExitStack, log: IO[Any], *arguments: str, tree: Path = ROOT) -> Process:
    """Start a Python module that says lines of JSON and hears lines; it is killed at the end of the stack."""
    process = subprocess.Popen(
        [str(tree / ".venv/bin/python"), "-m", *arguments],
        cwd=tree,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def serve(
    stack: ExitStack, folder: Path, *options: str, listen: str = "127.0.0.1:0", tree: Path = ROOT
) -> tuple[Process, dict[str, str]]:
    """Start a server whose store and log are in a folder; return it, and addresses by what serves there."""
    log = stack.enter_context((folder / "server.log").open("a"))
    arguments = ("--listen", listen, "--store", store_url(folder), "--log", "json", *options)
    server = start(stack, log, "happycity", "serve", *arguments, tree=tree)
    return server, {name: str(value) for name, value in read_line(server).items()}


def store_url(folder: Path) -> str:
    """Return the store of the server of a folder."""
    return f"sqlite:///{folder}/games.sqlite"


def read_line(process: Process) -> Any:
    """Wait for a line of JSON from a process."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"error: {process.args!r} ended with status {process.wait()}")
    return json.loads(line)


def send_line(process: Process) -> None:
    """Send a process the line that it waits for."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def say(**values: object) -> None:
    """Say a line of JSON to the process that started this one."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def scrape(address: str) -> dict[str, float]:
    """Return a server's metrics by name, those with labels as name{labels}."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, value in pairs}
