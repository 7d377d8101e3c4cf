"""Games as columns of numbers: what the final ratings are computed from."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, permutations

import numpy as np
from numpy.typing import NDArray

from happycity_tournament.games import CountedGame, Result

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
ROWS_AT_ONCE = 1 << 14
"""Games that are computed with at once: what that takes doesn't grow with their number."""
_KEYS = 2**62  # below this a row fits one whole number


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """The games of one table size: a row for each game, a column for each seat.

    The numbers may be as narrow as they fit; `wide` makes them such that sums and products don't overflow.
    """

    bots: Ints
    """Which bot sat there, as an index into `Games.bots`."""
    places: Ints
    """1 is best; equal seats share a place. Only their order counts."""
    deals: Ints
    """Each game's deal, one number for each row; the same number is the same deal, at any table size."""
    luck: Floats | None = None
    """The places that each seat won by chance, which are taken off its scores; None: nothing is."""

    def __getitem__(self, rows: slice | Ints | Flags) -> TableColumns:
        """Return some of the games."""
        luck = None if self.luck is None else self.luck[rows]
        return TableColumns(self.bots[rows], self.places[rows], self.deals[rows], luck)

    def wide(self) -> TableColumns:
        """Return the same games as numbers of 64 bits."""
        bots, places = (column.astype(np.int64, copy=False) for column in (self.bots, self.places))
        return TableColumns(bots, places, self.deals, self.luck)


@dataclass(frozen=True, eq=False)
class Games:
    """Any number of games between the same bots, at tables of any sizes.

    Raises:
        ValueError: the columns of a table size don't fit together.
    """

    bots: tuple[str, ...]
    """The bots' names."""
    tables: Mapping[int, TableColumns]
    """The games, by the number of seats."""

    def __post_init__(self) -> None:
        for seats, table in self.tables.items():
            shape = (len(table.deals), seats)
            if seats < 2 or table.bots.shape != shape or table.places.shape != shape:
                raise ValueError(f"tables of {seats} seats: the columns' shapes don't fit together")
            if table.luck is not None and table.luck.shape != shape:
                raise ValueError(f"tables of {seats} seats: only some of the games have their luck")
            if table.bots.size and not (table.bots.min() >= 0 and table.bots.max() < len(self.bots)):
                raise ValueError(f"tables of {seats} seats: a bot's index is out of range")

    def between(self, start: Mapping[int, int], end: Mapping[int, int]) -> Games:
        """Return the games of each table size from the first number to the second."""
        tables = {
            seats: self.tables[seats][start.get(seats, 0) : length]
            for seats, length in sorted(end.items())
            if length > start.get(seats, 0)
        }
        return Games(self.bots, tables)

    def parts(self) -> Iterator[TableColumns]:
        """Yield all games, some of one table size at once, as wide numbers."""
        for table in self.tables.values():
            for rows in row_slices(len(table.deals)):
                yield table[rows].wide()

    @cached_property
    def by_deal(self) -> Mapping[int, tuple[Ints, Ints]]:
        """By the number of seats: the rows of the games, sorted by their deals, and the deals of these rows.

        The deals are numbered from 0 in the order of their first games.
        """
        seeds = [table.deals for table in self.tables.values()]
        if not seeds:
            return {}
        _, first, which = np.unique(np.concatenate(seeds), return_index=True, return_inverse=True)
        ranks = np.empty_like(first)
        ranks[np.argsort(first)] = np.arange(len(first))
        ends = np.cumsum([len(deals) for deals in seeds])[:-1]
        found = {}
        for size, deals in zip(self.tables, np.split(ranks[which], ends), strict=True):
            rows = np.argsort(deals, kind="stable")
            found[size] = rows, deals[rows]
        return found

    def games_played(self) -> Ints:
        """Return how many games each bot played."""
        played: Ints = np.zeros(len(self.bots), dtype=np.int64)
        for table in self.parts():
            played += np.bincount(table.bots.ravel(), minlength=len(self.bots))
        return played

    def scores(self) -> Floats:
        """Return what the row's bot scored against the column's: 1 for a better place, 1/2 for a shared one.

        A bot in several seats counts for each; against itself there is 0.
        """
        count = len(self.bots)
        scores = np.zeros(count * count)
        for table in self.parts():
            for one, other in permutations(range(table.bots.shape[1]), 2):
                ahead = np.sign(table.places[:, other] - table.places[:, one])
                cells = table.bots[:, one] * count + table.bots[:, other]
                scores += np.bincount(cells, (1 + ahead) / 2, minlength=count * count)
        matrix = scores.reshape(count, count)
        np.fill_diagonal(matrix, 0.0)
        return matrix


