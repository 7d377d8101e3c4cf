"""Whether games fit the model of the ratings: first and last places, and the halves of the deals.

The model derives first and last places from all places. In games that reward a lead differently from a fair
place it expects too many, or too few, of them: the ratings still say who comes before whom, but not who
wins a table of four.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np

from happycity_tournament.ratings.columns import Floats, Games, TableColumns, unique_rows
from happycity_tournament.ratings.estimate import Estimate, deal_sums, holm, scores_of
from happycity_tournament.ratings.likelihood import game_scores
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

SIGNIFICANCE = 0.05
"""Deviations with a greater p-value, corrected for their number, are not pointed out."""
MOST_LINEUPS = 500
"""Lineups of which the moments of places are computed; more are drawn from evenly."""
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
    """Return all deviations that can be tested, first places first.

    Their errors are the larger ones of two: by deals, and those that the model itself expects, as few deals
    that happen to agree seem to have next to none. Where the model expects a place rarely, or nearly always,
    what chance does is skewed, so a p-value is that of a Pearson III distribution with the model's skewness.
    """
    found = [*_places(estimate), *_halves(estimate)]
    p_values = [probability for _, probability in found]
    fits = (holm(p_values) >= SIGNIFICANCE).tolist()
    return tuple(replace(one, fits=fit) for (one, _), fit in zip(found, fits, strict=True))


def check_lines(deviations: tuple[Deviation, ...]) -> list[str]:
    """Return what people should know, a sentence for each deviation that isn't chance."""
    return [one.sentence for one in deviations if not one.fits]


def _halves(estimate: Estimate) -> Iterator[tuple[Deviation, float]]:
    """Yield with p-values each bot's strength in both halves of its deals, one step from the fit."""
    games, half = estimate.games, estimate.deals // 2
    seen, totals, later, squares = np.zeros((4, len(games.bots)))
    for scores, played in deal_sums(games, scores_of(estimate.fit.strengths)):
        order = seen + np.cumsum(played, axis=0)
        seen = order[-1]
        totals += scores.sum(axis=0)
        later += (scores * (order > half)).sum(axis=0)
        squares += (scores**2).sum(axis=0)
    for number, bot in enumerate(games.bots):
        information = float(estimate.fit.information[number, number])
        if estimate.deals[number] < MIN_DEALS or information == 0:
            continue
        change = float(2 * later[number] - totals[number])
        value = ELO_PER_LOGIT * change / information
        z = change / math.sqrt(max(squares[number], information))  # the model's variance of a bot's scores
        yield Deviation("halves", bot, value, -value, z), 2 * upper_tail(abs(z), skewness=0.0)


def _places(estimate: Estimate) -> Iterator[tuple[Deviation, float]]:
    """Yield with p-values how often bots were first and last at tables of three and more."""
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
    variances, thirds = _moments(games, fit.strengths, changes)
    for kind, subject in enumerate(("first places", "last places")):
        for number in enough:
            variance = max(squares[kind, number], variances[kind, number])
            if variance > 0:
                total, expected = float(totals[kind, number]), float(kinds[kind][0][number])
                skewness = math.copysign(1, total) * thirds[kind, number] / variance**1.5
                # Places are counted one by one, or in parts of one.
                tail = upper_tail(max(0.0, abs(total) - 0.5) / math.sqrt(variance), skewness=skewness)
                actual, z = max(0.0, expected + total), total / math.sqrt(variance)
                yield Deviation(subject, games.bots[number], actual, expected, z), 2 * tail


def _moments(games: Games, strengths: Floats, changes: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the variances and the third moments, [kind, bot], of what `_places` sums, as the model has them.

    They are those of all orders in which a game can end. Of many lineups, some stand for the others.
    """
    count = len(strengths)
    variances, thirds = np.zeros((2, len(changes), count))
    for table in games.parts():
        lineups, which = unique_rows(np.sort(table.bots, axis=1))
        step = -(-len(lineups) // MOST_LINEUPS)
        times = np.bincount(which)[::step]
        weights = times * (len(which) / times.sum())
        orders = np.array(list(permutations(range(lineups.shape[1]))))
        places = 1 + np.argsort(orders, axis=1)  # [order, seat]
        for lineup, weight in zip(lineups[::step], weights, strict=True):
            values = np.exp(strengths[lineup] - strengths[lineup].max())[orders]
            left = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
            chances = weight * np.prod(values / left, axis=1)
            bots = np.broadcast_to(lineup, places.shape)
            scores = game_scores(TableColumns(bots, places, np.zeros(len(places), np.int64)), strengths)
            for kind, (place, change) in enumerate(zip((1, places.shape[1]), changes, strict=True)):
                taken = (places == place) - (chances @ (places == place)) / weight
                parts = -(scores @ change[lineup])
                for seat, bot in enumerate(lineup):
                    parts[:, bot] += taken[:, seat]
                variances[kind] += chances @ parts**2
                thirds[kind] += chances @ parts**3
    return variances, thirds


def upper_tail(z: float, *, skewness: float) -> float:
    """Return how likely a Pearson III variable of mean 0 and variance 1 is above `z`.

    By its cube root, which is nearly normal (Wilson and Hilferty 1931).
    """
    if abs(skewness) > 1e-6:
        root = math.cbrt(max(0.0, 1 + skewness * z / 2))
        z = (root - 1 + skewness**2 / 36) * 6 / skewness
    return math.erfc(z / math.sqrt(2)) / 2


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
