"""How much larger the errors of ratings are because results chose some of the games."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Floats, GamesBuilder
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.results import FIXED_SCHEDULE, ErrorRatios
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from happycity_tournament.schedule.field import deal_seed_of
from happycity_tournament.schedule.replays import (
    PlayedTournament,
    chosen_by_results,
    error_ratios,
    first_choice,
)


class ErrorRatioCounter:
    """Tells the games that results chose from those that were fixed beforehand, by their deals."""

    def __init__(self, tournaments: Iterable[tuple[TournamentConfig, Sequence[str]]]) -> None:
        """Begin without games; those of tournaments that aren't among these are taken for fixed.

        With each tournament come the names by which its bots are rated.
        """
        self._tournaments = [(config, names) for config, names in tournaments if chosen_by_results(config)]
        self._rounds = [0] * len(self._tournaments)
        """The last round of each of these tournaments."""
        self._deals: dict[int, tuple[int, int]] = {}
        """The tournament and the round of each deal seed."""
        self._expected: dict[int, frozenset[str]] = {}
        """The bots that this version's schedule gives some deals to."""
        for number, (config, names) in enumerate(self._tournaments):
            rated_as = dict(zip(config.bots, names, strict=True))
            tables = len(config.bots) // config.game.players
            for round_number in range(1, config.rounds + 1):
                for table in range(tables):
                    self._deals[deal_seed_of(config.seed, round_number, table)] = number, round_number
            for (round_number, table), bots in first_choice(config).items():
                expected = frozenset(rated_as[bot] for bot in bots)
                self._expected[deal_seed_of(config.seed, round_number, table)] = expected
        self._unknown = False
        self._fixed = GamesBuilder([])

    @property
    def expects_games(self) -> bool:
        """Whether results chose games of any of the tournaments; else there is nothing to count."""
        return bool(self._tournaments)

    def add(self, game: FinishedGame) -> None:
        """Count a rated game."""
        self.add_row(game.bots, game.places, game.deal_seed)

    def add_row(self, bots: Sequence[str], places: Sequence[int], deal_seed: int) -> None:
        """Count a rated game by the names of its bots and their places, by seat."""
        if not self._tournaments:
            return
        chosen = self._deals.get(deal_seed)
        if chosen is None:
            self._fixed.add_row(self._fixed.indexes(bots), places, deal_seed)
            return
        number, round_number = chosen
        self._rounds[number] = max(round_number, self._rounds[number])
        self._unknown |= self._expected.get(deal_seed, frozenset(bots)) != frozenset(bots)

    def ratios(self, elos: Mapping[str, float], covariance: Floats) -> ErrorRatios:
        """Return by how much the errors of these ratings are too small, as `rate` takes it.

        They are infinite where another version's schedule chose games.
        """
        if self._unknown:
            return ErrorRatios(math.inf, math.inf)
        played = [
            PlayedTournament(config, rounds, names)
            for (config, names), rounds in zip(self._tournaments, self._rounds, strict=True)
            if rounds
        ]
        if not played:
            return FIXED_SCHEDULE
        return error_ratios(played, elos, covariance, fixed_information=self._fixed_information(list(elos)))

    def _fixed_information(self, bots: list[str]) -> Floats | None:
        """Return what the fixed games say of the strengths of these bots; None without any."""
        games = self._fixed.build()
        if not games.tables:
            return None
        known = np.linalg.pinv(rate(games).covariance / ELO_PER_LOGIT**2, hermitian=True)
        index = [bots.index(bot) for bot in games.bots]
        information = np.zeros((len(bots), len(bots)))
        information[np.ix_(index, index)] = known
        return information
