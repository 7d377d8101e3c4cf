"""Games as columns of numbers: what the final ratings are computed from."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happycity_tournament.games import CountedGame

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_NONE: Ints = np.zeros(0, dtype=np.int64)
_SHORT = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """The games of one table size: a row for each game, a column for each seat."""

    bots: Ints
    """Which bot sat there, as an index into `Games.bots`."""
    places: Ints
    """1 is best; equal seats share a place. Only their order counts."""
    deals: Ints
    """Each game's deal, one number for each row; the same number is the same deal, at any table size."""
    sources: Ints | None = None
    """The number of each game's source; None if all are of one."""

    def __getitem__(self, rows: slice | Ints | Flags) -> TableColumns:
        """Return some of the games."""
        sources = None if self.sources is None else self.sources[rows]
        return TableColumns(self.bots[rows], self.places[rows], self.deals[rows], sources)


@dataclass(frozen=True, slots=True, eq=False)
class DealsOfBots:
    """The deals that each bot played, by bot and then by deal."""

    bots: Ints
    deals: Ints
    _order: Ints
    """All seats of all games, table by table, in the order of these deals."""
    _starts: Ints
    """Where in this order each deal of a bot begins."""

    def sums(self, values: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """Return for each deal of a bot the sum of values by game and seat, table by table."""
        if not len(self._starts):
            return np.zeros(0)
        sums: NDArray[Any] = np.add.reduceat(
            np.concatenate([each.ravel() for each in values])[self._order], self._starts
        )
        return sums


@dataclass(frozen=True, slots=True, eq=False)
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
            if table.bots.size and not (table.bots.min() >= 0 and table.bots.max() < len(self.bots)):
                raise ValueError(f"tables of {seats} seats: a bot's index is out of range")

    @property
    def deals(self) -> int:
        """How many deals there are, if they are numbered from 0 without a gap."""
        return max((int(table.deals.max(initial=-1)) + 1 for table in self.tables.values()), default=0)

    def in_order_of_deals(self) -> Games:
        """Return the games sorted by their deals, the deals numbered from 0 as they come, size by size."""
        played = {seats: table for seats, table in sorted(self.tables.items()) if len(table.deals)}
        deals = np.concatenate([_NONE, *(table.deals for table in played.values())])
        if len(played) == 1:
            begins = np.diff(deals, prepend=deals[:1] - 1) != 0
            if len(np.unique(deals[begins])) == begins.sum():  # the games of each deal follow one another
                ((seats, table),) = played.items()
                return Games(self.bots, {seats: replace(table, deals=np.cumsum(begins) - 1)})
        order = np.argsort(deals, kind="stable")
        begins = np.diff(deals[order], prepend=deals[order[:1]] - 1) != 0
        firsts = order[begins]
        ranks = np.empty_like(firsts)
        ranks[np.argsort(firsts)] = np.arange(len(firsts))
        numbers = np.empty_like(deals)
        numbers[order] = ranks[np.cumsum(begins) - 1]
        ordered, start = {}, 0
        for seats, table in played.items():
            numbered = replace(table, deals=numbers[start : start + len(table.deals)])
            ordered[seats] = numbered[np.argsort(numbered.deals, kind="stable")]
            start += len(table.deals)
        return Games(self.bots, ordered)

    def first(self, lengths: Mapping[int, int]) -> Games:
        """Return so many first games of each table size."""
        tables = {}
        for seats, length in sorted(lengths.items()):
            tables[seats] = self.tables[seats][:length]
        return Games(self.bots, tables)

    def games_played(self) -> Ints:
        """Return how many games each bot played."""
        seated = np.concatenate([_NONE, *(table.bots.ravel() for table in self.tables.values())])
        return np.bincount(seated, minlength=len(self.bots))

    def deals_played(self) -> Ints:
        """Return in how many deals each bot played."""
        count = len(self.bots)
        pairs = [(table.deals[:, None] * count + table.bots).ravel() for table in self.tables.values()]
        keys = np.sort(np.concatenate([_NONE, *pairs]))  # several times as fast as numpy.unique
        different = keys[np.flatnonzero(np.diff(keys, prepend=-1))]
        return np.bincount(different % max(1, count), minlength=count)

    def scores(self) -> Floats:
        """Return what the row's bot scored against the column's: 1 for a better place, 1/2 for a shared one.

        A bot in several seats counts for each; against itself there is 0.
        """
        count = len(self.bots)
        scores = np.zeros(count * count)
        for seats, table in self.tables.items():
            for one, other in permutations(range(seats), 2):
                ahead = np.sign(table.places[:, other] - table.places[:, one])
                cells = table.bots[:, one] * count + table.bots[:, other]
                scores += np.bincount(cells, (1 + ahead) / 2, minlength=count * count)
        matrix = scores.reshape(count, count)
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def decisive_games(self) -> Ints:
        """Return in how many games each bot was placed above or below another one."""
        games = [_NONE]
        for table in self.tables.values():
            alike = (table.places[:, :, None] == table.places[:, None, :]).all(axis=2)
            games.append(table.bots[~alike])
        return np.bincount(np.concatenate(games), minlength=len(self.bots))

    def deals_of_bots(self) -> DealsOfBots:
        """Return the deals of each bot; the games are in the order of their deals at tables of each size."""
        bots = np.concatenate([_NONE, *(table.bots.ravel() for table in self.tables.values())])
        deals = np.concatenate(
            [_NONE, *(np.repeat(table.deals, size) for size, table in self.tables.items())]
        )
        order = np.arange(len(deals)) if len(self.tables) == 1 else np.argsort(deals, kind="stable")
        if len(self.bots) <= _SHORT:  # whole numbers this short are sorted in a fraction of the time
            order = order[np.argsort(bots[order].astype(np.uint16), kind="stable")]
        else:
            order = order[np.argsort(bots[order], kind="stable")]
        bots, deals = bots[order], deals[order]
        starts = np.flatnonzero((np.diff(bots, prepend=-1) != 0) | (np.diff(deals, prepend=-1) != 0))
        return DealsOfBots(bots[starts], deals[starts], order, starts)

    def ahead(self) -> list[Ints]:
        """Return how many more others each seat was placed above than below, [game, seat], table by table."""
        tables = []
        for seats, table in self.tables.items():
            ahead = np.zeros_like(table.places)
            for one, other in combinations(range(seats), 2):
                above = np.sign(table.places[:, other] - table.places[:, one])
                ahead[:, one] += above
                ahead[:, other] -= above
            tables.append(ahead)
        return tables


_Columns = tuple["array[int]", "array[int]", "array[int]", "array[int]"]


class GamesBuilder:
    """Gathers results, of one tournament or several, into columns.

    Games with the same deal seed are one deal. A game at a table of four takes 22 bytes.
    """

    def __init__(self, bots: Sequence[str]) -> None:
        self._index = {bot: index for index, bot in enumerate(bots)}
        self._tables: dict[int, _Columns] = {}
        """Bots, places, deal seeds and sources, by the number of seats."""

    def add(self, result: CountedGame) -> None:
        """Add a game by its places.

        Raises:
            KeyError: a bot in it is not rated.
        """
        self.add_row([self._index[bot] for bot in result.bots], result.places, result.deal_seed)

    def indexes(self, bots: Iterable[str]) -> list[int]:
        """Return the numbers of bots; those that aren't rated yet are from now on."""
        return [self._index.setdefault(bot, len(self._index)) for bot in bots]

    def add_row(self, seated: Sequence[int], places: Sequence[int], deal_seed: int, source: int = 0) -> None:
        """Add a game by the numbers of its bots and their places, by seat, and that of its source."""
        table = self._table(len(seated))
        table[0].extend(seated)
        table[1].extend(places)
        table[2].append(deal_seed)
        table[3].append(source)

    def add_rows(
        self, seats: int, seated: Iterable[int], places: Iterable[int], deal_seeds: Sequence[int], source: int
    ) -> None:
        """Add games at tables of one size as `add_row` does: seat by seat, one game after the other."""
        table = self._table(seats)
        table[0].extend(seated)
        table[1].extend(places)
        table[2].extend(deal_seeds)
        table[3].extend([source] * len(deal_seeds))

    def _table(self, seats: int) -> _Columns:
        if seats not in self._tables:
            self._tables[seats] = (array("H"), array("B"), array("Q"), array("H"))
        return self._tables[seats]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bots by their numbers."""
        return tuple(self._index)

    def lengths(self) -> dict[int, int]:
        """Return how many games were added so far, by the number of seats."""
        return {seats: len(deals) for seats, (_, _, deals, _) in self._tables.items()}

    def build(self) -> Games:
        """Return all games added so far."""
        tables = {}
        for seats, (bots, places, deals, sources) in sorted(self._tables.items()):
            tables[seats] = TableColumns(
                np.array(bots, dtype=np.int64).reshape(-1, seats),
                np.array(places, dtype=np.int64).reshape(-1, seats),
                np.array(deals, dtype=np.uint64).view(np.int64),
                np.array(sources, dtype=np.int64),
            )
        return Games(tuple(self._index), tables)
