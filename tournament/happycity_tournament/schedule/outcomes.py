"""How two seats of a game compare."""

from __future__ import annotations

WIN = 2
"""Half points for the better place; a shared place is worth half of it."""


def half_points(place: int, other: int) -> int:
    """Return what a seat's place scores against another's: 2 for a better one, 1 for a shared one, else 0."""
    if place == other:
        return 1
    return WIN if place < other else 0
