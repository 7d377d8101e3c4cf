"""How often the check of the model flags tournaments that fit it, and how often it finds those that don't.

`true`: games are drawn from the model itself, so each sentence is a false alarm. `never first`: a bot's first
places go to the second in half of its wins. `halves`: a bot becomes 200 Elo stronger halfway.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from happycity_tournament.ratings.checks import check_lines, check_model
from happycity_tournament.ratings.columns import Games, TableColumns
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from tools.benchmarks.models import League

World = Callable[[np.random.Generator], Games]
FIELDS: Sequence[Sequence[float]] = (
    (1, 0),
    (4, 0),
    (1, 0, -1.6),
    (2.5, 0, -2),
    (0.8, 0.3, -0.2, -0.9),
    (3, 0, 0, -3),
)
"""Strengths in logits of all bots, which all sit at each table."""
DEALS = (10, 20, 50, 200)
LARGE = (2.0, 1.0, 0.5, 0.0, 0.0, -0.5, -1.0, -2.0)
"""A field of which some sit at each table."""


def league(strengths: Sequence[float]) -> League:
    """Return a league of bots with these strengths, in logits."""
    return League([ELO_PER_LOGIT * each for each in strengths])


def true(strengths: Sequence[float], seats: int, deals: int) -> World:
    """Return a world in which the model holds."""
    return lambda rng: league(strengths).games({seats: deals}, rng)


def never_first(strengths: Sequence[float], seats: int, deals: int) -> World:
    """Return a world in which the first bot is second in half of the games that it would win."""

    def games(rng: np.random.Generator) -> Games:
        table = league(strengths).games({seats: deals}, rng).tables[seats]
        lost = ((table.bots == 0) & (table.places == 1)).any(axis=1) & (rng.random(len(table.deals)) < 0.5)
        places = table.places.copy()
        places[lost] = np.where(places[lost] == 1, 2, np.where(places[lost] == 2, 1, places[lost]))
        return Games(league(strengths).bots, {seats: TableColumns(table.bots, places, table.deals)})

    return games


def halves(strengths: Sequence[float], seats: int, deals: int) -> World:
    """Return a world in which the first bot becomes 200 Elo stronger after half of the deals."""

    def games(rng: np.random.Generator) -> Games:
        changed = (strengths[0] + 200 / ELO_PER_LOGIT, *strengths[1:])
        first, second = (
            league(each).games({seats: deals // 2}, rng).tables[seats] for each in (strengths, changed)
        )
        both = (
            np.concatenate([first.bots, second.bots]),
            np.concatenate([first.places, second.places]),
            np.concatenate([first.deals, second.deals + deals]),
        )
        return Games(league(strengths).bots, {seats: TableColumns(*both)})

    return games


def flagged(world: World, runs: int) -> float:
    """Return the share of tournaments about which the check says something."""
    found = (check_lines(check_model(estimate_of(world(np.random.default_rng(run))))) for run in range(runs))
    return sum(map(bool, found)) / runs


def rows() -> Iterator[tuple[str, int, int, World]]:
    """Yield each world with its name, seats and deals."""
    for strengths in (*FIELDS, LARGE):
        seats = min(4, len(strengths))
        for deals in DEALS:
            yield (
                f"true, {', '.join(f'{each:g}' for each in strengths)}",
                seats,
                deals,
                true(strengths, seats, deals),
            )
    yield "true, five equal bots", 5, 20, true((0,) * 5, 5, 20)
    for deals in (20, 50, 100, 200):
        yield "never first", 4, deals, never_first(LARGE, 4, deals)
    for deals in (50, 100, 200, 400):
        yield "halves", 2, deals, halves((0, 0, 0, 0), 2, deals)


def main() -> None:
    """Print the share of flagged tournaments of each world, with its standard error."""
    own = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own.add_argument("--runs", type=int, default=400, help="tournaments of each world (default: 400)")
    own.add_argument("--only", default="", help="only worlds whose name begins with it")
    arguments = own.parse_args()
    print("| world | seats | deals | flagged, % |\n|---|---:|---:|---:|")
    for name, seats, deals, world in rows():
        if name.startswith(arguments.only):
            share = flagged(world, arguments.runs)
            error = 100 * math.sqrt(share * (1 - share) / arguments.runs)
            print(f"| {name} | {seats} | {deals} | {100 * share:.1f} ± {error:.1f} |", flush=True)


if __name__ == "__main__":
    main()
