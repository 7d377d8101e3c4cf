"""CPU time of a decision by component: `python -m benchmarks.budget TREE`, by turns with another checkout.

Both play the same tournaments, pure, as compiled functions have no frames. A timer of CPU time interrupts
server and bots, and each time adds what the main thread has used since then to a component: that of the
innermost frame that has one. So other programs on the machine hardly disturb the shares.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.__main__ import LIGHT_BOTS
from benchmarks.sampling import COMPONENTS, OTHER_THREADS, OTHERS
from benchmarks.turns import HERE, Contestant, played

TURNS = 3
TOURNAMENTS: Mapping[str, Sequence[str]] = {
    "light bots": ("--rounds", "300", "--bots", LIGHT_BOTS),
    "default bots": ("--rounds", "200"),
}
Budget = dict[tuple[str, str], float]
"""CPU time by kind of process and component."""


_AT_START = """
import sys
sys.path.append({here!r})
from benchmarks.sampling import sample_this_process
sample_this_process({folder!r})
"""
"""The module that Python imports by itself as it starts."""


def budget_of(who: Contestant, arguments: Sequence[str]) -> Budget:
    """Play a tournament; return the CPU microseconds of a decision."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(_AT_START.format(here=str(HERE), folder=folder))
        decisions = played(Contestant(who.name, who.tree, folder), arguments)["decisions"]
        budget: defaultdict[tuple[str, str], float] = defaultdict(float)
        for file in Path(folder).glob("*.json"):
            if text := file.read_text():
                report = json.loads(text)
                for component, seconds in report["seconds"].items():
                    budget[report["kind"], component] += seconds / decisions * 1e6
    return budget


def main() -> None:
    """Play light and default bots by turns with both checkouts, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path, help="another checkout with its .venv, as it was before")
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    everyone = Contestant("before", arguments.tree.resolve()), Contestant("now", HERE)
    budgets: defaultdict[tuple[str, str], list[Budget]] = defaultdict(list)
    for turn in range(arguments.turns):
        print(f"turn {turn + 1} of {arguments.turns} (Ctrl-C stops it)", file=sys.stderr)
        for tournament, options in TOURNAMENTS.items():
            for who in everyone if turn % 2 == 0 else reversed(everyone):
                budgets[tournament, who.name].append(budget_of(who, options))
    for tournament in TOURNAMENTS:
        _print(tournament, *(budgets[tournament, who.name] for who in everyone))


def _print(tournament: str, *turns: Sequence[Budget]) -> None:
    print(f"\n{tournament + ', CPU us a decision':44}{'before':>8}{'now':>8}")
    for kind, components in COMPONENTS.items():
        rows = {
            row: [median(budget.get((kind, row), 0.0) for budget in own) for own in turns]
            for row in (*components, OTHERS, OTHER_THREADS)
        }
        sums = [sum(column) for column in zip(*rows.values(), strict=True)]
        for row, columns in {kind: sums, **{f"  {row}": columns for row, columns in rows.items()}}.items():
            print(f"{row:44}" + "".join(f"{microseconds:8.1f}" for microseconds in columns))


if __name__ == "__main__":
    main()
