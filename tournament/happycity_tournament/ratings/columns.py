"""Games as columns of numbers: what the final ratings are computed from."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from happycity_tournament.games import FinishedGame

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_NONE: Ints = np.zeros(0, dtype=np.int64)


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

    def __getitem__(self, rows: slice | Ints | NDArray[np.bool_]) -> TableColumns:
        """Return some of the games."""
        sources = None if self.sources is None else self.sources[rows]
        return TableColumns(self.bots[rows], self.places[rows], self.deals[rows], sources)


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
        """Return the games sorted by their deals, the deals numbered from 0 without a gap."""
        played = {seats: table for seats, table in sorted(self.tables.items()) if len(table.deals)}
        numbers = np.unique(np.concatenate([_NONE, *(table.deals for table in played.values())]))
        ordered = {}
        for seats, table in played.items():
            numbered = replace(table, deals=np.searchsorted(numbers, table.deals))
            ordered[seats] = numbered[np.argsort(numbered.deals, kind="stable")]
        return Games(self.bots, ordered)

    def games_played(self) -> Ints:
        """Return how many games each bot played."""
        seated = np.concatenate([_NONE, *(table.bots.ravel() for table in self.tables.values())])
        return np.bincount(seated, minlength=len(self.bots))

    def deals_played(self) -> Ints:
        """Return in how many deals each bot played."""
        count = len(self.bots)
        pairs = [(table.deals[:, None] * count + table.bots).ravel() for table in self.tables.values()]
        different = np.unique(np.concatenate([_NONE, *pairs]))
        return np.bincount(different % max(1, count), minlength=count)


class GamesBuilder:
    """Gathers results, of one tournament or several, into columns."""

    def __init__(self, bots: Sequence[str]) -> None:
        self._bots = tuple(bots)
        self._index = {bot: index for index, bot in enumerate(bots)}
        self._deals: dict[Hashable, int] = {}
        self._tables: defaultdict[int, tuple[array[int], ...]] = defaultdict(
            lambda: (array("q"), array("q"), array("q"), array("q"))
        )
        """Bots, places, deals and sources, by the number of seats."""

    def add(self, result: FinishedGame, *, deal: Hashable, source: int = 0) -> None:
        """Add a game by its places; games with an equal `deal` shared their cards and are dependent.

        Within one tournament `result.deal` will do; with several, add which of them it was. `source` is the
        number of the source that the game is from.

        Raises:
            KeyError: a bot in it is not rated.
        """
        seated = [self._index[bot] for bot in result.bots]
        bots, places, deals, sources = self._tables[len(seated)]
        bots.extend(seated)
        places.extend(result.places)
        deals.append(self._deals.setdefault(deal, len(self._deals)))
        sources.append(source)

    def build(self) -> Games:
        """Return all games added so far."""
        tables = {}
        for seats, grown in self._tables.items():
            bots, places, deals, sources = (np.array(column, dtype=np.int64) for column in grown)
            tables[seats] = TableColumns(bots.reshape(-1, seats), places.reshape(-1, seats), deals, sources)
        return Games(self._bots, tables)
