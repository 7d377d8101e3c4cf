"""`make bench-ratings`: how exact, how honest and how fast the final ratings are.

All games are drawn between bots of known strength.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from benchmarks.leagues import League
from happycity_tournament.ratings.columns import Floats, Games, TableColumns
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.results import RatedBot, Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

Flags = NDArray[np.bool_]

REPLICATIONS = 400
TRUTH_DEALS = 60_000  # where luck bends the scale, a sample this large tells what is estimated
TIES = {2: 0.4, 3: 0.15, 4: 0.05, 5: 0.02}
NORMAL_MARGIN = 1.96


def spread(bots: int, deviation: float) -> list[float]:
    """Return strengths in Elo, evenly spread with this standard deviation and mean 0, in mixed order."""
    even = np.linspace(-1, 1, bots)
    values: list[float] = np.random.default_rng(bots).permutation(even * deviation / even.std()).tolist()
    return values


def elos(ratings: Ratings) -> Floats:
    """Return the ratings' distances from their mean."""
    values = np.array([line.elo for line in ratings.lines])
    distances: Floats = values - values.mean()
    return distances


def errors(ratings: Ratings) -> Floats:
    """Return the standard errors of these distances."""
    deviations: Floats = np.sqrt(np.diag(ratings.covariance))
    return deviations


def rms(values: Floats) -> float:
    """Return the root of the mean square."""
    return math.sqrt(float(np.mean(values**2)))


LARGE_OF_FOUR = League(spread(50, 150), seat_effects={4: [30, 10, -10, -30]}, deltas=TIES)
LARGE_OF_TWO = League(spread(100, 150), seat_effects={2: [20, -20]}, deltas=TIES)


@dataclass(frozen=True)
class Recovery:
    """A league whose strengths are to be found again."""

    name: str
    league: League
    deals: Mapping[int, int]
    leagues: int
    """How many times it is played."""


