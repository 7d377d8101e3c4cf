"""The page of a report: one HTML file that needs no network, no script, and no other file.

Names of bots are strangers' text. The template escapes what it prints, ElementTree what is in a chart, and
the page forbids itself scripts and everything from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from happycity.records import FORFEIT_REASONS
from happycity_tournament import charts
from happycity_tournament.final_ratings import Ratings
from happycity_tournament.formats import USES
from happycity_tournament.played_games import PlayedGame
from happycity_tournament.rating_tables import TOO_LITTLE, Ranked
from happycity_tournament.ratings import MIN_DEALS
from happycity_tournament.report_facts import MAX_FORFEITS_SHOWN, MAX_LIVE_BOTS, BotFacts, Facts, SeatFacts
from happycity_tournament.results import DISQUALIFIED
from happycity_tournament.store import StoredTournament

_POINTS_CLASSES = 40  # of a histogram, at most
_HISTORY_COLUMNS = 8  # of the table beside the chart
_HISTORY_LINES = 3 * charts.SERIES  # as many as can be told apart


@dataclass(frozen=True, slots=True)
class Replay:
    """A game worth a look."""

    game: PlayedGame
    reasons: list[str]
    """Why."""
    link: str | None
    """The record's address relative to the page; None if it wasn't written."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a page tells."""

    source: str
    """What a person calls it."""
    tournament: StoredTournament | None
    """None if the games are of no tournament."""
    facts: Facts
    ratings: Ratings
    order: list[Ranked]
    """The bots as they are listed, best first."""
    replays: list[Replay]

    @property
    def bots(self) -> list[tuple[Ranked, BotFacts]]:
        """The bots as they are listed, with their facts."""
        return [(entry, self.facts.bots[entry.line.bot]) for entry in self.order]

    @property
    def title(self) -> str:
        """What the page is about."""
        return f"Tournament {self.tournament.id}" if self.tournament else f"Games of {self.source}"


@dataclass(frozen=True, slots=True)
class Cell:
    """How the row's bot did against the column's."""

    share: float
    """Its score a game, 0 to 1."""
    games: int
    los: float | None
    """The likelihood that it is the stronger one; None if there isn't enough data."""

    @property
    def shade(self) -> int:
        """How far the score is from even, 0 to 100."""
        return round(200 * abs(self.share - 0.5))


@dataclass(frozen=True, slots=True)
class History:
    """The live ratings."""

    chart: Markup
    games: list[int]
    """The columns of the table: after so many games."""
    rows: list[tuple[str, str, list[float]]]
    """Each bot's name, the class of its line (empty if it has none) and its Elo by column."""


