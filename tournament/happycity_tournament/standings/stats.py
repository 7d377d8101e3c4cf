"""The one counter of games: columns of numbers, from which all stats of bots follow when they are read.

Standings, pages and reports show the same stats of the same games.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from happycity import Ending
from happycity_tournament.config import MEAN_ELO
from happycity_tournament.games import Result
from happycity_tournament.ratings.columns import Flags, Floats, Games, GamesBuilder, Ints, by_size, row_slices
from happycity_tournament.ratings.estimate import Estimate, estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.likelihood import Choices, choices_of, fit
from happycity_tournament.ratings.results import BotStats, Difference, Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

MAX_LOSSES = 10
"""Losses that are shown of each bot, the worst ones."""
MAX_HISTORY_BOTS = 100
"""With more bots there is no history of ratings."""
MAX_ROUND_SPANS = 12
"""Columns of the results by rounds; with more rounds, each has several of them."""
_SAMPLES = 20  # of the history at least, once there are as many games


class Loss(NamedTuple):
    """A game that a bot lost."""

    behind: int
    """Points that the winner had more."""
    match_id: int


class Extreme(NamedTuple):
    """A bot's game with its most or its fewest points."""

    points: int
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
    """How much higher it is rated, by all games of both; None if it isn't known."""

    @property
    def shade(self) -> int:
        """How far the score is from even, 0 to 100."""
        return round(200 * abs(self.score - 0.5))


class RoundScores(NamedTuple):
    """How bots did in rounds of the schedule that follow each other."""

    first: int
    last: int
    scores: Mapping[str, tuple[float, int]]
    """By bot that has opponents there: its score, 0 to 1, and the number of its games."""


@dataclass(frozen=True, slots=True)
class EloHistory:
    """The Elo of bots after numbers of games. All are distances from the mean of the same bots."""

    bots: Sequence[str]
    samples: Sequence[tuple[int, Sequence[float]]]
    """Numbers of games, ascending to all of them, and the Elo of all bots after them; empty with too many
    bots."""
    spans: Mapping[str, tuple[int, int]]
    """The first and the last number of games at which a bot played."""

    def of(self, bot: str) -> list[tuple[int, float]]:
        """Return the Elo of a bot by the number of games, from its first game to its last."""
        first, last = self.spans[bot]
        index = self.bots.index(bot)
        return [(games, elos[index]) for games, elos in self.samples if first <= games <= last]


class _Columns(NamedTuple):
    """What there is of games at tables of one size besides `Games`: by game and seat, and by game."""

    points: array[int]
    forfeited: array[int]
    match_ids: array[int]
    rounds: array[int]


class GameTable:
    """Takes the games that count, in the order of the schedule; one at a table of four takes 44 bytes."""

    def __init__(self, bots: Sequence[str]) -> None:
        """Begin without games."""
        self._builder = GamesBuilder(bots)
        self._columns: dict[int, _Columns] = {}
        self._sizes = array("B")
        """The table size of each game, in their order."""

    def __len__(self) -> int:
        """Return the number of games."""
        return len(self._sizes)

    def add(self, games: Sequence[Result]) -> None:
        """Take the next games.

        Raises:
            KeyError: a bot in one doesn't take part.
        """
        for size, alike in by_size(games):
            self._builder.extend(alike)
            if size not in self._columns:
                self._columns[size] = _Columns(array("i"), array("B"), array("Q"), array("I"))
            columns = self._columns[size]
            columns.points.extend(chain.from_iterable(game.points for game in alike))
            columns.match_ids.extend([game.match_id for game in alike])
            columns.rounds.extend([game.round for game in alike])
            if not any(game.endings for game in alike):
                columns.forfeited.frombytes(bytes(size * len(alike)))
                continue
            finished = (Ending.FINISHED,) * size
            for game in alike:
                endings = game.endings or finished
                columns.forfeited.extend([ending is not Ending.FINISHED for ending in endings])
        self._sizes.extend([len(game.bots) for game in games])

    def stats(self) -> Stats:
        """Return the stats of the games so far, which don't change any more."""
        games = self._builder.build()
        return Stats(
            games,
            {size: np.array(own.points).reshape(-1, size) for size, own in self._columns.items()},
            {size: np.array(own.forfeited, bool).reshape(-1, size) for size, own in self._columns.items()},
            {size: np.array(own.match_ids, np.int64) for size, own in self._columns.items()},
            {size: np.array(own.rounds, np.int64) for size, own in self._columns.items()},
            np.array(self._sizes),
        )


