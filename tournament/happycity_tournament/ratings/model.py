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
from itertools import combinations
from typing import NamedTuple

import numpy as np

from happycity_tournament.ratings.choices import Choices
from happycity_tournament.ratings.columns import Floats, Ints

_ROWS_AT_ONCE = 1 << 14  # keeps temporary arrays in the cache


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
    rows = np.concatenate([block.surprise for block in _blocks(part, layout, parameters)])
    return rows[part.rows]


def choice_covariances(part: Choices, layout: Layout, parameters: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield some rows of choices at a time with the covariances of their features, [row, feature, feature].

    The features are the columns of `scores`. The covariances are minus the second derivatives of one choice.
    """
    start = 0
    for block in _blocks(part, layout, parameters):
        rows = slice(start, start + len(block.surprise))
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
        products = self.features[:, :, None] * self.features[:, None, :]
        self.products: Floats = products.reshape(len(members), -1)
        self.of_first: Ints = np.zeros(left + 1, dtype=np.int64)
        """[order]: the set of the first so many."""
        for order in {len(chosen) for chosen in members}:
            self.of_first[order] = members.index(tuple(range(order)))


def _features(members: Collection[int], left: int, tie_orders: tuple[int, ...]) -> list[float]:
    shares = [1 / len(members) if bot in members else 0.0 for bot in range(left)]
    return shares + [float(order == len(members)) for order in tie_orders]


class _Block:
    """Some rows of choices among equally many bots, evaluated."""

    def __init__(
        self, part: Choices, rows: slice, *, sets: _Sets, layout: Layout, parameters: Floats
    ) -> None:
        self._sets = sets
        self._layout = layout
        self._left = part.bots.shape[1]
        self._counts = part.counts[rows]
        self._seats = part.seats[rows]
        self._columns = (part.bots[rows], self._seats + layout.seats(part.size).start)
        strengths = parameters[self._columns[0]] + parameters[self._columns[1]]
        logs = strengths @ sets.features[:, : self._left].T
        logs += sets.features[:, self._left :] @ parameters[layout.ties]
        logs -= logs.max(axis=1, keepdims=True)
        chances = np.exp(logs)
        self._chances: Floats = chances / chances.sum(axis=1, keepdims=True)
        """[row, set]: how likely each set was to take the place."""
        taken = sets.of_first[part.winners[rows]]
        self._mean: Floats = self._chances @ sets.features
        self.surprise: Floats = sets.features[taken] - self._mean
        """[row, feature]: what was chosen less what was expected, the derivatives of one such choice."""

    def add_gradient(self, gradient: Floats) -> None:
        counted = self.surprise * self._counts[:, None]
        for column in self._columns:
            gradient += np.bincount(column.ravel(), counted[:, : self._left].ravel(), len(gradient))
        gradient[self._layout.ties] += counted[:, self._left :].sum(axis=0)

    def add_squares(self, squares: Floats) -> None:
        values = self.surprise[:, : self._left] ** 2 * self._counts[:, None]
        squares += np.bincount(self._columns[0].ravel(), values.ravel(), len(squares))

    def covariances(self) -> Floats:
        """Return the covariances of the features of one such choice: [row, feature, feature]."""
        features = self._mean.shape[1]
        spread: Floats = (self._chances @ self._sets.products).reshape(-1, features, features)
        spread -= self._mean[:, :, None] * self._mean[:, None, :]
        return spread

    def add_information(self, units: _Units) -> None:
        left, features = self._left, self._mean.shape[1]
        spread = self.covariances()
        spread *= self._counts[:, None, None]
        numbers = self._columns[0] * units.size + self._seats
        cells = (numbers[:, :, None] * units.count + numbers[:, None, :]).ravel()
        units.pairs += np.bincount(cells, spread[:, :left, :left].ravel(), units.count**2)
        for tie in range(features - left):
            weights = spread[:, :left, left + tie].ravel()
            units.with_ties[:, tie] += np.bincount(numbers.ravel(), weights, units.count)
        units.ties += spread[:, left:, left:].sum(axis=0)


class _Units:
    """The information of tables of one size on units, each a bot in a seat, and on the log deltas.

    A choice has one unit where it has two parameters: adding up units first takes a quarter of the additions.
    """

    def __init__(self, size: int, layout: Layout) -> None:
        self.size = size
        self.count = layout.bots * size
        self.pairs = np.zeros(self.count**2)
        self.with_ties = np.zeros((self.count, len(layout.tie_orders)))
        self.ties = np.zeros((len(layout.tie_orders),) * 2)
        self._layout = layout

    def add_to(self, information: Floats) -> None:
        """Add what it says about the parameters, of which a unit is the sum of two."""
        layout, shape = self._layout, (self._layout.bots, self.size)
        pairs, ties = self.pairs.reshape(shape + shape), self.with_ties.reshape(*shape, -1)
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
