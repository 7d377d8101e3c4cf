"""Whether games fit the model of the ratings: first and last places, and the halves of the deals.

The model derives first and last places from all places. In games that reward a lead differently from a fair
place it expects too many, or too few, of them: the ratings still say who comes before whom, but not who
wins a table of four.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from happycity_tournament.ratings.columns import Floats, Games, TableColumns, unique_rows
from happycity_tournament.ratings.estimate import Estimate, deal_sums, holm, scores_of
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

SIGNIFICANCE = 0.05
"""Deviations with a greater p-value, corrected for their number, are not pointed out."""
MIN_DEALS = 10
"""Deals of a bot below which its deviations don't tell anything."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far a bot's games are from what the model says."""

    subject: str
    """`first places`, `last places` or `halves`."""
    bot: str
    actual: float
    """How many of these places the bot took, shared ones in parts; of halves: the Elo in the second one."""
    expected: float
    """How many the model expects; of halves: the Elo in the first one."""
    z: float
    """The difference in standard errors, by deals."""
    fits: bool = True
    """Whether the difference may be chance, all deviations together with 95%."""

    @property
    def sentence(self) -> str:
        """What the deviation says."""
        if self.subject == "halves":
            how = "stronger" if self.actual > self.expected else "weaker"
            change = f"{abs(self.actual - self.expected):.0f} Elo {how}"
            return f"{self.bot} was {change} in the second half of its deals than in the first"
        counts = f"{self.actual:.0f} of {self.expected:.0f} expected"
        return f"{self.subject} don't fit the model for {self.bot}: {counts}"


def check_model(estimate: Estimate) -> tuple[Deviation, ...]:
    """Return all deviations that can be tested, first places first."""
    found = [*_places(estimate), *_halves(estimate)]
    p_values = [math.erfc(abs(one.z) / math.sqrt(2)) for one in found]
    fits = (holm(p_values) >= SIGNIFICANCE).tolist()
    return tuple(replace(one, fits=fit) for one, fit in zip(found, fits, strict=True))


def check_lines(deviations: tuple[Deviation, ...]) -> list[str]:
    """Return what people should know, a sentence for each deviation that isn't chance."""
    return [one.sentence for one in deviations if not one.fits]


def _halves(estimate: Estimate) -> Iterator[Deviation]:
    """Yield each bot's strength in the second and the first half of its deals, one step from the fit."""
    games, half = estimate.games, estimate.deals // 2
    seen, totals, later, squares = np.zeros((4, len(games.bots)))
    for scores, played in deal_sums(games, scores_of(estimate.fit.strengths)):
        order = seen + np.cumsum(played, axis=0)
        seen = order[-1]
        totals += scores.sum(axis=0)
        later += (scores * (order > half)).sum(axis=0)
        squares += (scores**2).sum(axis=0)
    for number, bot in enumerate(games.bots):
        error, information = math.sqrt(squares[number]), float(estimate.fit.information[number, number])
        if estimate.deals[number] < MIN_DEALS or error == 0 or information == 0:
            continue
        change = float(2 * later[number] - totals[number])
        value = ELO_PER_LOGIT * change / information
        yield Deviation("halves", bot, value, -value, change / error)


def _places(estimate: Estimate) -> Iterator[Deviation]:
    """Yield how often bots were first and last at tables of three and more, with what is expected."""
    games, fit = estimate.games, estimate.fit
    games = Games(games.bots, {seats: table for seats, table in games.tables.items() if seats >= 3})
    enough = np.flatnonzero(estimate.deals >= MIN_DEALS).tolist()
    kinds = [
        _off_by(games, fit.strengths, _first, best=True),
        _off_by(games, fit.strengths, _last, best=False),
    ]
    # What is off changes the strengths, and they change what is expected.
    changes = [fit.inverse @ slopes.T for _, slopes, _ in kinds]
    squares, totals = np.zeros((2, 2, len(games.bots)))
    by_kind = (deal_sums(games, off) for _, _, off in kinds)
    for (own, _), *parts in zip(deal_sums(games, scores_of(fit.strengths)), *by_kind, strict=True):
        for kind, (sums, _) in enumerate(parts):
            squares[kind] += ((sums - own @ changes[kind]) ** 2).sum(axis=0)
            totals[kind] += sums.sum(axis=0)
    for kind, subject in enumerate(("first places", "last places")):
        for number in enough:
            if squares[kind, number] > 0:
                z = float(totals[kind, number] / np.sqrt(squares[kind, number]))
                expected = float(kinds[kind][0][number])
                actual = max(0.0, expected + float(totals[kind, number]))
                yield Deviation(subject, games.bots[number], actual, expected, z)


_Chances = tuple[Floats, Floats]
"""[lineup, seat]: how likely a place is; [lineup, seat, seat]: its slope by the strength in each seat."""


def _off_by(
    games: Games, strengths: Floats, chances_of: Callable[[Floats], _Chances], *, best: bool
) -> tuple[Floats, Floats, Callable[[TableColumns], Floats]]:
    """Return how many of these places are expected, [bot], with slopes, and by how much games are off."""
    count = len(strengths)
    expected, slopes = np.zeros(count), np.zeros((count, count))
    for table in games.parts():
        lineups, which = unique_rows(np.sort(table.bots, axis=1))
        times = np.bincount(which)
        chances, by_seat = chances_of(strengths[lineups])
        expected += np.bincount(lineups.ravel(), (chances * times[:, None]).ravel(), count)
        cells = lineups[:, :, None] * count + lineups[:, None, :]
        weighted = by_seat * times[:, None, None]
        slopes += np.bincount(cells.ravel(), weighted.ravel(), count * count).reshape(count, count)

    def off(table: TableColumns) -> Floats:
        order = np.argsort(table.bots, axis=1, kind="stable")
        lineups, which = unique_rows(np.take_along_axis(table.bots, order, axis=1))
        values = np.empty(table.bots.shape)
        np.put_along_axis(values, order, chances_of(strengths[lineups])[0][which], axis=1)
        places = table.places if best else -table.places
        taken = places == places.min(axis=1, keepdims=True)
        differences: Floats = taken / taken.sum(axis=1, keepdims=True) - values
        return differences

    return expected, slopes, off


def _first(strengths: Floats) -> _Chances:
    values = np.exp(strengths - strengths.max(axis=1, keepdims=True))
    chances = values / values.sum(axis=1, keepdims=True)
    slopes = chances[:, :, None] * (np.eye(chances.shape[1]) - chances[:, None, :])
    return chances, slopes


def _last(strengths: Floats) -> _Chances:
    """Return the chances of being last: of exponential times with these rates, the longest (Luce 1959).

    It is the sum over sets S of the others of (-1)^|S| times the chance to come before all of S.
    """
    values = np.exp(strengths - strengths.max(axis=1, keepdims=True))
    seats = values.shape[1]
    chances, slopes = np.zeros_like(values), np.zeros((*values.shape, seats))
    for seat in range(seats):
        others = [other for other in range(seats) if other != seat]
        for size in range(seats):
            for some in combinations(others, size):
                group = [seat, *some]
                share = values[:, group] / values[:, group].sum(axis=1, keepdims=True)
                before = (-1) ** size * share[:, 0]
                chances[:, seat] += before
                slopes[:, seat, seat] += before
                slopes[:, seat, group] -= before[:, None] * share
    return chances, slopes
