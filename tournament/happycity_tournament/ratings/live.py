"""The ratings of a tournament while it runs: those that its end would have if it ended now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from happycity_tournament.games import CountedGame
from happycity_tournament.ratings.columns import Games, GamesBuilder
from happycity_tournament.ratings.comparisons import comparisons_of
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.final import lines_of
from happycity_tournament.ratings.fit import fit
from happycity_tournament.ratings.results import FIXED_SCHEDULE, Comparisons, ErrorRatios, RatedBot


class LiveRatings:
    """Rates bots from results that come one by one.

    A result costs a microsecond or two. The likelihood is maximised when somebody reads the ratings, and not
    again before the next result. They depend on the games alone, not on when they were read.
    """

    def __init__(self, bots: Sequence[str], *, error_ratios: ErrorRatios = FIXED_SCHEDULE) -> None:
        """Begin without games; `error_ratios` say how much larger errors are than in a fixed schedule."""
        self.builder = GamesBuilder(bots)
        """The games so far."""
        self.error_ratios = error_ratios
        self._rated: tuple[list[RatedBot], Comparisons] | None = None

    def add(self, result: CountedGame) -> None:
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

    def later(self) -> Callable[[], list[RatedBot]]:
        """Return what computes `lines` of the games so far, in any thread, while more games are counted."""
        if self._rated is not None:
            return self._rated[0].copy
        games = self.builder.build()
        return lambda: live_ratings(games, error_ratios=self.error_ratios)[0]

    def _current(self) -> tuple[list[RatedBot], Comparisons]:
        if self._rated is None:
            self._rated = live_ratings(self.builder.build(), error_ratios=self.error_ratios)
        return self._rated


def live_ratings(games: Games, *, error_ratios: ErrorRatios) -> tuple[list[RatedBot], Comparisons]:
    """Return ratings without ranks, and what is known of each pair, with so much larger errors."""
    estimate = fit(games)
    comparisons = comparisons_of(estimate, sandwich(estimate), error_ratios)
    return lines_of(estimate, comparisons), comparisons
