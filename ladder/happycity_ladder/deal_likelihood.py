"""The likelihood of one deal of the ladder, by the model of all ratings (see `ratings.likelihood`).

Seats have no effects: a bot has each seat once in a deal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from happycity_tournament.ratings.columns import Floats, Games, TableColumns
from happycity_tournament.ratings.likelihood import Derivatives, choices_of, derivatives, game_scores


class DealLikelihood:
    """The likelihood of the results of one deal.

    Args:
        places: [rotation][bot]: the place of each bot; equal ones are shared.
    """

    def __init__(self, places: Sequence[Sequence[int]]) -> None:
        rotations, players = len(places), len(places[0])
        bots = np.tile(np.arange(players), (rotations, 1))
        self._table = TableColumns(bots, np.array(places), np.zeros(rotations, dtype=np.int64))
        self._choices = choices_of(Games(("",) * players, {players: self._table}))

    def derivatives(self, strengths: Floats) -> Derivatives:
        """Return value and derivatives at the strengths of the bots, in logits."""
        return derivatives(self._choices, strengths)

    def scores(self, strengths: Floats) -> Floats:
        """Return the derivatives of each game's likelihood, [game, bot]."""
        return game_scores(self._table, strengths)
