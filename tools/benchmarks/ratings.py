"""Measure how exact and how fast ratings are, and what their errors allow for.

All games are played between bots of known strength.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from happycity_tournament.ratings.checks import check_model
from happycity_tournament.ratings.columns import Floats, Games
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from tools.benchmarks.models import League

REPLICATIONS = 400
NORMAL_MARGIN = 1.96


def spread(bots: int, deviation: float) -> list[float]:
    """Return strengths in Elo, evenly spread with this standard deviation and mean 0, in mixed order."""
    even = np.linspace(-1, 1, bots)
    values: list[float] = np.random.default_rng(bots).permutation(even * deviation / even.std()).tolist()
    return values


def rms(values: Floats) -> float:
    """Return the root of the mean square."""
    return math.sqrt(float(np.mean(values**2)))


LARGE_OF_FOUR = League(spread(50, 150))
LARGE_OF_TWO = League(spread(100, 150))


@dataclass(frozen=True)
class Recovery:
    """A league whose known strengths the ratings should find."""

    name: str
    league: League
    deals: Mapping[int, int]
    leagues: int
    """How many times it is played."""


def recoveries() -> Iterator[Recovery]:
    """Yield leagues of every table size, played equally and unequally often."""
    league = League(spread(20, 150))
    for seats in (2, 3, 4, 5):
        yield Recovery(f"{seats} seats, 20 bots, 20,000 games", league, {seats: 20_000 // seats}, 20)
    mixed = {seats: 5_000 // seats for seats in (2, 3, 4, 5)}
    yield Recovery("2 to 5 seats at once, 20,000 games", league, mixed, 20)
    unequal = replace(league, weights=np.geomspace(1, 20, 20).tolist())
    yield Recovery("the same, some bots 20 times as often", unequal, {4: 5_000}, 20)
    yield Recovery("4 seats, 50 bots, 100,000 games", LARGE_OF_FOUR, {4: 25_000}, 5)
    yield Recovery("2 seats, 100 bots, 1,000,000 games", LARGE_OF_TWO, {2: 500_000}, 3)


def print_recovery() -> None:
    """Print how far estimates are from the known strengths, and how far their errors say they may be."""
    print(f"{'recovery of known strengths (Elo)':<44}{'RMSE':>8}{'stated':>8}{'ratio':>8}")
    for number, recovery in enumerate(recoveries()):
        print(f"  {recovery.name} ...", end="\r", file=sys.stderr)
        off, stated = [], []
        for repeat in range(recovery.leagues):
            estimate = estimate_of(
                recovery.league.games(recovery.deals, np.random.default_rng([number, repeat]))
            )
            off.append(estimate.elos - recovery.league.elos)
            stated.append((estimate.ends()[1] - estimate.elos) / NORMAL_MARGIN)
        error, said = rms(np.concatenate(off)), rms(np.concatenate(stated))
        print(f"{recovery.name:<44}{error:>8.2f}{said:>8.2f}{error / said:>8.2f}")


def print_dependence() -> None:
    """Print what errors by deal allow for: the luck that games of a deal share, rotated and not."""
    print(f"\n{'8 bots, 4 seats (Elo)':<44}{'SD':>8}{'stated':>8}{'by games':>10}{'holds':>8}")
    base = League(spread(8, 100))
    for name, league, deals in (
        ("single games", replace(base, seating="single"), 1000),
        ("single games, luck 1.5", replace(base, seating="single", luck=1.5), 1000),
        ("rotated, luck 0", base, 250),
        ("rotated, luck 1.5", replace(base, luck=1.5), 250),
        ("rotated, luck 4", replace(base, luck=4.0), 250),
        ("repeated without rotation, luck 4", replace(base, seating="repeated", luck=4.0), 250),
    ):
        off, stated, by_games = [], [], []
        for repeat in range(REPLICATIONS):
            estimate = estimate_of(league.games({4: deals}, np.random.default_rng([2, repeat])))
            off.append(estimate.elos)
            stated.append((estimate.ends()[1] - estimate.elos) / NORMAL_MARGIN)
            by_games.append(information_errors(estimate.fit.inverse))
        scattered = np.array(off) - np.mean(off, axis=0)
        held = np.abs(scattered) <= NORMAL_MARGIN * np.array(by_games)
        errors = [rms(values) for values in (scattered, np.array(stated), np.array(by_games))]
        print(f"{name:<44}{errors[0]:>8.1f}{errors[1]:>8.1f}{errors[2]:>10.1f}{held.mean():>8.1%}")


def information_errors(inverse: Floats) -> Floats:
    """Return the ratings' errors in Elo if all games were independent."""
    variances = np.diag(inverse) - 2 * inverse.mean(axis=1) + inverse.mean()
    errors: Floats = ELO_PER_LOGIT * np.sqrt(np.maximum(0.0, variances))
    return errors


def print_times() -> None:
    """Print how long the ratings of large leagues take, with all differences and checks."""
    print(f"\n{'CPU seconds':<44}{'best of 3':>10}{'worst':>8}")
    for name, league, deals in (
        ("4 seats, 8 bots, 200,000 games", League(spread(8, 150)), {4: 50_000}),
        ("4 seats, 50 bots, 100,000 games", LARGE_OF_FOUR, {4: 25_000}),
        ("2 seats, 100 bots, 1,000,000 games", LARGE_OF_TWO, {2: 500_000}),
        ("4 seats, 500 bots, 200,000 games", League(spread(500, 150)), {4: 50_000}),
    ):
        games = league.games(deals, np.random.default_rng(5))
        times = [seconds_to_rate(games) for _ in range(3)]
        print(f"{name:<44}{min(times):>10.2f}{max(times):>8.2f}")


def seconds_to_rate(games: Games) -> float:
    """Return how many CPU seconds the ratings of these games take."""
    started = time.process_time()
    estimate = estimate_of(games)
    rate(estimate)
    check_model(estimate)
    return time.process_time() - started


def main() -> None:
    """Print all tables; it takes a minute."""
    print_times()
    print_recovery()
    print_dependence()
