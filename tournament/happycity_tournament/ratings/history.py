"""The ratings over the games of a tournament."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from happycity_tournament.games import CountedGame
from happycity_tournament.ratings.columns import Games
from happycity_tournament.ratings.final import elos_of
from happycity_tournament.ratings.fit import fit, fits_of_first_games
from happycity_tournament.ratings.live import LiveRatings
from happycity_tournament.ratings.results import FIXED_SCHEDULE, ErrorRatios

MAX_HISTORY_BOTS = 100
"""With more bots no history is kept."""

_SAMPLES = 20  # at least, once there are as many games


class RatingHistory:
    """The live ratings (`ratings.live`) after some of the games, evenly spread over them.

    Those before the last ones are exact to some tenths of an Elo.
    """

    def __init__(self, bots: Sequence[str], *, error_ratios: ErrorRatios = FIXED_SCHEDULE) -> None:
        """Begin without games; `error_ratios` say how much larger errors are than in a fixed schedule."""
        self.ratings = LiveRatings(bots, error_ratios=error_ratios)
        """The present ratings."""
        self._step = 1
        self._games = 0
        self._samples: dict[int, dict[int, int]] = {}
        """Numbers of games, and how many of them were at tables of each size."""
        self._elos: dict[int, list[float]] = {}
        """By the number of games: what was estimated."""
        self.played: dict[str, tuple[int, int]] = {}
        """The first and the last game of each bot, counted from 1."""

    def add(self, game: CountedGame) -> None:
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
        samples = {number: lengths for number, lengths in self._samples.items() if number < self._games}
        played, known = self._games, self._elos

        def estimate() -> list[tuple[int, list[float]]]:
            if not played:
                return []
            new = {number: lengths for number, lengths in samples.items() if number not in known}
            fits = fits_of_first_games(games, new.values())
            found = known | {number: elos_of(one).tolist() for number, one in zip(new, fits, strict=True)}
            if played not in known:
                found[played] = elos_of(fit(games)).tolist()  # the chart ends at the ratings
            elos = self._elos = {number: found[number] for number in (*samples, played)}
            return list(elos.items())

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
