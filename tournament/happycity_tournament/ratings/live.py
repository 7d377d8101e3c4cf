"""The ratings of a tournament while it runs: those that its end would have if it ended now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Floats, Games, GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.likelihood import Choices, choices_of, fit
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

MAX_HISTORY_BOTS = 100
"""With more bots no history is kept."""

_SAMPLES = 20  # at least, once there are as many games


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

    def add(self, result: FinishedGame) -> None:
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


class RatingHistory:
    """The ratings after some of the games, evenly spread over them, for a chart.

    All of them are distances from the mean of all bots, also of those that have left or haven't played yet.
    """

    def __init__(self, bots: Sequence[str], *, error_factor: float = 1.0) -> None:
        """Begin without games; errors are `error_factor` times those of a fixed schedule."""
        self.ratings = LiveRatings(bots, error_factor=error_factor)
        """The present ratings."""
        self._step = 1
        self._games = 0
        self._samples: dict[int, dict[int, int]] = {}
        """Numbers of games, and how many of them were at tables of each size."""
        self._elos: dict[int, list[float]] = {}
        """By the number of games: what was estimated."""
        self.played: dict[str, tuple[int, int]] = {}
        """The first and the last game of each bot, counted from 1."""

    def add(self, game: FinishedGame) -> None:
        """Count a game."""
        self.ratings.add(game)
        self._games += 1
        for bot in game.bots:
            first, _ = self.played.get(bot, (self._games, 0))
            self.played[bot] = (first, self._games)
        if self._games % self._step:
            return
        self._samples[self._games] = self.ratings.builder.lengths()
        if len(self._samples) == 2 * _SAMPLES:
            self._step *= 2
            self._samples = {
                games: lengths for games, lengths in self._samples.items() if not games % self._step
            }

    def samples(self) -> list[tuple[int, list[float]]]:
        """Return numbers of games, ascending to all games, and the Elo of all bots after them.

        What was returned once isn't estimated again.
        """
        return self.later(self.ratings.builder.build())()

    def later(self, games: Games) -> Callable[[], list[tuple[int, list[float]]]]:
        """Return what computes `samples` of the games so far, in any thread, while more games are counted."""
        wanted, known = {**self._samples, self._games: self.ratings.builder.lengths()}, self._elos
        wanted.pop(0, None)

        def estimate() -> list[tuple[int, list[float]]]:
            new = [number for number in wanted if number not in known]
            found = _elos_after(games, [wanted[number] for number in new])
            elos = {**known, **dict(zip(new, found, strict=True))}
            self._elos = {number: elos[number] for number in wanted}
            return list(self._elos.items())

        return estimate

    def takes_part(self, bot: str, games: int) -> bool:
        """Return whether a bot had joined, and had not left, after this number of games."""
        if bot not in self.played:
            return False
        first, last = self.part(bot)
        return first <= games <= last

    def part(self, bot: str) -> tuple[int, int]:
        """Return the first and the last number of games at which a bot that has played takes part."""
        first, last = self.played[bot]
        return first, last + self._step


def _elos_after(games: Games, lengths: Sequence[dict[int, int]]) -> list[list[float]]:
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
