"""The live ratings over the games of a tournament."""

from __future__ import annotations

from collections.abc import Sequence

from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.live import LiveElo

MAX_HISTORY_BOTS = 100
"""With more bots no history is kept: a sample of 500 bots takes a tenth of a second."""

_SAMPLES = 40  # at least, once there are as many games


class RatingHistory:
    """The live ratings (`ratings.live`) after some of the games, evenly spread over them."""

    def __init__(self, bots: Sequence[str]) -> None:
        self.elo = LiveElo(bots)
        """The present ratings."""
        self._step = 1
        self._games = 0
        self._samples: list[tuple[int, list[float]]] = []
        self.played: dict[str, tuple[int, int]] = {}
        """The first and the last game of each bot, counted from 1."""

    def add(self, game: FinishedGame) -> None:
        """Count a game."""
        self.elo.add(game)
        self._games += 1
        for bot in game.bots:
            first, _ = self.played.get(bot, (self._games, 0))
            self.played[bot] = (first, self._games)
        if self._games % self._step:
            return
        self._samples.append(self._now())
        if len(self._samples) == 2 * _SAMPLES:
            self._samples = self._samples[1::2]
            self._step *= 2

    def samples(self) -> list[tuple[int, list[float]]]:
        """Return numbers of games, ascending to all games, and the Elo of all bots after them."""
        if self._games and (not self._samples or self._samples[-1][0] != self._games):
            return [*self._samples, self._now()]
        return list(self._samples)

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

    def _now(self) -> tuple[int, list[float]]:
        return self._games, self.elo.elos()
