"""Compare the speed of this checkout with another one's: `python -m benchmarks.turns TREE`.

All play the same tournaments by turns, with their own interpreters (`.venv/bin/python`): the other checkout,
this one pure, and this one compiled, if `make test-compiled` has left its code in `build/compiled`. It prints
the medians of the turns, and how fast the machine was. CPU and memory are read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.__main__ import LIGHT_BOTS, additions
from benchmarks.compiled import TREE as COMPILED
from benchmarks.echo import calls_per_second
from benchmarks.sampling import kind_of

HERE = Path(__file__).parents[1]
TURNS = 5
TOURNAMENTS: dict[str, Sequence[str]] = {
    "light bots": ("--rounds", "300", "--bots", LIGHT_BOTS),
    "default bots": ("--rounds", "500"),
    "3 rounds": ("--rounds", "3"),
}
"""What is played: the second is `make run`, the third is little but start and end."""
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Contestant:
    """A checkout, and the code that it runs."""

    name: str
    tree: Path
    path: str = ""
    """What Python imports from, before the checkout itself."""


def contestants(other: Path) -> Iterator[Contestant]:
    """Yield the other checkout and the forms of this one."""
    yield Contestant("before", other)
    yield Contestant("pure", HERE)
    if COMPILED.exists():
        yield Contestant("compiled", HERE, str(COMPILED))


@dataclass(slots=True)
class _Use:
    """What a process has used so far."""

    kind: str
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0


def _use_of(process: int) -> _Use | None:
    """Return what a process has used, None if it has ended; its kind is that of the command."""
    folder = Path("/proc", str(process))
    try:
        command = (folder / "cmdline").read_text().split("\0")
        ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
        peak = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return None
    return _Use(
        kind_of(command) or "server",
        sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"),
        int(peak.split()[1]) / 1024,
    )


def _descendants(process: int) -> Iterator[int]:
    for children in Path("/proc", str(process), "task").glob("*/children"):
        try:
            found = [int(child) for child in children.read_text().split()]
        except OSError:  # it has ended
            continue
        for child in found:
            yield child
            yield from _descendants(child)


def played(who: Contestant, arguments: Sequence[str]) -> dict[str, float]:
    """Play a tournament; return its figures. CPU times are microseconds a decision, of whole processes."""
    command = [str(who.tree / ".venv/bin/python"), "-m", "happycity_tournament", "run", "--json"]
    uses: dict[int, _Use] = {}
    # Users keep bytecode. Without it, each process of a run would compile all its sources at its start.
    environment = {**os.environ, "PYTHONPATH": who.path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*command, "--seed", "1", *arguments],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None:
            for child in _descendants(process.pid):
                if (use := _use_of(child)) is not None:
                    uses[child] = use
            time.sleep(LOOK_SECONDS)
        seconds = time.perf_counter() - started
        output.seek(0)
        result = json.loads(output.read())
    after, decisions = resource.getrusage(resource.RUSAGE_CHILDREN), result["decisions"]
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures = {
        "wall, s": seconds,
        "decisions": decisions,
        "decisions/s": decisions / result["seconds"],
        "CPU, s": whole,
        "CPU us a decision": whole / decisions * 1e6,
    }
    for kind in ("server", "bots"):
        own = [use for use in uses.values() if use.kind == kind]
        figures[f"{kind}, CPU us"] = sum(use.cpu_seconds for use in own) / decisions * 1e6
        figures[f"{kind}, peak MB"] = sum(use.peak_mb for use in own)
    return figures


def main() -> None:
    """Play all tournaments by turns, and print the medians and the ratios to the other checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path, help="another checkout with its .venv, as it was before")
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    everyone = list(contestants(arguments.tree.resolve()))
    for who in everyone:
        played(who, TOURNAMENTS["3 rounds"])  # writes the bytecode
    figures: dict[tuple[str, str, str], list[float]] = {}
    speeds, echoes = [], []
    for turn in range(arguments.turns):
        print(f"turn {turn + 1} of {arguments.turns} (Ctrl-C stops it)", file=sys.stderr)
        echoes.append(calls_per_second())
        for tournament, options in TOURNAMENTS.items():
            for who in everyone if turn % 2 == 0 else reversed(everyone):
                speeds.append(additions())
                for figure, value in played(who, options).items():
                    figures.setdefault((tournament, figure, who.name), []).append(value)
    _print(figures, everyone)
    print(f"unary grpc.aio echo, calls/s: {median(echoes):,.0f}")
    for who in everyone:
        rate = median(figures["light bots", "decisions/s", who.name])
        print(f"light bots / echo, {who.name}: {rate / median(echoes):.1f}")
    print(
        f"machine, plain Python loop: {median(speeds):.1f} million additions/s, "
        f"{min(speeds):.1f} to {max(speeds):.1f}"
    )


def _print(figures: dict[tuple[str, str, str], list[float]], everyone: Sequence[Contestant]) -> None:
    names = [who.name for who in everyone]
    print(
        f"{'':34}" + "".join(f"{name:>12}" for name in names) + "".join(f"{f'x {n}':>12}" for n in names[1:])
    )
    for tournament, figure in dict.fromkeys(key[:2] for key in figures):
        turns = [figures[tournament, figure, name] for name in names]
        ratios = [median(x / y for x, y in zip(own, turns[0], strict=True)) for own in turns[1:]]
        medians = "".join(f"{median(own):12,.2f}" for own in turns)
        print(f"{tournament + ': ' + figure:34}{medians}" + "".join(f"{ratio:12.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
