"""The charts that reports and pages share; what shows a chart gives its label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from happycity import Ending
from happycity_tournament.ratings.results import BotRating, interval_text
from happycity_tournament.ratings.spread import Spread
from happycity_tournament.report import charts

FORFEITS = tuple(ending for ending in Ending if ending not in (Ending.FINISHED, Ending.OTHER))
"""The ways in which games are forfeited; a chart has a colour for each, by its place."""

_POINTS_CLASSES = 40  # of a histogram, at most


def interval(line: BotRating) -> str:
    """Return a rating with half of its interval, such as `1512 ±13`."""
    if line.low is line.high is None:
        return charts.whole(line.elo)
    return f"{charts.whole(line.elo)} {interval_text(line.low, line.high)}"


def ratings_chart(lines: Sequence[BotRating], *, label: str) -> Markup:
    """Draw the rating of each bot with its interval."""
    rows = [
        charts.Dot(line.bot, interval(line), value=line.elo, low=line.low, high=line.high) for line in lines
    ]
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    return charts.dots(rows, charts.Scale.over(ends), label=label, tick=charts.whole)


def points_chart(points: Mapping[str, Spread], *, label: str) -> Markup:
    """Draw for each bot how often it made how many points; bots without a game are left out."""
    played = {bot: spread for bot, spread in points.items() if spread}
    most = max((max(spread) for spread in played.values()), default=0)
    width = charts.class_width(most, classes=_POINTS_CLASSES)
    rows = [
        charts.Bars(bot, f"mean {spread.mean:.1f}", counts=spread.classes(width), mean=spread.mean)
        for bot, spread in played.items()
    ]
    return charts.histograms(rows, width=width, label=label)


def failures_chart(failed: Mapping[str, tuple[Mapping[Ending, int], str]], *, label: str) -> Markup:
    """Draw for each bot how many games it forfeited in each way, with a text of its own."""
    rows = [
        charts.Parts(bot, text, parts=[endings.get(ending, 0) for ending in FORFEITS])
        for bot, (endings, text) in failed.items()
    ]
    return charts.bars(rows, label=label)
