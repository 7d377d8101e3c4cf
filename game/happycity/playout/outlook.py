"""What the coins of a city may still become, in points at the end of the game.

The future of a city is reduced to its purse, its income, its inhabitants and hearts, the positions still free
and the turns that its owner still has. The constants were found by letting bots with different ones play each
other.
"""

from __future__ import annotations

from typing import Final

from happycity.rules.cards import CARDS
from happycity.rules.deals import Scoring

SYMBOLS_AT_MOST: Final = 3.2
"""Inhabitants and hearts that one bought card brings if money is no object."""
HALF_PRICE: Final = 3.5
"""Coins a card at which it brings half as much as that."""
INHABITANT: Final = 0.96
"""What an inhabitant costs to come by, measured in hearts."""
STRETCH: Final = 0.73
"""Turns an owner takes to fill one free position: below 1, as a special takes no turn."""
INCOME: Final = 0.98
"""Share of the income still to come that will be spent well."""
COIN_LEFT: Final = 0.02
"""Points that a coin is worth at the end: coins only break ties (article 4.4)."""

VALUES: Final[tuple[tuple[int, int, int, int], ...]] = (
    (0, 0, 0, 0),
    *((card.income, card.inhabitants, card.hearts, int(card.colour or 0)) for card in CARDS),
)
"""Income, inhabitants, hearts and colour (0 for none) by card number; number 0 is no card."""


class Outlook:
    """The turns and free positions a city has left: they say what its coins may still become."""

    __slots__ = ("_buys", "_half", "_product", "_turns")

    def __init__(self, scoring: Scoring, *, free: int, turns: float) -> None:
        turns = min(turns, free * STRETCH)
        buys = min(turns, free)
        self._turns = turns * INCOME
        self._buys = buys * SYMBOLS_AT_MOST
        self._half = buys * HALF_PRICE
        self._product = scoring is Scoring.PRODUCT

    def points(self, coins: float, income: float, inhabitants: float, hearts: float) -> float:
        """Estimate the points at the end of a city with these coins and totals.

        The money still to come is spread over the purchases still to come; a purchase brings the more
        symbols the more is spent on it, with diminishing returns. The symbols make up for whichever of
        inhabitants and hearts is behind, then for both.
        """
        money = coins + income * self._turns
        symbols = money * self._buys / (money + self._half) if self._buys > 0 and money > 0 else 0.0
        spare = coins * COIN_LEFT
        if not self._product:
            return inhabitants + hearts + symbols + spare
        people = inhabitants * INHABITANT
        if abs(people - hearts) <= symbols:
            total = people + hearts + symbols
            return total * total / (4 * INHABITANT) + spare if total > 0 else spare
        behind, ahead = (hearts, people) if people > hearts else (people, hearts)
        behind += symbols
        return behind * ahead / INHABITANT + spare if behind > 0 else spare
