"""Games for tests of ratings, by nothing but what ratings depend on."""

from collections.abc import Sequence

import numpy as np

from happycity_tournament.ratings.columns import Games, TableColumns

Row = tuple[Sequence[int], Sequence[int], int]
"""The bots by seat, their places, and the deal."""


def columns(games: Sequence[Row], bots: Sequence[str]) -> Games:
    tables = {}
    for seats in sorted({len(seated) for seated, _, _ in games}):
        rows = [row for row in games if len(row[0]) == seats]
        bots_of, places, deals = (np.array([row[part] for row in rows], dtype=np.int64) for part in range(3))
        tables[seats] = TableColumns(bots_of, places, deals)
    return Games(tuple(bots), tables)


def duels(won: int, lost: int, *, one: int = 0, other: int = 1, first_deal: int = 0) -> list[Row]:
    """Return games of two bots, each on a deal of its own."""
    return [
        ((one, other), (1, 2) if number < won else (2, 1), first_deal + number)
        for number in range(won + lost)
    ]
