"""What the coins of a city may still become, in points at the end of the game.

The future of a city is reduced to its purse, its income, its inhabitants and hearts, the positions still free
and the turns that its owner still has. The constants were found by letting bots with different ones play each
other.
"""

from __future__ import annotations

from typing import Final

from happycity.rules.cards import CARDS
from happycity.rules.deals import CITY_SIZE, Scoring

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
        buys = max(0.0, min(turns, free))  # none without turns or free positions
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
        symbols = money * self._buys / (money + self._half) if money > 0 else 0.0
        spare = coins * COIN_LEFT
        if not self._product:
            return inhabitants + hearts + symbols + spare
        weighted = inhabitants * INHABITANT
        if -symbols <= weighted - hearts <= symbols:
            total = weighted + hearts + symbols
            return total * total / (4 * INHABITANT) + spare if total > 0 else spare
        behind, ahead = (hearts, weighted) if weighted > hearts else (weighted, hearts)
        behind += symbols
        return behind * ahead / INHABITANT + spare if behind > 0 else spare


def _outlook_table(scoring: Scoring) -> list[list[Outlook]]:
    """Return the outlooks of all cities, by turns and by free positions."""
    # Index -1, too, is that of -1 positions: of a full city with one more card.
    positions = (*range(CITY_SIZE + 1), -1)
    return [
        [Outlook(scoring, free=free, turns=turns) for free in positions] for turns in range(CITY_SIZE + 1)
    ]


_PRODUCT: Final = Scoring.PRODUCT
_BY_PRODUCT: Final = _outlook_table(Scoring.PRODUCT)
_BY_SUM: Final = _outlook_table(Scoring.SUM)


def outlooks(scoring: Scoring, turns: int) -> list[Outlook]:
    """Return what a city has before it in this number of turns, by its free positions."""
    return (_BY_PRODUCT if scoring is _PRODUCT else _BY_SUM)[turns]
