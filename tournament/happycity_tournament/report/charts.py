"""Charts as static SVG, as wide as there is room: places are shares of the width, text keeps its size.

Colours come from the page by the classes `grid`, `mark`, `range` and `s0` to `s7`. The page leaves room
for numbers of the class `level` left of lines. To a screen reader a chart is one image, whose label says what
it shows.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from happycity import Ending
from happycity_tournament.ratings.results import BotRating

SERIES = 8
"""How many colours there are for lines and parts of bars; they repeat with another dash."""

FORFEITS = tuple(ending for ending in Ending if ending not in (Ending.FINISHED, Ending.OTHER))
"""The ways in which games are forfeited."""

# Pixels. A row has its texts above its marks, so that a phone has room for both.
_TEXT = 14
_ROW = 40
_LINES = 320
_AXIS = 24

_MARGIN = 0.04  # of a scale beyond its numbers
_LONGEST_NAME = 18


@dataclass(frozen=True, slots=True)
class Scale:
    """The places of numbers on an axis."""

    low: float
    high: float

    @classmethod
    def over(cls, numbers: Sequence[float]) -> Scale:
        """Return a scale with room for all the numbers."""
        low, high = min(numbers, default=0.0), max(numbers, default=1.0)
        margin = _MARGIN * (high - low or 1.0)
        return cls(low - margin, high + margin)

    def share(self, number: float) -> float:
        """Return how far along a number is, from 0 to 1; those beyond an end are put there."""
        return (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return one to five round numbers; a phone has room for no more."""
        step = _step(self.high - self.low)
        return [
            number * step for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        ]


