"""What the games of a tournament show beside its standings: pairs, points, history, worst losses."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.live import MAX_HISTORY_BOTS, LiveRatings, RatingHistory
from happycity_tournament.ratings.results import Difference, Ratings
from happycity_tournament.ratings.spread import Spread

MAX_LOSSES = 10
"""Losses that are kept of each bot, the worst ones."""


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """A game that a bot lost; the least of several is the one that was lost by least."""

    behind: int
    """Points that the winner had more."""
    match_id: int


@dataclass(frozen=True, slots=True)
class Meeting:
    """How a bot did against another one, over all their games."""

    opponent: str
    games: int
    """How often they met; a bot in several seats of a game counts for each."""
    score: float
    """The share of the games in which it had the better place, 0 to 1; a shared place counts half."""
    difference: Difference | None
    """How much higher it is rated, by all games of all bots; None with too few deals."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures after some number of games. They don't change any more."""

    bots: Sequence[str]
    """In the order of the configuration."""
    points: Mapping[str, Spread]
    """By bot: how often it made how many points."""
    losses: Mapping[str, Sequence[Loss]]
    """By bot: its worst losses, the worst one first."""
    samples: Sequence[tuple[int, Sequence[float]]]
    """Numbers of games, ascending, and the Elo of all bots after them; empty with too many bots."""
    parts: Mapping[str, tuple[int, int]]
    """By bot: the first and the last of these numbers of games at which it took part."""
    _ratings: Ratings
    _scores: Floats

    def meetings(self, bot: str) -> Iterator[Meeting]:
        """Yield how a bot did against each of those that it met."""
        row = self.bots.index(bot)
        for column, opponent in enumerate(self.bots):
            games = round(self._scores[row, column] + self._scores[column, row])
            if games:
                yield Meeting(
                    opponent=opponent,
                    games=games,
                    score=float(self._scores[row, column]) / games,
                    difference=self._ratings.difference(bot, opponent),
                )

    def history(self, bot: str) -> list[tuple[int, float]]:
        """Return the Elo of a bot by the number of games, from its first game to its last."""
        if bot not in self.parts:
            return []
        index, (first, last) = self.bots.index(bot), self.parts[bot]
        return [(games, elos[index]) for games, elos in self.samples if first <= games <= last]


class FiguresCounter:
    """Counts the rated games of a tournament, in the order of its schedule."""

    def __init__(self, bots: Sequence[str], *, error_factor: float = 1.0) -> None:
        """Begin without games; errors are `error_factor` times those of a fixed schedule."""
        self._bots = tuple(bots)
        self._history = (
            RatingHistory(bots, error_factor=error_factor) if len(bots) <= MAX_HISTORY_BOTS else None
        )
        self.ratings = (
            LiveRatings(bots, error_factor=error_factor) if self._history is None else self._history.ratings
        )
        """The present ratings."""
        self._points = {bot: Spread() for bot in bots}
        self._losses: dict[str, list[Loss]] = {bot: [] for bot in bots}

    def add(self, game: FinishedGame) -> None:
        """Count a game.

        Raises:
            KeyError: a bot in it does not take part.
        """
        if self._history is not None:
            self._history.add(game)
        else:
            self.ratings.add(game)
        most = max([seat.points for seat in game.seats])
        for bot, seat in zip(game.bots, game.seats, strict=True):
            self._points[bot][seat.points] += 1
            if seat.place > 1 and not seat.forfeited:
                losses, loss = self._losses[bot], Loss(max(0, most - seat.points), game.match_id)
                if len(losses) < MAX_LOSSES:
                    heapq.heappush(losses, loss)
                elif losses[0] < loss:
                    heapq.heapreplace(losses, loss)

    def figures(self) -> Figures:
        """Return the figures of the games so far."""
        return self.later()()

    def later(self) -> Callable[[], Figures]:
        """Return what computes `figures` of the games so far, in any thread, while more games are counted."""
        history, games = self._history, self.ratings.builder.build()
        samples = None if history is None else history.later(games)
        ratings = self.ratings.later()
        parts = {} if history is None else {bot: history.part(bot) for bot in history.played}
        points = {bot: Spread(points) for bot, points in self._points.items()}
        losses = {bot: sorted(losses, reverse=True) for bot, losses in self._losses.items()}
        return lambda: Figures(
            bots=self._bots,
            points=points,
            losses=losses,
            samples=[] if samples is None else samples(),
            parts=parts,
            _ratings=ratings(),
            _scores=games.scores(),
        )
