"""The ratings of a tournament while it runs: those that its end would have if it ended now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import CountedGame
from happycity_tournament.ratings.columns import Floats, Games, GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.likelihood import Choices, choices_of, fit
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

MAX_HISTORY_BOTS = 100
"""With more bots no history is kept."""


class LiveRatings:
    """Rates bots from results that come one by one.

    A result costs a microsecond or two. The likelihood is maximised when somebody reads the ratings, and not
    again before the next result. They depend on the games alone, not on when they were read.
    """

    def __init__(self, bots: Sequence[str], *, error_factor: float = 1.0) -> None:
        """Begin without games; errors are `error_factor` times those of a fixed schedule."""
        self.builder = GamesBuilder(bots)
        """The games so far."""
        self.error_factor = error_factor
        self._rated: Ratings | None = None

    def add(self, result: CountedGame) -> None:
        """Count a game by its places.

        Raises:
            KeyError: a bot in it is not rated.
        """
        self.builder.add(result)
        self._rated = None

    def ratings(self) -> Ratings:
        """Return the ratings after the games so far."""
        if self._rated is None:
            self._rated = self.later()()
        return self._rated

    def later(self) -> Callable[[], Ratings]:
        """Return what computes `ratings` of the games so far, in any thread, while more games are counted."""
        if self._rated is not None:
            rated = self._rated
            return lambda: rated
        games = self.builder.build()
        return lambda: rate(estimate_of(games), error_factor=self.error_factor)


def elos_after(games: Games, lengths: Sequence[dict[int, int]]) -> list[list[float]]:
    """Return the Elo of all bots after the first games of each table size, as many as each entry says.

    Each fit begins at the one before, and takes its choices over.
    """
    choices, strengths, elos = Choices.none(len(games.bots)), None, list[list[float]]()
    before: dict[int, int] = {}
    for length in lengths:
        choices = choices.plus(choices_of(games.between(before, length)))
        strengths = fit(choices, start=strengths).strengths
        elos.append(_from_mean(strengths).tolist())
        before = length
    return elos


def _from_mean(strengths: Floats) -> Floats:
    distances: Floats = MEAN_ELO + ELO_PER_LOGIT * (strengths - strengths.mean())
    return distances