def _step(length: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20 ... of which two or more fit in, or 1."""
    unit: int = 10 ** max(0, math.floor(math.log10(length / 2)))
    return next((factor * unit for factor in (5, 2) if 2 * factor * unit <= length), unit)


@dataclass(frozen=True, slots=True)
class EstimatePoint:
    """A number at some place, and its interval."""

    x: float
    value: float
    low: float
    high: float


def estimates(series: Mapping[str, Sequence[EstimatePoint]], *, label: str) -> Markup:
    """Draw lines like `lines`, each in the band of its intervals; all of these have room."""
    upwards = Scale.over([end for points in series.values() for one in points for end in (one.low, one.high)])
    middles = {name: [(one.x, one.value) for one in points] for name, points in series.items()}
    return lines(middles, label=label, upwards=upwards, intervals=[*series.values()])


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    label: str,
    upwards: Scale | None = None,
    intervals: Sequence[Sequence[EstimatePoint]] = (),
) -> Markup:
    """Draw lines by their names over two scales; that of `y` has room for the right nine tenths of the chart.

    A line has the colour of its place among the lines, and its name in this colour at the right of its end.
    The names are a picture of their own, which a page may hide where there is no room for both.
    """
    across = Scale(0, max((x for points in series.values() for x, _ in points), default=1))
    if upwards is None:
        upwards = Scale.over([y for points in series.values() for x, y in points if x >= across.high / 10])
    chart, inner = _lines_chart(
        upwards, across, [(number, whole(number)) for number in across.ticks()], label
    )
    names = _add(ET.Element("g"), "svg", height=_LINES + _AXIS, kind="ends")
    names.set("aria-hidden", "true")  # the legend has the names too
    ends: dict[int, float] = {}
    for number, own in enumerate(intervals):
        _band(inner, own, upwards, across, number)
    for number, points in enumerate(series.values()):
        places = " ".join(f"{across.share(x):.4f},{1 - upwards.share(y):.4f}" for x, y in points)
        _add(inner, "polyline", points=places, kind=line_class(number))
        if points:
            ends[number] = _LINES * (1 - upwards.share(points[-1][1]))
    bots = list(series)
    for number, level in spread(ends, distance=_TEXT, most=_LINES).items():
        kind = f"end s{number % SERIES}"
        _text(names, _short(bots[number]), 0, level + _TEXT / 3, anchor="start", kind=kind)
    return Markup('<div class="lines">{}{}</div>').format(_markup(chart), _markup(names))


def bands(
    series: Sequence[Sequence[EstimatePoint]],
    upwards: Scale,
    across: Scale,
    *,
    label: str,
    ticks: Sequence[tuple[float, str]],
) -> Markup:
    """Draw series that follow each other, each as a line in the band of its intervals.

    A vertical line with its number, from 1, marks where each of them begins. `ticks` are the places across
    that have a text.
    """
    chart, inner = _lines_chart(upwards, across, ticks, label)
    starts = {number: across.share(points[0].x) for number, points in enumerate(series) if points}
    for number, points in enumerate(series):
        if len(points) > 1:
            _band(inner, points, upwards, across, number)
            middle = [f"{across.share(one.x):.4f},{1 - upwards.share(one.value):.4f}" for one in points]
            _add(inner, "polyline", points=" ".join(middle), kind=f"line s{number % SERIES}")
        elif points:  # a line needs two
            place, point = across.share(points[0].x), points[0]
            ends = [_LINES * (1 - upwards.share(end)) for end in (point.low, point.high)]
            _line(chart, (place, ends[0]), (place, ends[1]), kind=f"line s{number % SERIES}")
            height = _LINES * (1 - upwards.share(point.value))
            _add(chart, "circle", cx=_percent(place), cy=height, r=4.5, kind=f"part s{number % SERIES}")
    for number, place in spread(starts, distance=0.04, most=1.0).items():
        _line(chart, (starts[number], _TEXT), (starts[number], _LINES), kind="start")
        anchor = "start" if place < 0.03 else "end" if place > 0.97 else "middle"
        _text(chart, str(number + 1), place, _TEXT - 3, anchor=anchor, kind=f"end s{number % SERIES}")
    return _markup(chart)


def _band(
    inner: ET.Element, points: Sequence[EstimatePoint], upwards: Scale, across: Scale, number: int
) -> None:
    """Draw the band of some intervals, in the colour of the line with this number."""
    ends = [(one.x, one.high) for one in points] + [(one.x, one.low) for one in reversed(points)]
    places = " ".join(f"{across.share(x):.4f},{1 - upwards.share(end):.4f}" for x, end in ends)
    _add(inner, "polygon", points=places, kind=f"band s{number % SERIES}")


def ratings_chart(lines: Sequence[BotRating], *, label: str) -> Markup:
    """Draw a row for each bot, with a dot for its rating and the line of its interval."""
    scale = Scale.over([end for line in lines for end in (line.elo, line.low, line.high) if end is not None])
    bottom = len(lines) * _ROW
    chart = _chart(bottom + _AXIS, label)
    for number in scale.ticks():
        place = scale.share(number)
        _line(chart, (place, 0), (place, bottom), kind="grid")
        _tick(chart, place, bottom + _TEXT, whole(number))
    for number, row in enumerate(lines):
        interval = "" if row.low is row.high is None else f" {row.interval_text}"
        level = number * _ROW + _TEXT
        _text(chart, _short(row.bot), 0, level, anchor="start", kind="name")
        _text(chart, whole(row.elo) + interval, 1, level, anchor="end", kind="value")
        middle = (level + (number + 1) * _ROW) / 2
        if row.low is not None or row.high is not None:  # without an end the line goes on to the edge
            left = 0.0 if row.low is None else scale.share(row.low)
            right = 1.0 if row.high is None else scale.share(row.high)
            _line(chart, (left, middle), (right, middle), kind="range")
        _add(chart, "circle", cx=_percent(scale.share(row.elo)), cy=middle, r=4.5, kind="mark")
    return _markup(chart)


def spread(places: Mapping[int, float], *, distance: float, most: float) -> dict[int, float]:
    """Move places between 0 and `most` apart, as little as need be, so that none is closer than `distance`.

    If there is no room for that, all are equally far apart. Equal places keep their order.
    """
    distance = min(distance, most / max(1, len(places)))
    order = sorted(places, key=lambda key: places[key])
    moved: list[float] = []
    for number, key in enumerate(order):
        least = moved[-1] + distance if moved else 0.0
        moved.append(min(max(places[key], least), most - distance * (len(order) - 1 - number)))
    return dict(zip(order, moved, strict=True))


def whole(number: float) -> str:
    """Write a number without decimals."""
    return f"{round(number):,}".replace("-", "\N{MINUS SIGN}")


def line_class(number: int) -> str:
    """Return the classes of the line with this number, for its entry in a legend too."""
    return f"line s{number % SERIES} d{number // SERIES % 3}"


def _lines_chart(
    upwards: Scale, across: Scale, ticks: Sequence[tuple[float, str]], label: str
) -> tuple[ET.Element, ET.Element]:
    """Make a chart of lines without these, and the picture in it that they are drawn into.

    Only the inner picture is stretched: its strokes keep their width, and it holds no text.
    """
    chart = _chart(_LINES + _AXIS, label)
    for number in upwards.ticks():
        level = _LINES * (1 - upwards.share(number))
        _line(chart, (0, level), (1, level), kind="grid")
        # Left of the chart, where no line crosses it; the page leaves room for it.
        _text(chart, whole(number), 0, level + _TEXT / 3, anchor="end", kind="tick level")
    for place, text in ticks:
        _tick(chart, across.share(place), _LINES + _TEXT, text)
    inner = _add(chart, "svg", width="100%", height=_LINES, viewBox="0 0 1 1", preserveAspectRatio="none")
    return chart, inner


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _chart(height: int, label: str) -> ET.Element:
    return ET.Element("svg", {"role": "img", "aria-label": label, "width": "100%", "height": str(height)})


def _tick(chart: ET.Element, share: float, y: float, text: str) -> None:
    anchor = "start" if share < 0.03 else "end" if share > 0.97 else "middle"
    _text(chart, text, share, y, anchor=anchor, kind="tick")


def _line(chart: ET.Element, start: tuple[float, float], end: tuple[float, float], *, kind: str) -> None:
    _add(chart, "line", x1=_percent(start[0]), y1=start[1], x2=_percent(end[0]), y2=end[1], kind=kind)


def _text(chart: ET.Element, text: str, share: float, y: float, *, anchor: str, kind: str) -> None:
    element = _add(chart, "text", x=_percent(share), y=y, kind=kind)
    element.set("text-anchor", anchor)
    element.text = text


def _add(parent: ET.Element, tag: str, *, kind: str | None = None, **values: str | float) -> ET.Element:
    texts = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in values.items()}
    return ET.SubElement(parent, tag, {**texts, **({"class": kind} if kind else {})})


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _markup(chart: ET.Element) -> Markup:
    return Markup(ET.tostring(chart, encoding="unicode"))  # noqa: S704 - ElementTree escapes all texts
