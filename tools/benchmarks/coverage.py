"""Measure how often 95% intervals hold, of printed ratings and of differences.

Tournaments are played between bots of known strength, most by drawing deals, some by their own schedule. A
rating is read as its distance from the mean that the ratings have, and an interval with one end holds all
numbers beyond it. Where games are not drawn from the model of the ratings, with luck or another noise, the
truth is what very many games tend to. "<" marks a share whose own 95% interval lies below 95%, and ">" one
above 98%.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from happycity import Config
from happycity_tournament.config import MEAN_ELO, Format, Gauntlet, Swiss, TournamentConfig
from happycity_tournament.ratings.columns import Flags, Floats, Games, Ints
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.results import Difference
from happycity_tournament.schedule.until_error import FIRST_LOOK, errors_of, next_look
from tools.benchmarks.models import League, played

NOMINAL, WIDE = 0.95, 0.98
"""The share of intervals that should hold, and from which on they are called too wide."""
NORMAL_MARGIN = 1.96


@dataclass(frozen=True, kw_only=True)
class Design:
    """Bots, and the games that they play."""

    name: str
    league: League
    seats: int
    deals: int = 0
    """Drawn deals, unless there is a format; with `until_error` the maximum."""
    until_error: float | None = None
    format: Format | None = None

    @property
    def config(self) -> TournamentConfig | None:
        """The tournament; None where deals are drawn."""
        if self.format is None:
            return None
        game = Config(players=self.seats)
        return TournamentConfig(bots=self.league.bots, game=game, format=self.format, seed=1)

    def games(self, rng: np.random.Generator) -> Games:
        """Play the design once."""
        if self.config is None:
            games = self.league.games({self.seats: self.deals}, rng)
            return games if self.until_error is None else self._ended(games, self.until_error)
        return played(replace(self.config, seed=int(rng.integers(2**53))), self.league, rng)

    def _ended(self, games: Games, error: float) -> Games:
        """Return the games until all errors are small enough, looked at as the schedule does."""
        tables, look = len(self.league.elos) // self.seats, FIRST_LOOK
        while True:
            first = games.between({}, {self.seats: look * tables * self.seats})
            excess = max(errors_of(estimate_of(first)).values()) / error
            if excess <= 1 or look * tables >= self.deals:
                return first
            look = next_look(look, excess)


def spread(reach: float, bots: int = 8) -> list[float]:
    """Return strengths from 0 to `reach` Elo, evenly spread."""
    elos: list[float] = np.linspace(0, reach, bots).tolist()
    return elos


def far_apart() -> Iterator[Design]:
    """Yield fields in which bots are so far apart that some win or lose everything."""
    default = [-1161.0, -263.0, 0.0, 166.0]  # random, greedy, planner and champion by docs/bots.md
    for seats, few, many in ((2, 60, 200), (4, 30, 120)):
        for deals in (few, many):
            for reach in (800, 1200, 1600, 2000, 2500):
                best = [*spread(200, 7), 100 + reach]
                for name, elos in (("range", spread(reach)), ("the best above seven by", best)):
                    yield Design(
                        name=f"far apart, 8 bots, {deals} deals, {name} {reach}",
                        league=League(elos),
                        seats=seats,
                        deals=deals,
                    )
            name = f"far apart, random, greedy, planner, champion, {deals} deals"
            yield Design(name=name, league=League(default), seats=seats, deals=deals)
    for deals in (20, 100):
        for reach in (800, 1200, 1600):
            name = f"far apart, 2 bots, {deals} deals, range {reach}"
            yield Design(name=name, league=League([0, reach]), seats=2, deals=deals)


def designs() -> Iterator[Design]:
    """Yield all that is measured."""
    for seats, few, many in ((2, 96, 400), (4, 60, 250)):
        for reach in (0, 400, 1200):
            for deals in (few, many):
                name = f"{deals} deals, range {reach}"
                yield Design(name=name, league=League(spread(reach)), seats=seats, deals=deals)
            for name, league in (
                ("card luck", League(spread(reach), luck=1.5)),
                ("normal noise", League(spread(reach), noise="normal")),
                ("luck, noise, ties", League(spread(reach), luck=1.0, noise="normal", step=0.5)),
                ("luck, seat effects", League(spread(reach), luck=1.0, seat_effects=(40, 0, 0, -40)[:seats])),
            ):
                yield Design(
                    name=f"{many} deals, {name}, range {reach}", league=league, seats=seats, deals=many
                )
    for deals in (2, 10, 20, 100):
        yield Design(name=f"2 bots, {deals} deals", league=League([0, 0]), seats=2, deals=deals)
    for apart in (400, 800):
        league = League([0, apart])
        yield Design(name=f"2 bots {apart} apart, 100 deals", league=league, seats=2, deals=100)
    yield Design(name="16 bots, 5 deals each", league=League(spread(400, 16)), seats=4, deals=20)
    for reach in (0, 400, 1200):
        for seats in (2, 4):
            chosen = Gauntlet(challengers=("bot-3",), cycles=12)
            league = League(spread(reach), luck=1.0)
            yield Design(name=f"gauntlet, range {reach}", league=league, seats=seats, format=chosen)
            swiss = League(spread(reach, 16), luck=1.0)
            yield Design(
                name=f"swiss, 16 bots, 12 rounds, range {reach}",
                league=swiss,
                seats=seats,
                format=Swiss(rounds=12),
            )
    for seats, bots, error in ((2, 2, 60.0), (2, 8, 60.0), (4, 8, 20.0)):
        name, league = f"until ±{error:g}, {bots} bots, range 400", League(spread(400, bots))
        yield Design(name=name, league=league, seats=seats, deals=4000, until_error=error)


@dataclass(frozen=True)
class Replication:
    """How the statements of one replication compare with the truth."""

    ratings: Flags
    """By bot, whether the interval holds."""
    differences: Flags
    """By pair, the same."""
    above_next: Flags
    """By bot that has a next one, the same."""
    ends: Ints
    """By bot, how many ends its interval has."""
    width: float
    """The mean of half the intervals of the ratings that have two ends."""


def replication(design: Design, truth: Floats, rng: np.random.Generator) -> Replication:
    """Play a design once."""
    estimate = estimate_of(design.games(rng))
    ratings = rate(estimate)
    true = dict(zip(design.league.bots, (truth - truth[estimate.in_mean].mean()).tolist(), strict=True))
    lines = sorted(ratings.lines, key=lambda line: line.bot)
    margins = [line.margin for line in lines if line.margin is not None]

    def held(pairs: Iterable[tuple[tuple[str, str], Difference]]) -> Flags:
        return np.array([known.contains(true[bot] - true[other]) for (bot, other), known in pairs], bool)

    return Replication(
        np.array([line.contains(MEAN_ELO + true[line.bot]) for line in lines]),
        held((pair, known) for pair, known in ratings.differences.items() if pair[0] < pair[1]),
        held(
            ((line.bot, other.bot), above)
            for line, other, above in ratings.to_next()
            if other is not None and above is not None
        ),
        np.array([2 - (line.low, line.high).count(None) for line in lines]),
        float(np.mean(margins)) if margins else np.nan,
    )


def measure(design: Design, *, replications: int, seed: int) -> list[Replication]:
    """Play a design this many times."""
    rng, truth = np.random.default_rng(seed), design.league.truth(design.seats)
    return [replication(design, truth, rng) for _ in range(replications)]


def share(held: Sequence[Flags]) -> str:
    """Return the share of intervals that hold, and whether it is too small or large.

    Its error is that of the shares of replications, which are independent.
    """
    counted = [one for one in held if len(one)]
    if not counted:
        return f"{'-':>8} "
    mean = float(np.mean(np.concatenate(counted)))
    off = np.array([one.sum() - mean * len(one) for one in counted])
    error = float(np.sqrt((off**2).sum())) / sum(map(len, counted))
    mark = "<" if mean + NORMAL_MARGIN * error < NOMINAL else ">" if mean > WIDE else " "
    return f"{mean:>8.1%}{mark}"


def row(results: Sequence[Replication]) -> str:
    """Return a design's numbers: what holds of all intervals, and of the bot whose intervals hold least."""
    by_bot = np.array([one.ratings for one in results])
    worst = int(by_bot.mean(axis=0).argmin())
    ends = np.array([one.ends for one in results])
    widths = [one.width for one in results]
    return (
        share([one.ratings for one in results])
        + share(list(by_bot[:, [worst]]))
        + share([one.differences for one in results])
        + share([one.above_next for one in results])
        + f"{(ends == 1).mean():>8.1%}{(ends == 0).mean():>8.1%}"
        + (f"{np.nanmean(widths):>8.0f}" if not np.isnan(widths).all() else f"{'-':>8}")
    )


def main() -> None:
    """Print a row for each design that is chosen by its name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200, help="of each design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression that names of designs match")
    options = parser.parse_args()
    headings = ("ratings", "worst", "diffs", "next")
    print(f"{'design':<64}{''.join(f'{one:>8} ' for one in headings)}{'one end':>8}{'none':>8}{'±Elo':>8}")
    for design in (*far_apart(), *designs()):
        name = f"{design.seats} seats, {design.name}"
        if re.search(options.only, name):
            results = measure(design, replications=options.replications, seed=options.seed)
            print(f"{name:<64}{row(results)}", flush=True)
