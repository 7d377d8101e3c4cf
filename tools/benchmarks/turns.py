"""Compare this checkout with another one, by the same tournaments played by turns.

All play by turns, with their own interpreters (`.venv/bin/python`): the other checkout, this one pure, and
this one compiled, if `make test-all` has left its code in `build/compiled`. It prints the medians of the
turns, and how fast the machine was.

With `--budget`, peak memory of server and bots, and CPU time of a decision by component. A timer of CPU time
interrupts them, and each time adds what the main thread has used since then to a component: that of the
innermost frame that has one. So other programs on the machine hardly disturb the shares. Compiled functions
have no frames: all is pure.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median

from tools import ROOT
from tools.benchmarks.echo import echo
from tools.benchmarks.harness import COMPILED, LIGHT_BOTS, Tournament, additions, parser, play_tournament
from tools.benchmarks.sampling import COMPONENTS, OTHER_THREADS, OTHERS

Figures = Mapping[tuple[str, str], float]
"""What a tournament took, by kind of process and what it is."""
TOURNAMENTS: Mapping[str, Sequence[str]] = {
    "light bots": ("--rounds", "300", "--bots", LIGHT_BOTS),
    "default bots": ("--rounds", "500"),
    "3 rounds": ("--rounds", "3"),
}
"""What is played: the second is `make run`, the third is little but start and end."""
PEAK = "peak MB"
_AT_START = """
import sys
sys.path.append({here!r})
from tools.benchmarks.sampling import sample_this_process
sample_this_process({folder!r})
"""
"""The module that Python imports by itself as it starts."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A checkout, and the code that it runs."""

    name: str
    tree: Path
    path: str = ""
    """What Python imports from, before the checkout itself."""

    def play(self, arguments: Sequence[str]) -> Tournament:
        """Play a tournament."""
        return play_tournament(*arguments, tree=self.tree, path=self.path)


def figures_of(who: Contestant, arguments: Sequence[str]) -> Figures:
    """Play a tournament; return its figures."""
    played = who.play(arguments)
    return {
        ("run", "wall, s"): played.wall,
        ("run", "decisions/s"): played.rate,
        ("run", "CPU, s"): played.cpu,
        ("run", "CPU us a decision"): played.cpu / played.decisions * 1e6,
    }


def budget_of(who: Contestant, arguments: Sequence[str]) -> Figures:
    """Play a tournament; return the CPU microseconds of a decision by component, and peaks of memory."""
    budget = {
        (kind, row): 0.0
        for kind, components in COMPONENTS.items()
        for row in (PEAK, "all", *components, OTHERS, OTHER_THREADS)
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(_AT_START.format(here=str(ROOT), folder=folder))
        decisions = replace(who, path=folder).play(arguments).decisions
        reports = [json.loads(text) for file in Path(folder).glob("*.json") if (text := file.read_text())]
    for report in reports:
        budget[report["kind"], PEAK] += report["peak_mb"]
        for component, seconds in report["seconds"].items():
            for row in ("all", component):
                budget[report["kind"], row] += seconds / decisions * 1e6
    return budget


def compare(everyone: Sequence[Contestant], turns: int, *, budget: bool) -> None:
    """Play all tournaments by turns, and print the medians and the ratios to the other checkout."""
    measure = budget_of if budget else figures_of
    for who in everyone:
        who.play(TOURNAMENTS["3 rounds"])  # writes the bytecode
    figures: defaultdict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    speeds, echoes = [], []
    for turn in range(turns):
        print(f"turn {turn + 1} of {turns} (Ctrl-C stops it)", file=sys.stderr)
        echoes.append(echo().rate)
        for tournament, options in islice(TOURNAMENTS.items(), 2 if budget else None):
            for who in everyone if turn % 2 == 0 else reversed(everyone):
                speeds.append(additions())
                for (kind, figure), value in measure(who, options).items():
                    figures[tournament, kind, figure, who.name].append(value)
    names = [who.name for who in everyone]
    print(f"{'':56}" + "".join(f"{name:>12}" for name in [*names, *(f"x {name}" for name in names[1:])]))
    for row in dict.fromkeys(key[:3] for key in figures):
        own = [figures[*row, name] for name in names]
        ratios = [
            median(new / old if old else 1.0 for old, new in zip(own[0], mine, strict=True))
            for mine in own[1:]
        ]
        print(f"{', '.join(row):56}" + "".join(f"{value:12,.2f}" for value in [*map(median, own), *ratios]))
    speed = f"{median(speeds):.1f} million additions/s, {min(speeds):.1f} to {max(speeds):.1f}"
    print(f"unary grpc.aio echo, calls/s: {median(echoes):,.0f}; machine, plain Python loop: {speed}")


def main() -> None:
    """Compare with another checkout."""
    options = parser(__doc__)
    options.add_argument("tree", type=Path, help="another checkout with its .venv, as it was before")
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--budget", action="store_true", help="CPU time of a decision by component")
    given = options.parse_args()
    everyone = [Contestant("before", given.tree.resolve()), Contestant("pure", ROOT)]
    if COMPILED.exists() and not given.budget:
        everyone.append(Contestant("compiled", ROOT, str(COMPILED)))
    compare(everyone, given.turns, budget=given.budget)
