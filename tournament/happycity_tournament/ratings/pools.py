"""Which bots can be compared: those that met, or met others that met, and so on."""

from __future__ import annotations

import numpy as np

from happycity_tournament.ratings.columns import Games, Ints


def pools_of(games: Games) -> Ints:
    """Return each bot's pool, numbered from 0 by their first bots.

    A pool is a connected component of the graph in which bots that sat at one table are joined. Between
    pools no game tells who is stronger. A bot without games is a pool of its own.
    """
    count = len(games.bots)
    met = np.eye(count, dtype=bool)
    for table in games.tables.values():
        for left, right in zip(table.bots.T[:-1], table.bots.T[1:], strict=True):
            met[left, right] = met[right, left] = True
    first = np.arange(count)
    while True:
        earlier = np.where(met, first, count).min(axis=1, initial=count)
        if np.array_equal(earlier, first):
            return np.unique(first, return_inverse=True)[1].astype(np.int64)
        first = earlier
