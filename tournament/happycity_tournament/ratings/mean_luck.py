"""How lucky bots were on average: more than chance allows is what only a bot that knows the deck can be.

The luck of a game has the mean 0 for every bot that sees no hidden card, however it plays and whatever the
evaluator thinks. A bot that knows which cards come chooses the draws that gain, and so its mean is above 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.comparison import clustered_error
from happycity_tournament.ratings.statistics import student_margin

MOST_ERRORS = 4.0
"""Standard errors above 0 up to which luck is taken for chance."""
MIN_DEALS = 20
"""Deals of a bot below which its error is known too badly to call it too lucky."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanLuck:
    """What a bot won by chance, by its games whose luck is known."""

    bot: str
    seats: int
    """Its seats in these games."""
    deals: int
    places: float
    """The mean over its seats, in places; above 0 is good luck."""
    error: float
    """Standard error of the mean, by deals."""

    @property
    def margin(self) -> float | None:
        """Half of the 95% interval; None with fewer than two deals."""
        return student_margin(self.deals, self.error)

    @property
    def deviation(self) -> float:
        """How many standard errors the mean is above 0; 0 without an error."""
        return self.places / self.error if self.error else 0.0

    @property
    def is_too_lucky(self) -> bool:
        """Whether chance doesn't explain the mean."""
        return self.deals >= MIN_DEALS and self.deviation > MOST_ERRORS

    @property
    def text(self) -> str:
        """What is odd about it, in a sentence."""
        return (
            f"{self.bot} won {self.places:+.3f} places a game by luck, {self.deviation:.1f} standard errors "
            "above 0: more than chance allows, as if it knew which cards come"
        )


def mean_luck(games: Games) -> list[MeanLuck]:
    """Return the mean luck of each bot that played, in their order; nothing if the luck isn't known."""
    bots, deals, lucks = [], [], []
    for table in games.parts():
        if table.luck is None:
            return []
        bots.append(table.bots.ravel())
        deals.append(np.repeat(table.deals, table.bots.shape[1]))
        lucks.append(table.luck.ravel())
    found = []
    for number, bot in enumerate(games.bots if bots else ()):
        own = np.concatenate(bots) == number
        if own.any():
            luck, of = np.concatenate(lucks)[own], np.concatenate(deals)[own]
            count, error = len(np.unique(of)), clustered_error(luck, of) or 0.0
            seats, mean = len(luck), float(luck.mean())
            found.append(MeanLuck(bot=bot, seats=seats, deals=count, places=mean, error=error))
    return found
