"""Gauntlet: challengers against the field, to place them among bots that are rated already."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from happycity.errors import FieldError, suggestion
from happycity.rules.shuffling import shuffled
from happycity_tournament.schedule.schedule import Field, FixedSchedule


class GauntletSchedule(FixedSchedule):
    """Each table seats one challenger and some of the other bots, its opponents.

    A cycle is a round. In it each challenger meets each opponent equally often, and all challengers meet the
    same lineups. A bot may sit at several tables of a round. ConfigError if a challenger is unknown or named
    twice, or there are too few opponents to fill a table.
    """

    def __init__(self, field: Field, *, challengers: Sequence[str], cycles: int) -> None:
        _check_challengers(challengers, field)
        self._cycles = cycles
        self._challengers = challengers
        self._opponents = [bot for bot in field.bots if bot not in challengers]
        lineups = lineup_count(len(self._opponents), size=field.seats - 1)
        super().__init__(field, tables=cycles * len(challengers) * lineups)

    def lineups(self) -> Iterator[Iterator[list[str]]]:
        """Yield the lineups of each cycle's tables."""
        return map(self._tables, range(1, self._cycles + 1))

    def _tables(self, cycle: int) -> Iterator[list[str]]:
        rng = self._field.rng("gauntlet", cycle)
        for lineup in lineups(shuffled(self._opponents, rng), size=self._field.seats - 1):
            for challenger in self._challengers:
                yield shuffled([challenger, *lineup], rng)


def lineup_count(opponents: int, *, size: int) -> int:
    """Return the smallest number of lineups of `size` in which all opponents are equally often."""
    return opponents // math.gcd(opponents, size)


def lineups(opponents: Sequence[str], *, size: int) -> Iterator[list[str]]:
    """Yield lineups in which every opponent is equally often, going round until nobody is left over."""
    for first in range(0, lineup_count(len(opponents), size=size) * size, size):
        yield [opponents[(first + place) % len(opponents)] for place in range(size)]


def _check_challengers(challengers: Sequence[str], field: Field) -> None:
    if not challengers:
        raise FieldError("challengers", "there are none")
    for challenger in challengers:
        if challenger not in field.bots:
            name = challenger[:80]
            raise FieldError(
                "challengers", f"{name!r} is not one of the bots; {suggestion(name, field.bots)}"
            )
        if challengers.count(challenger) > 1:
            raise FieldError("challengers", f"{challenger!r} is named more than once")
    opponents = len(field.bots) - len(challengers)
    if opponents < field.seats - 1:
        raise FieldError(
            "challengers", f"they leave {opponents} opponents, too few for a table of {field.seats} seats"
        )
