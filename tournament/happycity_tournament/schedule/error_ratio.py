"""How much larger the errors of ratings are because results chose some of the games."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Floats, GamesBuilder
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from happycity_tournament.schedule.replays import (
    PlayedTournament,
    chosen_by_results,
    error_ratio,
    first_choice,
)


class ErrorRatioCounter:
    """Tells the games that results chose from those that were fixed beforehand."""

    def __init__(self, tournaments: Mapping[Any, TournamentConfig], bots: Sequence[str]) -> None:
        """Begin without games; those of tournaments that aren't named here are taken for fixed."""
        self._tournaments = {key: config for key, config in tournaments.items() if chosen_by_results(config)}
        self._rounds: dict[Hashable, int] = {}
        """The last round of each of these tournaments."""
        self._expected = {key: first_choice(config) for key, config in self._tournaments.items()}
        self._unknown = False
        self._fixed = GamesBuilder(bots)
        self._fixed_games = 0

    def add(self, game: FinishedGame, *, tournament: Hashable) -> None:
        """Count a rated game of a tournament.

        Raises:
            KeyError: a bot in it is not rated.
        """
        if tournament in self._tournaments:
            self._rounds[tournament] = max(game.round, self._rounds.get(tournament, 0))
            expected = self._expected[tournament].get(game.deal)
            self._unknown |= expected is not None and expected != frozenset(game.bots)
        elif self._tournaments:  # else nobody asks for them
            self._fixed.add(game)
            self._fixed_games += 1

    def ratio(self, elos: Mapping[str, float], covariance: Floats) -> float:
        """Return by how much the errors of these ratings are too small, as `rate` takes it.

        It is 1 where no game was chosen by results, and infinite where another version's schedule did that.
        """
        if self._unknown:
            return math.inf
        played = [PlayedTournament(self._tournaments[key], rounds) for key, rounds in self._rounds.items()]
        if not played:
            return 1.0
        fixed: Floats | None = None
        if self._fixed_games:
            errors = rate(self._fixed.build()).covariance / ELO_PER_LOGIT**2
            fixed = np.linalg.pinv(errors, hermitian=True).astype(np.float64)
        return error_ratio(played, elos, covariance, fixed_information=fixed)
