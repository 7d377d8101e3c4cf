"""The charts of pages: those of reports, of what is known while a tournament runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from happycity import Ending
from happycity.v1 import tournament_service_pb2 as pb
from happycity.wire import ending_of
from happycity_tournament.report import charts
from happycity_tournament.report.figures import FORFEITS, failures_chart, points_chart
from happycity_tournament.running.figures import Figures

LINES = 3 * charts.SERIES
"""Bots with a line in the chart of ratings: as many as can be distinguished, the best ones."""
_SHADES = 10  # of a pair's cell


@dataclass(frozen=True, slots=True)
class Cell:
    """How the row's bot did against the column's."""

    share: float
    """Its score a game, 0 to 1."""
    games: int

    @property
    def shade(self) -> str:
        """The class of its colour: how far the score is from even."""
        side = "above" if self.share >= 0.5 else "below"
        return f"{side} shade-{round(2 * _SHADES * abs(self.share - 0.5))}"


def history(figures: Figures, bots: Sequence[str], *, label: str) -> Markup:
    """Draw the ratings of bots over the number of games."""
    return charts.lines({bot: figures.history(bot) for bot in bots[:LINES]}, label=label)


def points(figures: Figures, bots: Sequence[str], *, label: str) -> Markup:
    """Draw how often bots made how many points."""
    return points_chart({bot: figures.points[bot] for bot in bots}, label=label)


def failures(lines: Sequence[pb.Standing], *, label: str) -> Markup:
    """Draw how many games bots forfeited in each way; those without any are left out."""
    failed = {
        line.bot: (_endings(line), f"{charts.whole(line.forfeits)} / {charts.whole(line.games)}")
        for line in lines
        if line.forfeits
    }
    return failures_chart(failed, label=label)


def endings(lines: Sequence[pb.Standing]) -> list[tuple[Ending, int]]:
    """Return the ways in which bots forfeited games, each with the number of its colour."""
    counts = sum(map(_endings, lines), Counter[Ending]())
    return [(ending, number) for number, ending in enumerate(FORFEITS) if counts[ending]]


def pairs(figures: Figures, bots: Sequence[str]) -> list[list[Cell | None]]:
    """Return by row and column how bots did against each other; None where they never met."""
    rows = []
    for bot in bots:
        cells = {meeting.opponent: Cell(meeting.score, meeting.games) for meeting in figures.meetings(bot)}
        rows.append([cells.get(opponent) for opponent in bots])
    return rows


def _endings(line: pb.Standing) -> Counter[Ending]:
    counts = Counter[Ending]()
    for count in line.forfeit_counts:
        counts[ending_of(count.ending)] += count.games
    return counts
