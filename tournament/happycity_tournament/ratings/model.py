"""The Davidson-Luce model: Plackett-Luce rankings with ties (Firth, Kosmidis & Turner 2019).

The bots C that share the next place are chosen from the rest A with probability f(C) / sum of f(S) over all
sets S within A, where

    f(S) = delta_|S| * geometric mean of alpha_i over i in S,  delta_1 = 1,  log alpha_i = theta_i + a_seat.

With two bots this is Davidson's (1970) model; without ties it is Plackett-Luce, in which the chance of one
bot to be above another doesn't depend on who else is at the table. So theta means the same at tables of all
sizes.

The log-likelihood is a sum of multinomial logits, concave in theta, the seats' effects a and log delta.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

import numpy as np

from happycity_tournament.ratings.choices import Choices
from happycity_tournament.ratings.columns import Floats, Ints

_ROWS_AT_ONCE = 1 << 12  # keeps temporary arrays in the cache
_PRODUCTS_AT_ONCE = 1 << 17  # of two numbers; OpenBLAS shares twice as many between threads


@dataclass(frozen=True, slots=True)
class Layout:
    """Where parameters stand in a vector: strengths by bot, effects by table size and seat, log deltas."""

    bots: int
    sizes: tuple[int, ...]
    """Table sizes, ascending."""
    tie_orders: tuple[int, ...]
    """How many ever shared a place, ascending; the other deltas are 0."""

    @property
    def length(self) -> int:
        """The number of parameters."""
        return self.bots + sum(self.sizes) + len(self.tie_orders)

    @property
    def strengths(self) -> slice:
        """Theta, by bot."""
        return slice(0, self.bots)

    def seats(self, size: int) -> slice:
        """The effects of the seats at tables of `size`."""
        start = self.bots + sum(smaller for smaller in self.sizes if smaller < size)
        return slice(start, start + size)

    @property
    def ties(self) -> slice:
        """The log deltas."""
        return slice(self.bots + sum(self.sizes), self.length)


class Derivatives(NamedTuple):
    """The derivatives of the log-likelihood by all parameters."""

    gradient: Floats
    information: Floats
    """Minus the second derivatives."""


def derivatives(choices: Sequence[Choices], layout: Layout, parameters: Floats) -> Derivatives:
    """Return the derivatives of the log-likelihood of choices."""
    gradient = np.zeros(layout.length)
    information = np.zeros((layout.length, layout.length))
    for part in choices:
        units = _Units(part.size, layout)
        for block in _blocks(part, layout, parameters):
            block.add_gradient(gradient)
            block.add_information(units)
        units.add_to(information)
    return Derivatives(gradient, information)


def gradient_of(choices: Sequence[Choices], layout: Layout, parameters: Floats) -> Floats:
    """Return the gradient alone, which takes a fraction of the time."""
    gradient = np.zeros(layout.length)
    for part in choices:
        for block in _blocks(part, layout, parameters):
            block.add_gradient(gradient)
    return gradient


def squares_of(choices: Sequence[Choices], layout: Layout, parameters: Floats) -> Floats:
    """Return, by bot, the sum of the squared derivatives of single choices by its strength."""
    squares = np.zeros(layout.bots)
    for part in choices:
        for block in _blocks(part, layout, parameters):
            block.add_squares(squares)
    return squares


def scores(part: Choices, layout: Layout, parameters: Floats) -> Floats:
    """Return each choice's derivatives by the strengths of those who were left and by the log deltas.

    The columns are those of `part.bots`, then the tie orders.
    """
    rows = np.concatenate([block.surprise.T for block in _blocks(part, layout, parameters)])
    return rows[part.rows]


def choice_covariances(part: Choices, layout: Layout, parameters: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield some rows of choices at a time with the covariances of their features, [row, feature, feature].

    The features are the columns of `scores`. The covariances are minus the second derivatives of one choice.
    """
    start = 0
    for block in _blocks(part, layout, parameters):
        rows = slice(start, start + block.surprise.shape[1])
        yield rows, block.covariances()
        start = rows.stop


class _Sets:
    """The sets of bots that may take a place together, if so many are left."""

    def __init__(self, left: int, tie_orders: tuple[int, ...]) -> None:
        members = [
            chosen
            for order in (1, *tie_orders)
            if order <= left
            for chosen in combinations(range(left), order)
        ]
        self.features: Floats = np.array([_features(chosen, left, tie_orders) for chosen in members])
        """[set, feature]: log f is this times the strengths of those left and the log deltas."""
        bots, ties = range(left), range(left, self.features.shape[1])
        pairs = [
            *combinations_with_replacement(bots, 2),
            *((bot, tie) for tie in ties for bot in bots),
            *combinations_with_replacement(ties, 2),
        ]
        self.first, self.second = np.array(pairs).T
        """[pair]: each two features: those of two bots, then of each tie with all bots, then of ties."""
        self.products: Floats = self.features[:, self.first] * self.features[:, self.second]
        """[set, pair]."""
        self.square: Ints = np.zeros((self.features.shape[1],) * 2, dtype=np.int64)
        """[feature, feature]: the pair."""
        self.square[self.first, self.second] = self.square[self.second, self.first] = np.arange(len(pairs))
        self.of_first: Ints = np.zeros(left + 1, dtype=np.int64)
        """[order]: the set of the first so many."""
        for order in {len(chosen) for chosen in members}:
            self.of_first[order] = members.index(tuple(range(order)))


def _features(members: Collection[int], left: int, tie_orders: tuple[int, ...]) -> list[float]:
    shares = [1 / len(members) if bot in members else 0.0 for bot in range(left)]
    return shares + [float(order == len(members)) for order in tie_orders]


