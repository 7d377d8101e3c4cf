"""What a special does beyond its printed values: the one place where effects hook into the game.

A family special has no effect. An expert special (chapter 6) gets one `Effect` in `EFFECTS`; the engine
asks the hooks below and never tests for a card itself. All hooks see the owner's seat and the position
of the special in the owner's city.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from happycity.cards import Card
    from happycity.game import Game


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The hooks of one special; those it doesn't use stay None."""

    price: Callable[[Card, int], int] | None = None
    """Price the owner pays for a card, from the card and its price so far."""
    income: Callable[[Game, int, int], int] | None = None
    """Income on top of the printed one, evaluated whenever income is asked for."""
    taken: Callable[[Game, int, int], None] | None = None
    """What happens at once when the special is taken."""
    before_income: Callable[[Game, int, int], None] | None = None
    """What happens at the start of every income phase."""
    after_income: Callable[[Game, int, int], None] | None = None
    """What happens at the end of every income phase."""
    inhabitants: Callable[[Game, int, int], int] | None = None
    """Inhabitants at the end, on top of the printed ones."""
    hearts: Callable[[Game, int, int], int] | None = None
    """Hearts at the end, on top of the printed ones."""
    points: Callable[[Game, int, int], int] | None = None
    """The owner's final points, from game, seat and the points so far."""


EFFECTS: dict[Card, Effect] = {}
"""The effect of each special that has one."""
