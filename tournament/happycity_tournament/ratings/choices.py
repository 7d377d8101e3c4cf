"""Rankings as sequences of choices: who comes first, who comes next among the rest, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from happycity_tournament.ratings.columns import Flags, Floats, Games, Ints, TableColumns

_NONE: Ints = np.zeros(0, dtype=np.int64)
_CELLS_A_KEY = 4
_KEYS = 2**62  # below this a choice fits one whole number, and equal choices are found by sorting


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Who took the next place when so many bots were left, at tables of one size.

    Choices that are equal in everything are one row.
    """

    size: int
    """Seats at the table."""
    bots: Ints
    """[rows, left]; those who took the place come first."""
    seats: Ints
    """[rows, left], from 0."""
    winners: Ints
    """[rows]: how many shared the place."""
    counts: Floats
    """[rows]: how often this happened."""
    games: Ints
    """[choices]: the game of each choice, as a row of the table's columns."""
    rows: Ints
    """[choices]: the row of each choice."""

    def among(self, games: int) -> Choices:
        """Return the choices of the first so many games of the table's columns, without their games."""
        return self._counted(self.rows[: np.searchsorted(self.games, games)])

    def only(self, games: Flags) -> Choices:
        """Return the choices of some games of the table's columns, without their games."""
        return self._counted(self.rows[games[self.games]])

    def _counted(self, rows: Ints) -> Choices:
        counts = np.bincount(rows, minlength=len(self.counts))
        kept = counts > 0
        return replace(
            self,
            bots=self.bots[kept],
            seats=self.seats[kept],
            winners=self.winners[kept],
            counts=counts[kept].astype(np.float64),
            games=_NONE,
            rows=_NONE,
        )

    def thinned(self, step: int) -> Choices:
        """Return every so manieth row, each counted so many times: a sample for a first estimate."""
        rows = slice(step // 2, None, step)
        return replace(
            self,
            bots=self.bots[rows],
            seats=self.seats[rows],
            winners=self.winners[rows],
            counts=self.counts[rows] * step,
            games=_NONE,
            rows=_NONE,
        )


def choices_of(games: Games) -> tuple[Choices, ...]:
    """Split games into the choices that they consist of."""
    return tuple(part for size, table in sorted(games.tables.items()) for part in _split(table, size=size))


def tie_orders(choices: Iterable[Choices]) -> tuple[int, ...]:
    """Return how many bots ever shared a place, ascending."""
    orders = {winners for part in choices for winners in np.flatnonzero(np.bincount(part.winners)).tolist()}
    return tuple(sorted(orders - {1}))


def _split(table: TableColumns, *, size: int) -> Iterator[Choices]:
    units = table.bots * size + np.arange(size)
    first_places = table.places[:, :1]
    for seat in range(1, size):
        first_places = np.minimum(first_places, table.places[:, seat : seat + 1])
    if len(units):
        winning = table.places == first_places
        yield _gather(units, winning, size=size, games=np.arange(len(units)))
    if size == 2:
        return
    order = np.argsort(table.places, axis=1, kind="stable")
    places = np.take_along_axis(table.places, order, axis=1)
    units = np.take_along_axis(units, order, axis=1)
    for first in range(1, size - 1):  # the last of all has no choice
        games = np.flatnonzero(places[:, first] > places[:, first - 1])
        if len(games):
            winning = places[games, first:] == places[games, first, None]
            yield _gather(units[games, first:], winning, size=size, games=games)


def _gather(units: Ints, winning: NDArray[np.bool_], *, size: int, games: Ints) -> Choices:
    """Make equal choices one row; a unit is a bot in a seat, and the order of losers is no matter."""
    base = int(units.max()) + 1
    units = np.sort(units + base * ~winning, axis=1) % base
    winners = winning.sum(axis=1)
    left = units.shape[1]
    rows, counts = np.arange(len(units)), np.ones(len(units))
    if (left + 1) * base**left < _KEYS:
        keys = winners
        for column in units.T:
            keys = keys * base + column
        chosen, rows, found = _different(keys, below=(left + 1) * base**left)
        units, winners, counts = units[chosen], winners[chosen], found.astype(np.float64)
    return Choices(
        size=size,
        bots=units // size,
        seats=units % size,
        winners=winners,
        counts=counts,
        games=games,
        rows=rows,
    )


def _different(keys: Ints, *, below: int) -> tuple[Ints, Ints, Ints]:
    """Return where each different key is, by size, which of them each key is, and how often each occurs."""
    if below > _CELLS_A_KEY * len(keys):
        _, chosen, rows, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        return chosen, rows, counts
    cells = np.bincount(keys, minlength=below)  # faster than sorting the keys
    rows = (np.cumsum(cells > 0) - 1)[keys]
    counts = cells[cells > 0]
    chosen = np.empty_like(counts)
    chosen[rows] = np.arange(len(keys))
    return chosen, rows, counts