class _Block:
    """Some rows of choices among equally many bots, evaluated.

    Rows are the last index of all arrays: what is done alike for all of them is fast.
    """

    def __init__(
        self, part: Choices, rows: slice, *, sets: _Sets, layout: Layout, parameters: Floats
    ) -> None:
        self._sets = sets
        self._layout = layout
        self._left = part.bots.shape[1]
        self._counts = part.counts[rows]
        bots, self._seats = part.bots[rows].T.copy(), part.seats[rows].T.copy()
        self._columns = (bots, self._seats + layout.seats(part.size).start)
        strengths = parameters[self._columns[0]] + parameters[self._columns[1]]
        strengths -= strengths.max(axis=0)
        logs = _product(sets.features[:, : self._left], strengths)
        logs += (sets.features[:, self._left :] @ parameters[layout.ties])[:, None]
        self._chances: Floats = np.exp(logs, out=logs)
        """[set, row]: how likely each set was to take the place."""
        self._chances /= self._chances.sum(axis=0)
        self._mean = _product(sets.features.T, self._chances)
        taken = sets.of_first[part.winners[rows]]
        self.surprise: Floats = sets.features.T[:, taken] - self._mean
        """[feature, row]: what was chosen less what was expected, the derivatives of one such choice."""

    def add_gradient(self, gradient: Floats) -> None:
        counted = self.surprise * self._counts
        for column in self._columns:
            gradient += np.bincount(column.ravel(), counted[: self._left].ravel(), len(gradient))
        gradient[self._layout.ties] += counted[self._left :].sum(axis=1)

    def add_squares(self, squares: Floats) -> None:
        values = self.surprise[: self._left] ** 2 * self._counts
        squares += np.bincount(self._columns[0].ravel(), values.ravel(), len(squares))

    def covariances(self) -> Floats:
        """Return the covariances of the features of one such choice: [row, feature, feature]."""
        covariances: Floats = self._covariances_of_pairs().T[:, self._sets.square]
        return covariances

    def add_information(self, units: _Units) -> None:
        left, features = self._left, len(self._mean)
        spread = self._covariances_of_pairs()
        spread *= self._counts
        numbers = self._columns[0] * units.size + self._seats
        of_bots = left * (left + 1) // 2
        first, second = self._sets.first[:of_bots], self._sets.second[:of_bots]
        cells = (numbers * units.count)[first] + numbers[second]
        units.pairs += np.bincount(cells.ravel(), spread[:of_bots].ravel(), units.count**2)
        for tie in range(features - left):
            start = of_bots + tie * left
            weights = spread[start : start + left].ravel()
            units.with_ties[:, tie] += np.bincount(numbers.ravel(), weights, units.count)
        units.ties += spread.sum(axis=1)[self._sets.square[left:, left:]]

    def _covariances_of_pairs(self) -> Floats:
        """Return the covariances of each two features of one such choice: [pair, row]."""
        covariances = _product(self._sets.products.T, self._chances)
        covariances -= self._mean[self._sets.first] * self._mean[self._sets.second]
        return covariances


class _Units:
    """The information of tables of one size on units, each a bot in a seat, and on the log deltas.

    A choice has one unit where it has two parameters: adding up units first takes a quarter of the additions.
    """

    def __init__(self, size: int, layout: Layout) -> None:
        self.size = size
        self.count = layout.bots * size
        self.pairs = np.zeros(self.count**2)
        """[unit, unit]: of two different ones in one of both places, to be added up."""
        self.with_ties = np.zeros((self.count, len(layout.tie_orders)))
        self.ties = np.zeros((len(layout.tie_orders),) * 2)
        self._layout = layout

    def add_to(self, information: Floats) -> None:
        """Add what it says about the parameters, of which a unit is the sum of two."""
        layout, shape = self._layout, (self._layout.bots, self.size)
        matrix = self.pairs.reshape(self.count, self.count)
        matrix = matrix + matrix.T - np.diag(np.diag(matrix))
        pairs, ties = matrix.reshape(shape + shape), self.with_ties.reshape(*shape, -1)
        bots, seats = layout.strengths, layout.seats(self.size)
        crossed = np.einsum("isjt->it", pairs)
        information[bots, bots] += np.einsum("isjt->ij", pairs)
        information[seats, seats] += np.einsum("isjt->st", pairs)
        information[bots, seats] += crossed
        information[seats, bots] += crossed.T
        for rows, sums in ((bots, ties.sum(axis=1)), (seats, ties.sum(axis=0))):
            information[rows, layout.ties] += sums
            information[layout.ties, rows] += sums.T
        information[layout.ties, layout.ties] += self.ties


def _blocks(part: Choices, layout: Layout, parameters: Floats) -> Iterator[_Block]:
    sets = _Sets(part.bots.shape[1], layout.tie_orders)
    at_once = max(
        _ROWS_AT_ONCE, (layout.bots * part.size) ** 2 >> 5
    )  # than which a matrix of units takes longer
    for start in range(0, len(part.counts), at_once):
        rows = slice(start, start + at_once)
        yield _Block(part, rows, sets=sets, layout=layout, parameters=parameters)


def _product(matrix: Floats, columns: Floats) -> Floats:
    """Return a product of matrices, computed in parts too small to be shared between threads.

    On a busy machine threads wait for each other longer than they work, and spin meanwhile.
    """
    product = np.empty((len(matrix), columns.shape[1]))
    at_once = max(1, _PRODUCTS_AT_ONCE // matrix.size)
    for start in range(0, columns.shape[1], at_once):
        part = slice(start, start + at_once)
        product[:, part] = matrix @ columns[:, part]
    return product
