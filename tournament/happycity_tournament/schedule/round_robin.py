"""Round robin: everybody meets everybody equally often, exactly, in as few deals as possible.

Up to `FEW_TABLES` tables, all combinations are played; beyond, a balanced incomplete block design (Yates
1936), which has every pair of bots at the same number of tables. Most of those here are cyclic: the points
are the residues of a modulus, and a few base blocks are moved round through all of them. That is balanced if
each difference occurs equally often within the base blocks (difference families: Bose 1939). Where the
modulus is one less than the number of points, the last point stays fixed. The seed decides which bot is which
of the points, again in each cycle.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterator, Sequence
from importlib.resources import files

from happycity.errors import FieldError
from happycity.rules.shuffling import shuffled
from happycity_tournament.schedule.schedule import Field, FixedSchedule

MOST_BOTS = 21
"""The largest field with a design for tables of three to five; any field has one for tables of two."""
FEW_TABLES = 126
"""If all combinations are no more tables than this, they are played: they balance threesomes as well."""

Block = tuple[int, ...]

# Found by integer programming over the orbits of blocks. A pair meets as rarely as whole numbers allow, but
# for (10, 4), where half as often takes a design of another kind, and (15, 5), where no design is half as
# large: it would be part of a symmetric one on 22 points (Hall & Connor 1954), and there is none (Shrikhande
# 1950). A block with one number too few contains the fixed point.
_DESIGNS = "round_robin.csv"
"""The base blocks by the numbers of bots and of seats."""


class RoundRobinSchedule(FixedSchedule):
    """The whole design, `cycles` times on different deals; ConfigError if none is known for so many bots."""

    def __init__(self, field: Field, *, cycles: int) -> None:
        self._cycles = cycles
        self._design = balanced_rounds(bots=len(field.bots), seats=field.seats)
        super().__init__(field, tables=cycles * sum(map(len, self._design)))

    def lineups(self) -> Iterator[list[list[str]]]:
        """Yield each round's lineups."""
        for cycle in range(1, self._cycles + 1):
            rng = self._field.rng("round robin", cycle)
            bots = shuffled(self._field.bots, rng)
            for tables in shuffled(self._design, rng):
                yield [shuffled((bots[point] for point in block), rng) for block in tables]


def balanced_rounds(*, bots: int, seats: int) -> list[list[Block]]:
    """Return the tables of a balanced design, by rounds in which nobody sits at two tables.

    Bots are numbers from 0. Every bot plays equally often, and every pair meets equally often. ConfigError if
    no design is known.
    """
    if seats == 2:
        return _circle(bots)
    if math.comb(bots, seats) <= FEW_TABLES:
        return _packed(list(itertools.combinations(range(bots), seats)))
    if bots > MOST_BOTS:
        raise FieldError(
            "bots", f"{bots} are too many for a round robin of {seats} seats, which takes {MOST_BOTS} at most"
        )
    return _packed(_developed(bots=bots, seats=seats))


def _circle(bots: int) -> list[list[Block]]:
    """Return the rounds of all pairs: everybody moves round a circle, the last one of an even field stays."""
    modulus = bots - 1 + bots % 2
    starter = [(step, modulus - step) for step in range(1, modulus // 2 + 1)]
    if modulus < bots:
        starter.append((0, modulus))
    return [[_moved(pair, shift, modulus) for pair in starter] for shift in range(modulus)]


def _developed(*, bots: int, seats: int) -> list[Block]:
    with files("happycity_tournament.schedule").joinpath(_DESIGNS).open(encoding="utf-8") as file:
        rows = {(row["bots"], row["seats"]): row["base_blocks"] for row in csv.DictReader(file)}
    bases = [tuple(map(int, base.split())) for base in rows[str(bots), str(seats)].split(",")]
    fixed_point = any(len(base) < seats for base in bases)
    modulus = bots - fixed_point
    full = [base if len(base) == seats else (*base, modulus) for base in bases]
    return [block for base in full for block in _orbit(base, modulus)]


def _orbit(base: Block, modulus: int) -> Iterator[Block]:
    """Yield each different block that moving `base` round gives."""
    seen = set()
    for shift in range(modulus):
        block = _moved(base, shift, modulus)
        if frozenset(block) not in seen:
            seen.add(frozenset(block))
            yield block


def _moved(block: Block, shift: int, modulus: int) -> Block:
    return tuple((point + shift) % modulus if point < modulus else point for point in block)


def _packed(blocks: Sequence[Block]) -> list[list[Block]]:
    """Put each block into the first round in which none of its bots plays yet."""
    rounds: list[list[Block]] = []
    playing: list[set[int]] = []
    for block in blocks:
        free = next((number for number, busy in enumerate(playing) if busy.isdisjoint(block)), len(rounds))
        if free == len(rounds):
            rounds.append([])
            playing.append(set())
        rounds[free].append(block)
        playing[free].update(block)
    return rounds
