"""Measure how often 95% intervals hold, of printed ratings and of differences.

Tournaments are played between bots of known strength, most by drawing deals, some by their own schedule. A
rating is read as its distance from the mean of all bots. Where games are not drawn from the model of the
ratings, with luck or another noise, the truth is what very many games tend to.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from happycity import Config
from happycity_tournament.config import MEAN_ELO, Format, Gauntlet, Swiss, TournamentConfig
from happycity_tournament.ratings.columns import Flags, Floats, Games
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.schedule.replays import swiss_error_factor
from happycity_tournament.schedule.until_error import FIRST_LOOK, errors_of, next_look
from tools.benchmarks.models import League, played


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
    width: float
    """The mean of half the intervals of the ratings."""
    missing: int
    """Bots without an interval."""


def replication(design: Design, truth: Floats, rng: np.random.Generator) -> Replication:
    """Play a design once."""
    estimate = estimate_of(design.games(rng))
    tournaments = [] if design.config is None else [(design.config, design.league.bots)]
    ratings = rate(estimate, error_factor=swiss_error_factor(tournaments, estimate))
    true = dict(zip(design.league.bots, truth.tolist(), strict=True))
    lines = sorted(ratings.lines, key=lambda line: line.bot)
    known = [
        (line.low <= MEAN_ELO + true[line.bot] <= line.high, (line.high - line.low) / 2)
        for line in lines
        if line.low is not None and line.high is not None
    ]
    return Replication(
        np.array([held for held, _ in known]),
        np.array(
            [
                low <= true[bot] - true[other] <= high
                for (bot, other), (_, low, high, _) in ratings.differences.items()
                if bot < other
            ]
        ),
        float(np.mean([half for _, half in known])),
        len(lines) - len(known),
    )


def measure(design: Design, *, replications: int, seed: int) -> list[Replication]:
    """Play a design this many times."""
    rng, truth = np.random.default_rng(seed), design.league.truth(design.seats)
    return [replication(design, truth, rng) for _ in range(replications)]


def row(results: Sequence[Replication]) -> str:
    """Return a design's numbers: what holds of all intervals, and of the bot whose intervals hold least."""
    ratings = np.concatenate([one.ratings for one in results])
    differences = np.concatenate([one.differences for one in results])
    complete = [one.ratings for one in results if not one.missing]
    worst = np.mean(complete, axis=0).min() if complete else np.nan
    return (
        f"{ratings.mean():>9.1%}{worst:>8.1%}{differences.mean():>8.1%}"
        f"{np.mean([one.width for one in results]):>8.0f}{sum(one.missing for one in results):>6}"
    )


def main() -> None:
    """Print a row for each design whose name holds a text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=200, help="of each design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="text that the names of the designs hold")
    options = parser.parse_args()
    print(f"{'design':<58}{'ratings':>9}{'worst':>8}{'diffs':>8}{'±Elo':>8}{'none':>6}")
    for design in designs():
        name = f"{design.seats} seats, {design.name}"
        if options.only in name:
            results = measure(design, replications=options.replications, seed=options.seed)
            print(f"{name:<58}{row(results)}", flush=True)
