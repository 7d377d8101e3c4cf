"""Measure how often equal bots are called better or worse at some look, by how often one looks.

Differences of scores, one for each deal, have the mean 0. After some deals one looks whether the 95% interval
of their mean excludes 0, as `tournament compare` does, and stops if it does. "Fixed" intervals are Student's,
which hold for a number of deals that was chosen before; "at any time" are those that `tournament compare`
prints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.statistics import MIN_ANYTIME_DEALS, anytime_margin, student_margin
from tools.benchmarks.harness import parser

Draw = Callable[[np.random.Generator, int], Floats]
DIFFERENCES: Mapping[str, Draw] = {
    "normal": lambda rng, deals: rng.normal(size=deals),
    "thirds": lambda rng, deals: rng.integers(-3, 4, size=deals) / 3,
    "a tenth of the deals differs": lambda rng, deals: (
        rng.choice([-1.0, 1.0], deals) * (rng.random(deals) < 0.1)
    ),
}
"""How the differences of deals are drawn, by name."""
LOOKS: Mapping[str, Sequence[int]] = {
    "once, at 400": [400],
    "5 times, each 80": range(80, 401, 80),
    "20 times, each 20": range(20, 401, 20),
    "after each from the tenth on": range(MIN_ANYTIME_DEALS, 401),
}
"""After which deals one looks, by name."""


def wrong_verdicts(
    draw: Draw,
    looks: Sequence[int],
    *,
    runs: int,
    rng: np.random.Generator,
    margin: Callable[[int, float], float | None],
) -> float:
    """Return the share of runs in which an interval excludes 0 at some look."""
    counts = np.array(looks)
    widths = np.array([margin(count, 1.0) or np.inf for count in looks])
    wrong = 0
    for _ in range(runs):
        values = draw(rng, int(counts[-1]))
        sums, squares = np.cumsum(values)[counts - 1], np.cumsum(values**2)[counts - 1]
        errors = np.sqrt(np.maximum(0.0, squares - sums**2 / counts) / (counts - 1) / counts)
        wrong += bool((np.abs(sums / counts) > widths * errors).any())
    return wrong / runs


def main() -> None:
    """Print a row for each kind of differences and number of looks."""
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=2000, help="runs of each row")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    print("| differences of deals | looks | fixed | at any time |\n|---|---|---:|---:|")
    for name, draw in DIFFERENCES.items():
        for often, looks in LOOKS.items():
            shares = (
                wrong_verdicts(
                    draw, looks, runs=chosen.runs, rng=np.random.default_rng(chosen.seed), margin=margin
                )
                for margin in (student_margin, anytime_margin)
            )
            print(f"| {name} | {often} | {' | '.join(f'{share:.1%}' for share in shares)} |", flush=True)
