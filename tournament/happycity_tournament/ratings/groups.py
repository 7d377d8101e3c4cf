"""Which bots the games compare, and with which of them only a bound can be stated.

Between two bots of a group there are chains of games in both directions, in which nobody is below the next:
their difference has a finite estimate. A bot is above a group if no such chain leads from the group to it,
only one from it to the group: however strong it is, the games would be no surprise, and the likelihood has
its maximum at infinity (Ford 1957). A pool is its main group with the groups above and below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from happycity_tournament.ratings.columns import Flags, Games, Ints
from happycity_tournament.ratings.statistics import MIN_DEALS


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Each bot's group, pool and level."""

    groups: Ints
    """From 0, numbered by their first bots."""
    pools: Ints
    """From 0, numbered by their first bots. Between pools no game tells who is stronger."""
    levels: Ints
    """0 in a pool's main group, its largest one; 1 and more above it, -1 and less below it."""
    above: Flags
    """Whether the row's bot is above the column's: by all games it may be stronger by any distance."""


def groups_of(games: Games, deals: Ints) -> Groups:
    """Return who can be compared with whom, by the games and the number of deals that each bot played.

    A bot with fewer than `MIN_DEALS` deals isn't set apart: it joins the largest of the groups that it met,
    and the prior keeps its rating finite.
    """
    held = _held_own(games)
    reach = _joined(_closure(held), met=held | held.T, few=deals < MIN_DEALS)
    groups = _numbered(reach & reach.T)
    above = reach & ~reach.T
    pools, levels = np.full(len(groups), -1), np.zeros(len(groups), dtype=np.int64)
    while (left := np.flatnonzero(pools < 0)).size:
        main = _largest(groups[left], deals[left])
        inside = groups == main
        one = np.flatnonzero(inside)[0]
        free = pools < 0
        pool = free & (inside | above[one] | above[:, one])
        pools[pool] = one
        levels[pool] = _levels(above[np.ix_(pool, pool)], main=inside[pool])
    return Groups(groups, np.unique(_firsts(pools), return_inverse=True)[1].astype(np.int64), levels, above)


def pools_of(groups: Groups) -> Iterator[Flags]:
    """Yield which bots are in each pool."""
    for pool in range(int(groups.pools.max(initial=-1)) + 1):
        yield groups.pools == pool


def _held_own(games: Games) -> Flags:
    """Return whether the row's bot was ever placed at or above the column's."""
    count = len(games.bots)
    held = np.eye(count, dtype=bool)
    cells = held.reshape(-1)
    for seats, table in games.tables.items():
        for first, second in permutations(range(seats), 2):
            pairs = table.bots[:, first] * count + table.bots[:, second]
            cells[pairs[table.places[:, first] <= table.places[:, second]]] = True
    return held


def _joined(reach: Flags, *, met: Flags, few: Flags) -> Flags:
    """Return who reaches whom if bots with few deals, together with such bots that they met, join a group.

    Chains that pass through them only by joining don't count: or else they would join groups of bots with
    enough deals, which have only bounds in common.
    """
    if not few.any():
        return reach
    same = reach & reach.T
    among_few = _closure((met & few[:, None] & few) | np.eye(len(few), dtype=bool))
    representative = np.arange(len(few))
    for first in np.flatnonzero(few & (among_few.argmax(axis=1) == np.arange(len(few)))).tolist():
        members = among_few[first]
        others = np.flatnonzero(met[members].any(axis=0) & ~few)
        sizes = (same[others] & ~few).sum(axis=1)
        representative[members] = others[sizes.argmax()] if len(others) else first
    joined: Flags = reach[np.ix_(representative, representative)]
    return joined


def _closure(edges: Flags) -> Flags:
    """Return whether a path leads from row to column."""
    while True:
        steps = edges.astype(np.float32)
        longer: Flags = np.asarray(steps @ steps > 0)
        if np.array_equal(longer, edges):
            return longer
        edges = longer


def _numbered(same: Flags) -> Ints:
    """Number classes by their first members, from a table of who is of the same class."""
    firsts = same.argmax(axis=1) if len(same) else np.zeros(0, dtype=np.int64)
    return np.unique(firsts, return_inverse=True)[1].astype(np.int64)


def _firsts(marks: Ints) -> Ints:
    """Return for each member of a class, whatever its mark, the index of the class's first member."""
    _, first, which = np.unique(marks, return_index=True, return_inverse=True)
    return first[which].astype(np.int64)


def _largest(groups: Ints, deals: Ints) -> int:
    """Return the group with the most bots, then the most deals, then the first."""
    numbers, members = np.unique(groups, return_counts=True)
    played = np.bincount(groups, deals, minlength=int(numbers[-1]) + 1)[numbers]
    return int(numbers[np.lexsort((numbers, -played, -members))[0]])


def _levels(above: Flags, *, main: Flags) -> Ints:
    """Return how far above the main group each bot is, as the longest chain of groups."""
    levels = np.zeros(len(above), dtype=np.int64)
    for sign, order in ((1, above), (-1, above.T)):
        side = np.flatnonzero(order[:, main].any(axis=1))
        while side.size:
            levels[side] += sign
            side = side[order[np.ix_(side, side)].any(axis=1)]
    return levels