@dataclass(frozen=True, eq=False)
class Stats:
    """The stats after some games; what is asked for is computed then, and once."""

    games: Games
    """The games as ratings take them."""
    _points: Mapping[int, Ints]
    _forfeited: Mapping[int, Flags]
    _match_ids: Mapping[int, Ints]
    _rounds: Mapping[int, Ints]
    _sizes: Ints

    def __len__(self) -> int:
        """Return the number of games."""
        return len(self._sizes)

    @cached_property
    def bots(self) -> Mapping[str, BotStats]:
        """The stats of each bot, in the order of the configuration."""
        games, names = self.games.games_played(), self.games.bots
        totals = np.zeros((6, len(names)))
        for size, columns in self.games.tables.items():
            for rows in row_slices(len(columns.deals)):
                table = columns[rows].wide()
                first = table.places == 1
                alone = first & (first.sum(axis=1, keepdims=True) == 1)
                scores, has_opponents = _scores(table.bots, table.places)
                values = (
                    alone,
                    first & ~alone,
                    scores,
                    has_opponents,
                    table.places,
                    self._points[size][rows],
                )
                for row, value in enumerate(values):
                    totals[row] += np.bincount(table.bots.ravel(), value.ravel(), minlength=len(names))
        return {
            bot: BotStats(
                games=played,
                wins=round(wins),
                shared=round(shared),
                score=score / scored if scored else None,
                place_mean=places / max(1, played),
                points_mean=points / max(1, played),
            )
            for bot, played, wins, shared, score, scored, places, points in zip(
                names, games.tolist(), *totals.tolist(), strict=True
            )
        }

    def extremes(self, bot: str) -> tuple[Extreme, Extreme] | None:
        """Return the first games with a bot's most and fewest points, of those that it didn't forfeit."""
        played = [
            (points, match_id)
            for (points, ids), (forfeited, _) in zip(
                self._of(bot, self._points), self._of(bot, self._forfeited), strict=True
            )
            for points, match_id in zip(points[~forfeited].tolist(), ids[~forfeited].tolist(), strict=True)
        ]
        if not played:
            return None
        return (Extreme(*max(played, key=lambda game: (game[0], -game[1]))), Extreme(*min(played)))

    def losses(self, bot: str) -> list[Loss]:
        """Return the worst losses of a bot, the worst one first, of games that it didn't forfeit."""
        behind = {size: points.max(axis=1, keepdims=True) - points for size, points in self._points.items()}
        lost = {
            size: (table.places > 1) & ~self._forfeited[size] for size, table in self.games.tables.items()
        }
        found = [
            Loss(max(0, by), match_id)
            for (amounts, ids), (was_lost, _) in zip(self._of(bot, behind), self._of(bot, lost), strict=True)
            for by, match_id in zip(amounts[was_lost].tolist(), ids[was_lost].tolist(), strict=True)
        ]
        return sorted(found, reverse=True)[:MAX_LOSSES]

    def meetings(self, bot: str, ratings: Ratings | None = None) -> Iterator[Meeting]:
        """Yield how a bot did against each of those that it met; `ratings` are others of these games."""
        ratings = ratings or self.ratings
        row = self.games.bots.index(bot)
        for column, opponent in enumerate(self.games.bots):
            games = round(self._scores[row, column] + self._scores[column, row])
            if games:
                yield Meeting(
                    opponent=opponent,
                    games=games,
                    score=float(self._scores[row, column]) / games,
                    difference=ratings.difference(bot, opponent),
                )

    def pairs(self, bots: Sequence[str], ratings: Ratings | None = None) -> list[list[Meeting | None]]:
        """Return by row and column how bots did against each other; None where they never met."""
        rows = [{meeting.opponent: meeting for meeting in self.meetings(bot, ratings)} for bot in bots]
        return [[row.get(opponent) for opponent in bots] for row in rows]

    @cached_property
    def rounds(self) -> list[RoundScores]:
        """The scores of bots by rounds, or by equal numbers of them; empty without a schedule."""
        last = max((int(rounds.max(initial=0)) for rounds in self._rounds.values()), default=0)
        width = -(-last // MAX_ROUND_SPANS) or 1
        spans, names = -(-last // width), self.games.bots
        scores, games = np.zeros((2, spans * len(names)))
        for size, columns in self.games.tables.items() if spans else ():
            for rows in row_slices(len(columns.deals)):
                table = columns[rows].wide()
                values, counts = _scores(table.bots, table.places)
                cells = table.bots + len(names) * ((self._rounds[size][rows] - 1) // width)[:, None]
                scores += np.bincount(cells.ravel(), values.ravel(), minlength=len(scores))
                games += np.bincount(cells.ravel(), counts.ravel(), minlength=len(scores))
        return [
            RoundScores(
                1 + width * span,
                min(last, width * (span + 1)),
                {
                    bot: (float(scores[cell] / games[cell]), int(games[cell]))
                    for cell, bot in enumerate(names, start=len(names) * span)
                    if games[cell]
                },
            )
            for span in range(spans)
        ]

    @cached_property
    def history(self) -> EloHistory:
        """The ratings over the games; with many games it takes seconds."""
        bots, total = self.games.bots, len(self)
        if not total or len(bots) > MAX_HISTORY_BOTS:
            return EloHistory(bots, (), dict.fromkeys(bots, (0, 0)))
        step = _step_of(total)
        numbers = sorted({*range(step, total + 1, step), total})
        lengths = [self.lengths(number) for number in numbers]
        elos = _elos_after(self.games, lengths, self.estimate.in_mean)
        spans = {bot: (first, last + step) for bot in bots for first, last in [self.span(bot)]}
        return EloHistory(bots, list(zip(numbers, elos, strict=True)), spans)

    def lengths(self, games: int) -> dict[int, int]:
        """Return how many of the first games were at tables of each size."""
        numbers, counts = np.unique(self._sizes[:games], return_counts=True)
        return dict(zip(numbers.tolist(), counts.tolist(), strict=True))

    def span(self, bot: str) -> tuple[int, int]:
        """Return the numbers of a bot's first and last game, from 1; (0, 0) if it played none."""
        played = np.zeros(len(self._sizes), bool)
        index = self.games.bots.index(bot)
        for size, table in self.games.tables.items():
            played[self._sizes == size] = (table.bots == index).any(axis=1)
        numbers = np.flatnonzero(played)
        return (int(numbers[0]) + 1, int(numbers[-1]) + 1) if len(numbers) else (0, 0)

    @cached_property
    def estimate(self) -> Estimate:
        """The bots' strengths by these games."""
        return estimate_of(self.games)

    @cached_property
    def ratings(self) -> Ratings:
        """The bots' ratings by these games, from the mean of each pool."""
        return rate(self.estimate)

    @cached_property
    def _scores(self) -> Floats:
        return self.games.scores()

    def _of(self, bot: str, values: Mapping[int, Ints | Flags]) -> list[tuple[Ints, Ints]]:
        """Return a bot's values by table size, with the match id of each."""
        index, found = self.games.bots.index(bot), []
        for size, table in self.games.tables.items():
            own = table.bots == index
            found.append((values[size][own], np.broadcast_to(self._match_ids[size][:, None], own.shape)[own]))
        return found


def _scores(bots: Ints, places: Ints) -> tuple[Floats, Flags]:
    """Return by game and seat the share of other bots' seats that it beat, and whether there are any."""
    others = bots[:, :, None] != bots[:, None, :]
    ahead = (1 + np.sign(places[:, None, :] - places[:, :, None])) / 2
    counts = others.sum(axis=2)
    scores: Floats = (ahead * others).sum(axis=2) / np.maximum(1, counts)
    return scores, counts > 0


def _elos_after(games: Games, lengths: Sequence[dict[int, int]], in_mean: Flags) -> Iterator[list[float]]:
    """Yield the Elo of all bots after the first games of each table size, as many as each entry says.

    It is the distance from the mean of the bots that are `in_mean`.

    Each fit begins at the one before, and takes its choices over.
    """
    choices, strengths = Choices.none(len(games.bots)), None
    before: dict[int, int] = {}
    for length in lengths:
        choices = choices.plus(choices_of(games.between(before, length)))
        strengths = fit(choices, start=strengths).strengths
        yield (MEAN_ELO + ELO_PER_LOGIT * (strengths - strengths[in_mean].mean())).tolist()
        before = length


def _step_of(total: int) -> int:
    """Return the distance of samples, a power of two, so that a chart of more games keeps the older ones."""
    step = 1
    while total // step >= 2 * _SAMPLES:
        step *= 2
    return step
