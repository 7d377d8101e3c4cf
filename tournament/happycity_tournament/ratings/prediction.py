"""What to expect of a table of given bots: who wins it, and which places they take, by Davidson-Luce."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from happycity_tournament.ratings.bounds import bounds_of
from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.final import elos_of
from happycity_tournament.ratings.fit import Fit
from happycity_tournament.ratings.statistics import MIN_DEALS, student_quantile
from happycity_tournament.ratings.upsets import few_upsets

_STEP = 1e-4  # logits, of numeric derivatives
_SURE = 1e-12  # a share nearer to 0 or 1 has no log-odds


@dataclass(frozen=True, slots=True)
class Expected:
    """A number with its 95% interval."""

    value: float
    low: float | None
    """Lower end; None where there is too little data."""
    high: float | None
    """Upper end."""

    def scaled(self, factor: float) -> Expected:
        """Return 1 + `factor` times the number."""
        low, high = (None if end is None else 1 + factor * end for end in (self.low, self.high))
        return Expected(1 + factor * self.value, low, high)


@dataclass(frozen=True, slots=True)
class BotPrediction:
    """What to expect of one bot."""

    bot: str
    elo: float
    """Its rating, without an anchor."""
    first: Expected
    """The probability of the first place, shared or not."""
    place: Expected
    """The mean place; 1 is best."""
    places: tuple[float, ...]
    """The probability of each place, from the first to the last."""


def predict(
    estimate: Fit,
    covariance: Floats,
    bots: Sequence[str],
    *,
    seated: bool = False,
    error_ratio: float = 1.0,
) -> list[BotPrediction]:
    """Return what to expect of a table of 2 to 5 different bots of one pool, in the order given.

    Args:
        estimate: the fit of the games that are known.
        covariance: of its parameters, in logits.
        bots: the bots at the table.
        seated: whether the bots have the seats in this order; else all orders are equally likely.
        error_ratio: how many times larger the errors of differences between bots are; infinite: not known.

    The intervals are made on the scale of log-odds, by the delta method.

    Raises:
        KeyError: there is no such bot.
        ValueError: bots are of different pools, or the same twice, or too few or many.
    """
    names = estimate.games.bots
    indexes = [names.index(bot) if bot in names else -1 for bot in bots]
    if -1 in indexes:
        raise KeyError(bots[indexes.index(-1)])
    if not 2 <= len(bots) <= 5 or len(set(indexes)) < len(indexes):
        raise ValueError("a table has 2 to 5 different bots")
    if len(set(estimate.groups.pools[indexes].tolist())) > 1:
        raise ValueError("the bots are of different pools")
    table = _Table(estimate, indexes, seated=seated)
    deals = min(estimate.deals_played[indexes].tolist())
    quantile = None
    known = covariance[np.ix_(table.columns, table.columns)]
    unknown = (estimate.groups.levels != 0) | few_upsets(estimate)
    if deals >= MIN_DEALS and not unknown[indexes].any() and error_ratio < math.inf:
        quantile = student_quantile(deals - 1)
        factors = np.ones(len(known))
        factors[: len(bots)] = error_ratio
        known = known * np.outer(factors, factors)
    shares, slopes, elos = table.shares(table.values), table.slopes(), elos_of(estimate)
    # The mean place is 1 + (n - 1) times a share, that of the opponents that are above.
    weights = np.arange(len(bots)) / (len(bots) - 1)
    predictions = []
    for row, (bot, index) in enumerate(zip(bots, indexes, strict=True)):
        place = _expected(float(shares[row] @ weights), slopes[:, row] @ weights, known, quantile)
        predictions.append(
            BotPrediction(
                bot=bot,
                elo=float(elos[index]),
                first=_expected(float(shares[row, 0]), slopes[:, row, 0], known, quantile),
                place=place.scaled(len(bots) - 1),
                places=tuple(shares[row].tolist()),
            )
        )
    return predictions


class _Table:
    """The probabilities of places at a table as a function of the parameters that they depend on."""

    def __init__(self, estimate: Fit, bots: Sequence[int], *, seated: bool) -> None:
        layout, points = estimate.layout, estimate.parameters.copy()
        points[layout.strengths] = bounds_of(estimate).points
        size, ties = len(bots), list(range(layout.ties.start, layout.ties.stop))
        seats = layout.seats(size) if size in layout.sizes else slice(0, 0)
        self.columns = [*bots, *range(seats.start, seats.stop), *ties]
        self.values: Floats = points[self.columns]
        self._size, self._orders, self._seated = size, layout.tie_orders, seated

    def shares(self, values: Floats) -> Floats:
        """Return the probability of each place, [bot, place], for values of the parameters."""
        first_tie = len(values) - len(self._orders)
        effects = values[self._size : first_tie].tolist() or [0.0] * self._size
        deltas = dict(zip(self._orders, values[first_tie:].tolist(), strict=True))
        return place_shares(values[: self._size].tolist(), effects, deltas, seated=self._seated)

    def slopes(self) -> Floats:
        """Return the derivatives of the probabilities, [parameter, bot, place]."""
        steps = _STEP * np.eye(len(self.values))
        return np.array(
            [
                (self.shares(self.values + step) - self.shares(self.values - step)) / (2 * _STEP)
                for step in steps
            ]
        )


def place_shares(
    strengths: Sequence[float], effects: Sequence[float], log_deltas: Mapping[int, float], *, seated: bool
) -> Floats:
    """Return the probability of each place, [bot, place], exactly.

    Args:
        strengths: theta by bot, in logits.
        effects: what each seat adds.
        log_deltas: by how many share a place.
        seated: whether the bots have the seats in their order; else it is the mean over all orders.
    """
    count = len(strengths)
    seatings = [tuple(range(count))] if seated or not any(effects) else list(permutations(range(count)))
    by_seating = np.array([[effects[seat] for seat in seats] for seats in seatings])
    logs = np.array(strengths) + by_seating
    logs -= logs.max(axis=1, keepdims=True)
    left = {frozenset(range(count)): np.ones(len(seatings))}
    shares = np.zeros((count, count))
    for remaining in _subsets(count):
        reached = left.get(remaining)
        if reached is None:
            continue
        sets = list(_next_sets(remaining, tuple(log_deltas)))
        weights = [
            np.exp(logs[:, list(chosen)].mean(axis=1) + (log_deltas[len(chosen)] if len(chosen) > 1 else 0.0))
            for chosen in sets
        ]
        total = sum(weights)
        for chosen, weight in zip(sets, weights, strict=True):
            chance = reached * weight / total
            shares[list(chosen), count - len(remaining)] += chance.mean()
            rest = remaining - set(chosen)
            left[rest] = left.get(rest, 0.0) + chance
    return shares


def _subsets(count: int) -> Iterator[frozenset[int]]:
    """Yield the sets of those who may be left, the larger ones first."""
    for size in range(count, 0, -1):
        yield from map(frozenset, combinations(range(count), size))


def _next_sets(remaining: frozenset[int], tie_orders: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the sets that may take the next place together."""
    for order in (1, *tie_orders):
        yield from combinations(sorted(remaining), order)


def _expected(share: float, slopes: Floats, covariance: Floats, quantile: float | None) -> Expected:
    """Return a share with its interval."""
    if quantile is None or not _SURE < share < 1 - _SURE:
        return Expected(share, None, None)
    odds = math.log(share / (1 - share))
    margin = quantile * math.sqrt(max(0.0, float(slopes @ covariance @ slopes))) / (share * (1 - share))
    return Expected(share, *(1 / (1 + math.exp(-end)) for end in (odds - margin, odds + margin)))
