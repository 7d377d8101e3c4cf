"""The charts of pages: those of reports, of what is known while a tournament runs, and ratings over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder_pb
from happycity.v1 import rating_pb2
from happycity_tournament.report import charts
from happycity_tournament.standings.stats import Stats
from happycity_viewer.languages import Language

LINES = 3 * charts.SERIES
"""Bots with a line in the chart of ratings: as many as can be distinguished, the best ones."""
_SHADES = 10  # of a pair's cell
_LEAST_GAMES = 10
"""Games below which a score says too little to be coloured."""
_PROVISIONAL_MARGIN = 100.0  # Elo
_DAY = 86400
_EDGE = 0.1
_STEPS = (
    *(minutes * 60 for minutes in (1, 2, 5, 10, 20, 30)),
    *(hours * 3600 for hours in (1, 2, 4, 6, 12)),
    *(days * _DAY for days in (1, 2, 5, 10, 20, 30, 60, 120, 240, 365, 730, 1825, 3650)),
)
"""Seconds between moments that are written on an axis."""


@dataclass(frozen=True, slots=True)
class Cell:
    """How a bot did: against another one, in a round, or with a card."""

    share: float
    """Its score a game, 0 to 1."""
    games: int
    even: float = 0.5
    """What it is compared with."""

    @property
    def shade(self) -> str:
        """The class of its colour: how far the score of enough games is from even; else none."""
        if self.games < _LEAST_GAMES:
            return ""
        side = "above" if self.share >= self.even else "below"
        return f"{side} shade-{min(_SHADES, round(2 * _SHADES * abs(self.share - self.even)))}"


def history(figures: Stats, bots: Sequence[str], *, label: str) -> Markup:
    """Draw the ratings of bots over the number of games."""
    return charts.lines({bot: figures.history.of(bot) for bot in bots[:LINES]}, label=label)


def pairs(figures: Stats, bots: Sequence[str]) -> list[list[Cell | None]]:
    """Return by row and column how bots did against each other; None where they never met."""
    return [
        [None if one is None else Cell(one.score, one.games) for one in row] for row in figures.pairs(bots)
    ]


def rounds(figures: Stats, bots: Sequence[str]) -> list[list[Cell | None]]:
    """Return by row how a bot did in each column of `figures.rounds`; None where it did not play."""
    spans = [span.scores for span in figures.rounds]
    return [[Cell(*scores[bot]) if bot in scores else None for scores in spans] for bot in bots]


def rating_history(points: Sequence[ladder_pb.RatingPoint], *, label: str, language: Language) -> Markup:
    """Draw the ratings of a bot of the ladder over time, with their intervals, one line for each version."""
    series = [
        [
            charts.EstimatePoint(_seconds(point), point.rating.elo, point.rating.low, point.rating.high)
            for point in run
        ]
        for run in version_runs(points)
    ]
    seconds = [_seconds(point) for point in points]
    room = max(0.0, (60 - max(seconds) + min(seconds)) / 2)  # a single point has a minute, too
    across = charts.Scale.over([min(seconds) - room, max(seconds) + room])
    upwards = rating_scale(point.rating for point in points)
    return charts.bands(series, upwards, across, label=label, ticks=moments(across, language))


def version_runs(points: Sequence[ladder_pb.RatingPoint]) -> list[list[ladder_pb.RatingPoint]]:
    """Return the points of a history by version, in the order of time."""
    return [list(run) for _, run in groupby(points, key=lambda point: point.version_id)]


def rating_scale(ratings: Iterable[rating_pb2.Rating]) -> charts.Scale:
    """Return an axis for ratings with their intervals.

    The interval of a new bot would leave no room for the differences of all others, so there is only so much
    for a provisional one; it may be cut at the ends.
    """
    numbers: list[float] = []
    for rating in ratings:
        most = _PROVISIONAL_MARGIN if rating.provisional else math.inf
        low = rating.low if rating.HasField("low") else rating.elo
        high = rating.high if rating.HasField("high") else rating.elo
        numbers += [max(low, rating.elo - most), min(high, rating.elo + most)]
    return charts.Scale.over(numbers)


def moments(across: charts.Scale, language: Language) -> list[tuple[float, str]]:
    """Return up to four round moments on an axis of Unix seconds, with the text of each, in UTC."""
    step = next((step for step in _STEPS if across.high - across.low <= 3 * step), _STEPS[-1])
    form: dict[str, Any] = {"date": "yMMMd", "hour": False} if step >= _DAY else {"date": "MMMd"}
    numbers = range(math.ceil(across.low / step), math.floor(across.high / step) + 1)
    found = [number * step for number in numbers]
    # At an end, a text would be cut on a phone.
    inside = [moment for moment in found if _EDGE <= across.share(moment) <= 1 - _EDGE]
    return [(moment, language.moment(moment, **form)) for moment in inside or found]


def _seconds(point: ladder_pb.RatingPoint) -> float:
    return point.time.seconds + point.time.nanos / 1e9