def recoveries() -> Iterator[Recovery]:
    """Yield leagues of every table size, with ties and seat effects, played equally and unequally often."""
    for seats in (2, 3, 4, 5):
        effects = {seats: np.linspace(30, -30, seats).tolist()}
        league = League(spread(20, 150), seat_effects=effects, deltas=TIES)
        yield Recovery(f"{seats} seats, 20 bots, 20,000 games", league, {seats: 20_000 // seats}, 20)
    mixed = League(spread(20, 150), seat_effects={2: [30, -30], 5: [40, 20, 0, -20, -40]}, deltas=TIES)
    yield Recovery("2 to 5 seats at once, 20,000 games", mixed, {n: 5_000 // n for n in (2, 3, 4, 5)}, 20)
    unequal = replace(mixed, weights=np.geomspace(1, 20, 20).tolist())
    yield Recovery("the same, some bots 20 times as often", unequal, {4: 5_000}, 20)
    strict = League(spread(50, 150), seating="single")
    yield Recovery("4 seats, 50 bots, 100,000 games, no ties", strict, {4: 100_000}, 5)
    yield Recovery("the same with ties and seat effects", LARGE_OF_FOUR, {4: 25_000}, 5)
    yield Recovery("2 seats, 100 bots, 1,000,000 games, ties", LARGE_OF_TWO, {2: 500_000}, 3)


def print_recovery() -> None:
    """Print how far estimates are from the known strengths, and how far their errors say they may be."""
    print(f"{'recovery of known strengths (Elo)':<44}{'RMSE':>8}{'stated':>8}{'ratio':>8}{'seats off':>11}")
    for number, recovery in enumerate(recoveries()):
        print(f"  {recovery.name} ...", end="\r", file=sys.stderr)
        off, stated, seats_off = [], [], [np.zeros(1)]
        for repeat in range(recovery.leagues):
            ratings = rate(recovery.league.games(recovery.deals, np.random.default_rng([1, number, repeat])))
            off.append(elos(ratings) - recovery.league.elos)
            stated.append(errors(ratings))
            for seats, effects in ratings.seat_effects.items():
                estimated = [effect.elo for effect in effects]
                seats_off.append(np.subtract(estimated, recovery.league.seat_effects.get(seats, 0)))
        error, said = rms(np.concatenate(off)), rms(np.concatenate(stated))
        print(f"{recovery.name:<44}{error:>8.2f}{said:>8.2f}{error / said:>8.2f}{_most(seats_off):>11.2f}")


def _most(arrays: list[Floats]) -> float:
    return rms(np.concatenate(arrays[1:])) if len(arrays) > 1 else 0.0


@dataclass(frozen=True)
class Design:
    """A small league whose intervals are checked."""

    name: str
    league: League
    seats: int
    deals: int


def designs() -> Iterator[Design]:
    """Yield leagues in which a deal's games are dependent in one way or another."""
    base = League(spread(8, 100), deltas=TIES)
    yield Design("independent games", replace(base, seating="single"), 4, 1000)
    yield Design("independent games, luck 1.5", replace(base, seating="single", luck=1.5), 4, 1000)
    for luck in (0.0, 1.5, 4.0):
        yield Design(f"rotated, luck {luck:g}", replace(base, luck=luck), 4, 250)
    yield Design("repeated without rotation, luck 4", replace(base, seating="repeated", luck=4.0), 4, 250)
    unequal = replace(base, luck=1.5, weights=np.geomspace(1, 10, 8).tolist())
    yield Design("rotated, luck 1.5, unequal games", unequal, 4, 250)
    yield Design("rotated, luck 1.5, 60 deals", replace(base, luck=1.5), 4, 60)
    yield Design("rotated, luck 1.5, 2 seats", replace(base, luck=1.5), 2, 500)
    yield Design("rotated, luck 1.5, 5 seats", replace(base, luck=1.5), 5, 200)


@dataclass(frozen=True)
class Replication:
    """What one replication gave, by bot, in Elo."""

    off: Floats
    error: Floats
    held: Flags
    """Which of the intervals held the truth."""
    differences_held: Flags
    """Which of the intervals of all differences did."""
    error_by_games: Floats
    """What the errors would be if games were independent."""
    pairs: Floats
    """Ratings from pairs of bots."""
    error_by_pairs: Floats
    """Their errors if pairs were independent."""
    gain: float


def print_coverage() -> None:
    """Print how often 95% intervals hold the truth, and if games or pairs are taken as independent."""
    print(
        f"\n{'95% intervals, 8 bots (Elo)':<36}{'SD':>6}{'error':>7}{'holds':>7}{'diffs':>7}"
        f"{'by games':>10}{'holds':>7}{'by pairs holds':>16}{'gain':>6}"
    )
    for number, design in enumerate(designs()):
        print(f"  {design.name} ...", end="\r", file=sys.stderr)
        truth = expected(design)
        played = [
            replication(design, truth, np.random.default_rng([2, number, repeat]))
            for repeat in range(REPLICATIONS)
        ]
        off = np.array([one.off for one in played])
        by_games = np.array([one.error_by_games for one in played])
        pairs = np.array([one.pairs for one in played])
        by_pairs = np.array([one.error_by_pairs for one in played])
        error = rms(np.array([one.error for one in played]))
        print(
            f"{design.name:<36}{rms(off - off.mean(axis=0)):>6.1f}{error:>7.1f}"
            f"{np.mean([one.held for one in played]):>7.1%}"
            f"{np.mean([one.differences_held for one in played]):>7.1%}"
            f"{rms(by_games):>10.1f}{np.mean(np.abs(off) <= NORMAL_MARGIN * by_games):>7.1%}"
            f"{np.mean(np.abs(pairs - pairs.mean(axis=0)) <= NORMAL_MARGIN * by_pairs):>16.1%}"
            f"{np.mean([one.gain for one in played]):>6.2f}"
        )


def expected(design: Design) -> Floats:
    """Return what is estimated: with luck, which bends the scale, it is what very many games tend to."""
    if design.league.luck == 0:
        return np.array(design.league.elos)
    return elos(rate(design.league.games({design.seats: TRUTH_DEALS}, np.random.default_rng(3))))


def replication(design: Design, truth: Floats, rng: np.random.Generator) -> Replication:
    """Play the design once."""
    games = design.league.games({design.seats: design.deals}, rng)
    ratings = rate(games)
    off = elos(ratings) - truth
    by_pairs = fit(as_pairs(games, rng))
    gain = ratings.duplicate_gains[design.seats]
    return Replication(
        off=off,
        error=errors(ratings),
        held=np.abs(off) <= np.array([half_width(line) for line in ratings.lines]),
        differences_held=np.array(
            [difference_held(ratings, pair, truth) for pair in combinations(range(len(truth)), 2)]
        ),
        error_by_games=information_errors(fit(games)),
        pairs=ELO_PER_LOGIT * by_pairs.parameters[by_pairs.layout.strengths],
        error_by_pairs=information_errors(by_pairs),
        gain=math.nan if gain is None else gain.gain,
    )


def half_width(line: RatedBot) -> float:
    """Return half the width of a bot's interval; not a number if there is none."""
    return math.nan if line.high is None else line.high - line.elo


def difference_held(ratings: Ratings, pair: tuple[int, int], truth: Floats) -> bool:
    """Tell whether the 95% interval of a difference holds the true one."""
    left, right = pair
    difference = ratings.difference(ratings.lines[left].bot, ratings.lines[right].bot)
    assert difference is not None
    return bool(abs(difference.elo - truth[left] + truth[right]) <= NORMAL_MARGIN * difference.error)


def information_errors(estimate: Fit) -> Floats:
    """Return the ratings' errors in Elo as if all games were independent, from the information alone."""
    variances = np.diag(estimate.inverse)[estimate.layout.strengths]
    return ELO_PER_LOGIT * np.sqrt(variances)


def with_ties_broken(games: Games, rng: np.random.Generator) -> Games:
    """Break ties by lot."""
    tables = {}
    for seats, table in games.tables.items():
        places = np.argsort(np.argsort(table.places + rng.random(table.places.shape), axis=1), axis=1)
        tables[seats] = TableColumns(table.bots, places, table.deals)
    return Games(games.bots, tables)


def as_pairs(games: Games, rng: np.random.Generator) -> Games:
    """Take each game as an independent game between every two of its bots, a tie as half a win (by lot)."""
    bots, places = [], []
    for seats, table in games.tables.items():
        for pair in combinations(range(seats), 2):
            bots.append(table.bots[:, pair])
            places.append(table.places[:, pair] + rng.random((len(table.places), 2)))
    played = np.argsort(np.concatenate(places), axis=1)
    count = len(played)
    return Games(games.bots, {2: TableColumns(np.concatenate(bots), played, np.arange(count))})


def print_scale() -> None:
    """Print how other models stretch the scale: the slope of their ratings over the true strengths."""
    print(f"\n{'slope over the true strengths':<36}{'ours':>8}{'half wins':>11}{'by lot':>8}")
    rng = np.random.default_rng(4)
    for seats, delta in product((2, 4), (0.2, 0.5, 1.0)):
        league = League(spread(20, 150), deltas={order: delta / (order - 1) for order in range(2, seats + 1)})
        games = league.games({seats: 200_000 // seats}, rng)
        sharing = np.diff(np.sort(games.tables[seats].places, axis=1), axis=1) == 0
        models = (games, as_pairs(games, rng), with_ties_broken(games, rng))
        ours, half_wins, by_lot = (slope(rate(each), league) for each in models)
        name = f"{seats} seats, {sharing.any(axis=1).mean():.0%} of games with ties"
        print(f"{name:<36}{ours:>8.3f}{half_wins:>11.3f}{by_lot:>8.3f}")


def slope(ratings: Ratings, league: League) -> float:
    """Return by how much a rating rises where the true strength rises by one point."""
    return float(np.polyfit(league.elos, elos(ratings), 1)[0])


def print_times() -> None:
    """Print how long the final ratings of large leagues take, errors and duplicate gain included."""
    print(f"\n{'time (s), errors included':<44}{'best of 3':>10}{'worst':>8}")
    for name, league, deals in (
        ("4 seats, 50 bots, 100,000 games", LARGE_OF_FOUR, {4: 25_000}),
        ("2 seats, 100 bots, 1,000,000 games", LARGE_OF_TWO, {2: 500_000}),
    ):
        games = league.games(deals, np.random.default_rng(5))
        times = [seconds_to_rate(games) for _ in range(3)]
        print(f"{name:<44}{min(times):>10.2f}{max(times):>8.2f}")


def seconds_to_rate(games: Games) -> float:
    """Return how long the final ratings of these games take."""
    started = time.perf_counter()
    rate(games)
    return time.perf_counter() - started


def main() -> None:
    """Print all tables; it takes some minutes."""
    print_times()
    print_recovery()
    print_coverage()
    print_scale()


if __name__ == "__main__":
    main()
