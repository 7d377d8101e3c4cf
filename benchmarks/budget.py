"""CPU time of a decision by component: `python -m benchmarks.budget TREE`, by turns with another checkout.

Both play the same tournaments, pure, as compiled functions have no frames. py-spy, which has to be installed
(`pip install py-spy`), samples the Python threads of server and bots. A sample belongs to the component of
its innermost frame that has one. Shares become microseconds by the CPU time of the threads; gRPC's own
threads are a component.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.__main__ import LIGHT_BOTS
from benchmarks.turns import HERE, Contestant, Use, played

TURNS = 3
TOURNAMENTS: Mapping[str, Sequence[str]] = {
    "light bots": ("--rounds", "200", "--bots", LIGHT_BOTS),
    "default bots": ("--rounds", "150"),
}
SAMPLES_A_SECOND = 100
"""Each stops its process for a moment."""
GRPC_THREADS = ("event_engine", "grpc", "resolver", "timer", "lifeguard")
"""How the names of gRPC's own threads begin; Python's are named like the program."""
OWN_THREADS = "gRPC's own threads"
OTHERS = "event loop, gRPC in Python, others"
IMPORTS = "imports"

COMPONENTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "server": {
        IMPORTS: ("<frozen importlib",),
        "rules": ("happycity/rules/",),
        "referee, record": ("play/referee.py", "play/clock.py", "happycity/records/", "happycity/match.py"),
        "decisions and events on the wire": ("happycity/wire/",),
        "matches, sessions, outboxes": ("happycity_server/play/",),
        "store": ("happycity_tournament/storage/", "/sqlalchemy/"),
        "schedule, standings, ratings": ("happycity_tournament/",),
        "services, feeds": ("happycity_server/",),
    },
    "bots": {
        IMPORTS: ("<frozen importlib",),
        "playouts": ("happycity/playout/quick.py", "happycity/playout/plain_turns.py"),
        "rules, for playouts": ("happycity/rules/",),
        "valuation, choice": ("happycity_bots/", "happycity/playout/"),
        "decisions on the wire": ("happycity/wire/",),
        "SDK": ("happycity_client/",),
    },
}
"""Components of each kind of process, by parts of the paths of their modules; the first that fits counts."""


class Sampler:
    """Lets py-spy sample the processes of a tournament."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
        self._own_threads: Counter[str] = Counter()
        self._of_process: dict[int, float] = {}

    def watch(self, process: int, use: Use) -> None:
        """Sample a process from now on, to its end; note what gRPC's threads have used so far."""
        if process not in self._processes:
            command = ["py-spy", "record", "--pid", str(process), "--rate", str(SAMPLES_A_SECOND)]
            options = ["--full-filenames", "--format", "raw", "--output", str(self._folder / str(process))]
            sampler = subprocess.Popen(
                [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            self._processes[process] = use.kind, sampler
        self._of_process[process] = _seconds_of_grpc(process) or self._of_process.get(process, 0.0)

    def budget(self, figures: Mapping[str, float], decisions: float) -> dict[tuple[str, str], float]:
        """Return the microseconds of a decision by kind of process and component."""
        budget: dict[tuple[str, str], float] = {}
        for kind, components in COMPONENTS.items():
            samples: Counter[str] = Counter()
            own = 0.0
            for process, (its_kind, sampler) in self._processes.items():
                sampler.wait()
                if its_kind == kind:
                    own += self._of_process[process] / decisions * 1e6
                    samples += _samples(self._folder / str(process), components)
            budget[kind, OWN_THREADS] = own
            in_python = figures[f"{kind}, CPU us"] - own
            for component in (*components, OTHERS):
                budget[kind, component] = in_python * samples[component] / max(samples.total(), 1)
        return budget


def _seconds_of_grpc(process: int) -> float:
    """Return the CPU seconds of a process's threads that are gRPC's own; 0.0 if it has ended."""
    ticks = 0
    for thread in Path("/proc", str(process), "task").glob("*/stat"):
        try:
            _, _, rest = thread.read_text().partition("(")
        except OSError:
            continue
        name, _, fields = rest.rpartition(")")
        if name.startswith(GRPC_THREADS):
            ticks += sum(map(int, fields.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _samples(file: Path, components: Mapping[str, Sequence[str]]) -> Counter[str]:
    """Count the samples of a process by component."""
    samples: Counter[str] = Counter()
    for line in file.read_text().splitlines() if file.exists() else ():
        stack, _, count = line.rpartition(" ")
        samples[_component(stack.split(";"), components)] += int(count)
    return samples


def _component(stack: Sequence[str], components: Mapping[str, Sequence[str]]) -> str:
    """Return the component of the innermost frame that has one; imports take all that they run."""
    if any(part in frame for frame in stack for part in components[IMPORTS]):
        return IMPORTS
    for frame in reversed(stack):
        for component, parts in components.items():
            if any(part in frame for part in parts):
                return component
    return OTHERS


def main() -> None:
    """Play light and default bots by turns with both checkouts, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path, help="another checkout with its .venv, as it was before")
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    if shutil.which("py-spy") is None:
        sys.exit("py-spy is not on the PATH: pip install py-spy")
    everyone = Contestant("before", arguments.tree.resolve()), Contestant("now", HERE)
    budgets: dict[tuple[str, str, str, str], list[float]] = {}
    for turn in range(arguments.turns):
        print(f"turn {turn + 1} of {arguments.turns} (Ctrl-C stops it)", file=sys.stderr)
        for tournament, options in TOURNAMENTS.items():
            for who in everyone if turn % 2 == 0 else reversed(everyone):
                with tempfile.TemporaryDirectory() as folder:
                    sampler = Sampler(Path(folder))
                    figures = played(who, options, watch=sampler.watch)
                    for place, value in sampler.budget(figures, figures["decisions"]).items():
                        budgets.setdefault((tournament, *place, who.name), []).append(value)
    for tournament in TOURNAMENTS:
        print(f"\n{tournament + ', CPU us a decision':44}{'before':>8}{'now':>8}")
        for kind, components in COMPONENTS.items():
            rows = (*components, OTHERS, OWN_THREADS)
            columns = [
                [median(budgets[tournament, kind, row, name]) for row in rows] for name in ("before", "now")
            ]
            print(f"{kind:44}" + "".join(f"{sum(column):8.1f}" for column in columns))
            for row, *values in zip(rows, *columns, strict=True):
                print(f"  {row:42}" + "".join(f"{value:8.1f}" for value in values))


if __name__ == "__main__":
    main()