def render(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("happycity_tournament"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "whole": charts.whole,
        "signed": _signed,
        "percent": "{:.0%}".format,
        "likelihood": _likelihood,
        "decimal": _decimal,
        "number": "{:.6g}".format,
        "duration": _duration,
    }
    return environment.get_template("report.html").render(
        report=report,
        facts=report.facts,
        ratings=report.ratings,
        period=_period(report.facts),
        settings=_settings(report.tournament),
        roster=_roster(report.tournament),
        ratings_chart=_ratings_chart(report),
        pairs=_pairs(report),
        history=_history(report),
        points_chart=_points_chart(report),
        seats=_seats(report),
        seats_chart=_seats_chart(report),
        timed=[(entry, facts) for entry, facts in report.bots if facts.times["think_us"].total],
        times_chart=_times_chart(report),
        noting=[(entry, facts) for entry, facts in report.bots if facts.metrics],
        failing=[(entry, facts) for entry, facts in report.bots if facts.failed],
        failures_chart=_failures_chart(report),
        reasons=FORFEIT_REASONS,
        line_class=charts.line_class,
        too_little=TOO_LITTLE,
        min_deals=MIN_DEALS,
        max_live_bots=MAX_LIVE_BOTS,
        max_forfeits=MAX_FORFEITS_SHOWN,
        version=version("happycity"),
    )


def _period(facts: Facts) -> str | None:
    """Say when the games were played, in UTC; None if their sources don't tell."""
    if facts.started_at > facts.finished_at:
        return None
    start, end = (datetime.fromtimestamp(time, UTC) for time in (facts.started_at, facts.finished_at))
    until = f"{end:%H:%M:%S}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{start:%Y-%m-%d %H:%M:%S} to {until} UTC"


def _settings(tournament: StoredTournament | None) -> list[tuple[str, str]]:
    """Return the settings that its format reads, but the bots and their rounds, which the standings tell."""
    config = tournament.config if tournament else {}
    every = frozenset().union(*USES.values())
    used = {form.value: keys for form, keys in USES.items()}.get(config.get("format", ""), every)
    left_out = {"bots", "roster"} | every - used
    told: list[tuple[str, object]] = []
    for key, value in config.items():
        if key not in left_out:
            told += value.items() if isinstance(value, dict) else [(key, value)]
    return [(key.replace("_", " "), _setting(value)) for key, value in told if value is not None]


def _setting(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case list():
            return ", ".join(value)
        case _:
            return str(value)


def _ratings_chart(report: Report) -> Markup:
    rows = [
        charts.Dot(
            name=entry.line.bot,
            text=_interval(entry),
            value=entry.line.elo,
            low=entry.line.low,
            high=entry.line.high,
        )
        for entry in report.order
    ]
    ends = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    label = "Elo of each bot with its 95% interval; the numbers are in the standings"
    return charts.dots(rows, charts.Scale.over(ends), label=label, tick=charts.whole)


def _interval(entry: Ranked) -> str:
    line = entry.line
    if line.low is None or line.high is None:
        return charts.whole(line.elo)
    return f"{charts.whole(line.elo)} ({charts.whole(line.low)} to {charts.whole(line.high)})"


def _pairs(report: Report) -> list[list[Cell | None]]:
    """Return by row and column how the bots did against each other; None where they never met."""
    los, facts = report.ratings.los_matrix(), report.facts
    return [
        [
            Cell(
                share=float(facts.scores[row.index, column.index] / games),
                games=games,
                los=los[row.index][column.index],
            )
            if (games := int(facts.meetings[row.index, column.index]))
            else None
            for column in report.order
        ]
        for row in report.order
    ]


def _history(report: Report) -> History | None:
    if report.facts.history is None:
        return None
    samples = report.facts.history.samples()
    shown = report.order[:_HISTORY_LINES]
    chart = charts.lines(
        [[(games, elos[entry.index]) for games, elos in samples] for entry in shown],
        label="Elo of the bots after so many games; the table below has the numbers",
    )
    picked = _spread_out(samples)
    return History(
        chart=chart,
        games=[games for games, _ in picked],
        rows=[
            (
                entry.line.bot,
                charts.line_class(number) if number < len(shown) else "",
                [elos[entry.index] for _, elos in picked],
            )
            for number, entry in enumerate(report.order)
        ],
    )


def _spread_out(samples: Sequence[tuple[int, list[float]]]) -> list[tuple[int, list[float]]]:
    """Return a few of the samples, the last one among them."""
    step = max(1, len(samples) // _HISTORY_COLUMNS)
    return list(samples[::-step][:_HISTORY_COLUMNS][::-1])


def _points_chart(report: Report) -> Markup:
    most = max((max(facts.points.counts, default=0) for _, facts in report.bots), default=0)
    width = charts.class_width(most, classes=_POINTS_CLASSES)
    rows = [
        charts.Bars(
            name=entry.line.bot,
            text=f"mean {facts.points.mean:.1f}",
            counts=facts.points.classes(width),
            mean=facts.points.mean,
        )
        for entry, facts in report.bots
        if facts.games
    ]
    label = "How often each bot made how many points, with its mean; the table below has the quartiles"
    return charts.histograms(rows, width=width, label=label)


def _seats(report: Report) -> list[tuple[int, list[tuple[SeatFacts, float | None]]]]:
    """Return table sizes with their seats' facts and effects."""
    effects = report.ratings.seat_effects
    return [
        (size, list(zip(seats, effects.get(size, [None] * size), strict=True)))
        for size, seats in sorted(report.facts.seats.items())
    ]


def _seats_chart(report: Report) -> Markup | None:
    rows = [
        charts.Dot(
            name=f"seat {seat} of {size}",
            text=_signed(effect),
            value=effect,
            low=min(0, effect),
            high=max(0, effect),
        )
        for size, effects in sorted(report.ratings.seat_effects.items())
        for seat, effect in enumerate(effects, start=1)
    ]
    if not rows:
        return None
    scale = charts.Scale.over([0, *(row.value for row in rows)])
    label = "What each seat adds in Elo; the table below has the numbers"
    return charts.dots(rows, scale, label=label, tick=charts.whole)


def _times_chart(report: Report) -> Markup | None:
    rows = []
    for entry, facts in report.bots:
        times = facts.times["think_us"]
        if times.total:
            low, middle, high = (max(1, times.quantile(share)) for share in (0.1, 0.5, 0.9))
            text = f"{_duration(middle)} ({_duration(low)} to {_duration(high)})"
            rows.append(charts.Dot(name=entry.line.bot, text=text, value=middle, low=low, high=high))
    if not rows:
        return None
    ends = [end for row in rows for end in (row.value, row.low or 1, row.high or 1)]
    scale = charts.Scale.over(ends, logarithmic=True)
    label = (
        "Think time for a decision: median, and from the 10th to the 90th of a hundred; see the table below"
    )
    return charts.dots(rows, scale, label=label, tick=_duration)


def _failures_chart(report: Report) -> Markup | None:
    rows = [
        charts.Parts(
            name=entry.line.bot,
            text=_failures(facts),
            parts=[facts.endings[f"forfeit:{reason}"] for reason in FORFEIT_REASONS],
        )
        for entry, facts in report.bots
        if facts.failed
    ]
    label = "Forfeited games of each bot by reason; the table below has the numbers"
    return charts.bars(rows, label=label) if rows else None


def _failures(facts: BotFacts) -> str:
    apart = facts.endings[DISQUALIFIED]
    counted = f"{facts.forfeits} of {facts.games} games"
    return f"{counted}, and {apart} disqualified" if apart else counted


def _roster(tournament: StoredTournament | None) -> dict[str, str]:
    """Say of each bot that joined late or was withdrawn, in which rounds it took part."""
    told = {}
    for stay in tournament.config.get("roster", ()) if tournament else ():
        first, last = stay["first_round"], stay["last_round"]
        told[stay["bot"]] = f"from round {first}" if last is None else f"rounds {first} to {last}, withdrawn"
        if last is not None and last < first:
            told[stay["bot"]] = "withdrawn"
    return told


def _signed(number: float) -> str:
    return f"{number:+,.0f}".replace("-", "\N{MINUS SIGN}")


def _likelihood(los: float) -> str:
    """Write a likelihood in whole percent, but never a doubt as certainty."""
    return "<1%" if los < 0.005 else ">99%" if los >= 0.995 else f"{los:.0%}"


def _decimal(number: float, digits: int = 1) -> str:
    return f"{number:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _duration(micros: float) -> str:
    """Write microseconds in the unit that suits them."""
    for unit, size in (("s", 1_000_000), ("ms", 1_000)):
        if micros >= size:
            return f"{micros / size:.3g} {unit}"
    return f"{micros:.3g} µs"
