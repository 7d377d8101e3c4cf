"""The ratings of a tournament over its games, for charts."""

from __future__ import annotations

from collections.abc import Sequence

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.likelihood import Choices, choices_of, fit
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

MAX_HISTORY_BOTS = 100
"""With more bots no history is kept."""


def elos_after(games: Games, lengths: Sequence[dict[int, int]]) -> list[list[float]]:
    """Return the Elo of all bots after the first games of each table size, as many as each entry says.

    Each fit begins at the one before, and takes its choices over.
    """
    choices, strengths, elos = Choices.none(len(games.bots)), None, list[list[float]]()
    before: dict[int, int] = {}
    for length in lengths:
        choices = choices.plus(choices_of(games.between(before, length)))
        strengths = fit(choices, start=strengths).strengths
        elos.append((MEAN_ELO + ELO_PER_LOGIT * (strengths - strengths.mean())).tolist())
        before = length
    return elos