_Columns = tuple["array[int]", "array[int]", "array[int]", "array[float]"]


class GamesBuilder:
    """Gathers results, of one tournament or several, into columns.

    Games with the same deal seed are one deal. A game at a table of four takes 20 bytes.
    """

    def __init__(self, bots: Sequence[str]) -> None:
        self._index = {bot: index for index, bot in enumerate(bots)}
        self._tables = defaultdict[int, _Columns](lambda: (array("H"), array("B"), array("Q"), array("d")))
        """Bots, places, deal seeds and luck, by the number of seats."""

    def extend(self, games: Sequence[CountedGame], numbers: Mapping[str, int] | None = None) -> None:
        """Add games at tables of one size; `numbers` has those of their bots, where others have their names.

        Raises:
            KeyError: a bot in one is not rated.
        """
        known = self._index if numbers is None else numbers
        seated = [known[bot] for game in games for bot in game.bots]
        table = self._tables[len(games[0].bots)]
        table[0].extend(seated)
        table[1].extend(chain.from_iterable([game.places for game in games]))
        table[2].extend([game.deal_seed for game in games])
        table[3].extend(chain.from_iterable([game.luck for game in games]))

    def indexes(self, bots: Iterable[str]) -> list[int]:
        """Return the numbers of bots; those that aren't rated yet are from now on."""
        return [self._index.setdefault(bot, len(self._index)) for bot in bots]

    def build(self) -> Games:
        """Return all games added so far."""
        tables = {}
        for seats, (bots, places, deals, luck) in sorted(self._tables.items()):
            tables[seats] = TableColumns(
                np.array(bots).reshape(-1, seats),
                np.array(places).reshape(-1, seats),
                np.array(deals, dtype=np.uint64).view(np.int64),
                np.array(luck).reshape(-1, seats) if luck else None,
            )
        return Games(tuple(self._index), tables)


class SeenKeys:
    """The keys of games, such as `Result.copy_key`, in 8 bytes each: those of the tournaments so far."""

    def __init__(self) -> None:
        self._before = np.empty(0, np.int64)
        self._own = array("q")

    def are_new(self, keys: Sequence[int]) -> list[bool]:
        """Note keys of the tournament that is read, and return which of them none before it has."""
        self._own.extend(keys)
        if not len(self._before):
            return [True] * len(keys)
        places = np.searchsorted(self._before, keys).clip(max=len(self._before) - 1)
        return [bool(is_new) for is_new in self._before[places] != keys]

    def next_tournament(self) -> None:
        """Go on to the next tournament, or file of games."""
        self._before, self._own = np.union1d(self._before, self._own), array("q")


def by_size(games: Sequence[Result]) -> Iterator[tuple[int, list[Result]]]:
    """Yield games by the number of their seats."""
    sizes = [len(game.bots) for game in games]
    return ((size, list(compress(games, map(size.__eq__, sizes)))) for size in dict.fromkeys(sizes))


def row_slices(count: int) -> Iterator[slice]:
    """Yield slices of a number of rows, each of as many as are computed with at once."""
    return (slice(first, first + ROWS_AT_ONCE) for first in range(0, count, ROWS_AT_ONCE))


def unique_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Return each row of numbers from 0 once, and for all rows which of these they are."""
    base, size = int(rows.max(initial=0)) + 1, rows.shape[1]
    if base**size >= _KEYS:
        unique, which = np.unique(rows, axis=0, return_inverse=True)
        return unique, which.ravel()
    keys = rows @ (base ** np.arange(size))
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first].astype(np.int64), which
