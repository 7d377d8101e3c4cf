"""`python -m benchmarks.coverage`: whether intervals hold where games are few, alike, dependent or stopped.

The games are drawn between bots of known strength, deal by deal. An interval with one end holds if the
strength is on its side; ratings without an interval are counted apart. `benchmarks.schedules` does the same
where results choose the games.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np

from benchmarks.leagues import League
from happycity_tournament.ratings.checks.model_checks import check_model
from happycity_tournament.ratings.columns import Floats, Games, TableColumns
from happycity_tournament.ratings.final import rate_fit
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.upsets import counted_in_mean
from happycity_tournament.schedule.until_error import FIRST_LOOK, errors_of, next_look

Change = Callable[[TableColumns, np.random.Generator], TableColumns]

TRUTH_DEALS = 40_000
"""Where games are changed after they were drawn, a sample this large says what is estimated."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """Bots, and the games that they play."""

    name: str
    elos: Sequence[float]
    seats: int
    deals: int
    """With `until_error`, the maximum."""
    deltas: Mapping[int, float] = field(default_factory=dict)
    change: Change | None = None
    until_error: float | None = None

    @property
    def league(self) -> League:
        """The bots."""
        return League(self.elos, deltas=self.deltas)

    def games(self, rng: np.random.Generator) -> Games:
        """Play the design once."""
        games = self.league.games({self.seats: self.deals}, rng)
        if self.change is not None:
            games = Games(games.bots, {self.seats: self.change(games.tables[self.seats], rng)})
        return games if self.until_error is None else self._ended(games, self.until_error)

    def truth(self) -> Floats:
        """Return the strengths that are estimated, in Elo."""
        if self.change is None:
            return np.array(self.elos)
        large = replace(self, deals=TRUTH_DEALS).games(np.random.default_rng(0))
        return np.array([line.elo for line in rate_fit(fit(large)).lines])

    def _ended(self, games: Games, error: float) -> Games:
        """Return the games until all errors are small enough, looked at as the schedule does."""
        table, tables = games.tables[self.seats], len(self.elos) // self.seats
        look = FIRST_LOOK
        while True:
            first = Games(games.bots, {self.seats: table[: look * tables * self.seats]})
            excess = max(errors_of(fit(first)).values()) / error
            if excess <= 1 or look * tables >= self.deals:
                return first
            look = next_look(look, excess)


def even_deals(share: float) -> Change:
    """Return what makes all games ties but those of a share of the deals, which stay as they are."""

    def change(table: TableColumns, rng: np.random.Generator) -> TableColumns:
        even = rng.random(int(table.deals.max()) + 1)[table.deals] >= share
        return replace(table, places=np.where(even[:, None], 1, table.places))

    return change


def bursts(*, length: int, share: float, any_began: bool = False) -> Change:
    """Return what makes the first bot lose all games of so many consecutive deals, a share of all deals.

    With `any_began` a tournament without such a deal is drawn again.
    """

    def change(table: TableColumns, rng: np.random.Generator) -> TableColumns:
        deals = int(table.deals.max()) + 1
        begins = np.zeros(deals + length, dtype=bool)
        while not begins.any():
            begins = rng.random(deals + length) < -math.log(1 - share) / length
            if not any_began:
                break
        lost = np.array(list(accumulate(begins.astype(int))))
        crashed = (lost[length:] - lost[:-length] > 0)[table.deals]
        first = (table.bots == 0) & crashed[:, None]
        return replace(table, places=np.where(first, table.places.shape[1] + 1, table.places))

    return change


def _even(reach: float, *, bots: int) -> list[float]:
    strengths: list[float] = np.linspace(0, reach, bots).tolist()
    return strengths


def designs() -> list[Design]:
    """Return all that is measured."""
    made = [
        Design(name="2 bots, 10 deals", elos=(0, 0), seats=2, deals=10),
        Design(name="2 bots 400 apart, 20 deals", elos=(0, 400), seats=2, deals=20),
        Design(name="4 bots, 10 deals", elos=(0, 100, 200, 300), seats=4, deals=10),
        Design(name="8 bots, range 1500, 60 deals", elos=_even(1500, bots=8), seats=4, deals=60),
        Design(name="8 bots, range 3000, 250 deals", elos=_even(3000, bots=8), seats=4, deals=250),
        Design(name="30% ties, 250 deals", elos=_even(300, bots=8), seats=2, deals=250, deltas={2: 1.0}),
        Design(
            name="most games with ties, 60 deals",
            elos=_even(300, bots=8),
            seats=4,
            deals=60,
            deltas={2: 0.5, 3: 0.3, 4: 0.2},
        ),
    ]
    made += [
        Design(
            name=f"twins: {share:.0%} of {deals} deals not even",
            elos=(0, 0),
            seats=2,
            deals=deals,
            change=even_deals(share),
        )
        for share, deals in ((0.03, 60), (0.02, 100), (0.05, 60), (0.2, 60))
    ]
    middle = np.linspace(-100, 100, 6).tolist()
    for deals in (20, 60, 250):
        for reach in (600, 1500):
            elos = (*middle, reach, -reach)
            made.append(
                Design(name=f"perfect scores: ±{reach}, {deals} deals", elos=elos, seats=4, deals=deals)
            )
    for seats in (2, 4):
        for name, change in (
            ("10% of 100 deals, by tens", bursts(length=10, share=0.1)),
            ("of these tournaments, those in which one began", bursts(length=10, share=0.1, any_began=True)),
            ("of these tournaments, those in which none began", None),
        ):
            elos = (0, 0, 0, 0)
            made.append(Design(name=f"bursts: {name}", elos=elos, seats=seats, deals=100, change=change))
    for seats, bots, error in ((2, 2, 60.0), (2, 8, 60.0), (4, 8, 60.0), (4, 8, 20.0), (3, 5, 50.0)):
        for reach in (0, 400):
            made.append(
                Design(
                    name=f"until ±{error:g}: {bots} bots, range {reach}",
                    elos=_even(reach, bots=bots),
                    seats=seats,
                    deals=4000,
                    until_error=error,
                )
            )
    return made


@dataclass(frozen=True)
class Held:
    """How the statements of one replication compare with the truth."""

    ratings: Floats
    """By bot, whether the interval holds: 1, 0, or not a number without one."""
    differences: Floats
    """By pair, the same."""
    flagged: bool
    """Whether a check of the model fails."""
    deals: int


def held(estimate: Fit, truth: Floats) -> Held:
    """Compare the ratings of an estimate with the truth."""
    ratings, counted = rate_fit(estimate), counted_in_mean(estimate)
    lines, compared = ratings.lines, ratings.comparisons
    lows, highs = (
        np.array([math.nan if end is None else end for end in ends])
        for ends in ([line.low for line in lines], [line.high for line in lines])
    )
    distances = 1500 + truth - truth[counted].mean()
    known = ~np.isnan(lows) | ~np.isnan(highs)
    inside = ~(distances < lows) & ~(distances > highs)
    pairs = np.triu_indices(len(truth), 1)
    true, low, high = (truth[:, None] - truth)[pairs], compared.lows[pairs], compared.highs[pairs]
    return Held(
        np.where(known, inside, math.nan),
        np.where(np.isnan(low), math.nan, (low <= true) & (true <= high)),
        flagged=any(check.failed for check in check_model(estimate, ratings.bursts, ("games",))),
        deals=estimate.games.deals,
    )


def measure(design: Design, *, replications: int, seed: int) -> list[Held]:
    """Play a design so often."""
    rng, truth = np.random.default_rng(seed), design.truth()
    return [held(fit(design.games(rng)), truth) for _ in range(replications)]


def row(results: Sequence[Held]) -> str:
    """Return a design's numbers: what holds of all intervals, and of the bot whose intervals hold least."""
    by_bot = np.array([one.ratings for one in results])
    differences = np.array([one.differences for one in results])
    with np.errstate(invalid="ignore"):
        worst = np.nanmin(np.nansum(by_bot, axis=0) / np.sum(~np.isnan(by_bot), axis=0))
    return (
        f"{np.nanmean(by_bot):>9.1%}{worst:>8.1%}{np.nanmean(differences):>8.1%}"
        f"{np.mean(np.isnan(by_bot)):>8.1%}{np.mean([one.flagged for one in results]):>8.1%}"
        f"{np.mean([one.deals for one in results]):>8.0f}"
    )


def main() -> None:
    """Print a row for each design whose name holds a text."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--replications", type=int, default=300, help="of each design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="text that the names of the designs hold")
    options = parser.parse_args()
    print(f"{'design':<66}{'ratings':>9}{'worst':>8}{'diffs':>8}{'none':>8}{'flagged':>8}{'deals':>8}")
    for design in designs():
        if options.only in design.name:
            results = measure(design, replications=options.replications, seed=options.seed)
            print(f"{design.name + f', {design.seats} seats':<66}{row(results)}", flush=True)


if __name__ == "__main__":
    main()
