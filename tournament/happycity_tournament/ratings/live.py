"""The ratings of a tournament while it runs: those that its end would have if it ended now."""

from __future__ import annotations

from collections.abc import Sequence

from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.comparisons import comparisons_of
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.final import lines_of
from happycity_tournament.ratings.fit import fit
from happycity_tournament.ratings.results import Comparisons, RatedBot


class LiveRatings:
    """Rates bots from results that come one by one.

    A result costs a microsecond or two. The likelihood is maximised when somebody reads the ratings, and not
    again before the next result. They depend on the games alone, not on when they were read.
    """

    def __init__(self, bots: Sequence[str]) -> None:
        self.builder = GamesBuilder(bots)
        """The games so far."""
        self._rated: tuple[list[RatedBot], Comparisons] | None = None

    def add(self, result: FinishedGame) -> None:
        """Count a game by its places.

        Raises:
            KeyError: a bot in it is not rated.
        """
        self.builder.add(result)
        self._rated = None

    def lines(self) -> list[RatedBot]:
        """Return the rating of every bot, in the order in which the bots were given, without ranks."""
        return self._current()[0]

    def comparisons(self) -> Comparisons:
        """Return what is known of each pair of bots."""
        return self._current()[1]

    def _current(self) -> tuple[list[RatedBot], Comparisons]:
        if self._rated is None:
            estimate = fit(self.builder.build())
            comparisons = comparisons_of(estimate, sandwich(estimate))
            self._rated = lines_of(estimate, comparisons), comparisons
        return self._rated
