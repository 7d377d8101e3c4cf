"""The report of a tournament: one HTML file that needs no network, no script, and no other file.

Names of bots are text from strangers. The template escapes what it prints, ElementTree what is in a chart,
and the page forbids itself scripts and everything from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from happycity_runtime.files import replacing
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.mean_luck import mean_luck
from happycity_tournament.ratings.results import ONE_END, Ratings
from happycity_tournament.ratings.sprt import MIN_BLOCKS, SprtPoint
from happycity_tournament.ratings.statistics import MIN_DEALS
from happycity_tournament.report import charts
from happycity_tournament.report.charts import FORFEITS, ratings_chart
from happycity_tournament.report.report_data import MAX_FORFEITS_SHOWN, ReportData
from happycity_tournament.schedule import SprtSchedule
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.standings.rated_games import rate_games
from happycity_tournament.standings.standings import score_text
from happycity_tournament.standings.stats import MAX_HISTORY_BOTS
from happycity_tournament.storage.sources import Source
from happycity_tournament.storage.stored import StoredTournament

MAX_REASONS = 5
"""Reasons of forfeits that are shown for each bot, the most frequent first."""

_HISTORY_LABEL = "Elo of each bot over the number of games"
_RATINGS_LABEL = "Elo of each bot with its 95% interval; the numbers are in the standings"
_TEST_LINES: Mapping[str, Callable[[SprtPoint], float]] = {
    "LLR": lambda point: point.llr,
    "H1": lambda point: point.upper,
    "H0": lambda point: point.lower,
}
_HISTORY_LINES = 3 * charts.SERIES  # as many as can be distinguished


@dataclass(slots=True)
class NotableGame:
    """A notable game."""

    game: FinishedGame
    reasons: list[str] = field(default_factory=list)
    """Why it is listed."""

    @property
    def place(self) -> tuple[str, str, str]:
        """Round, table and rotation as people count them, from 1."""
        if self.game.position is None:
            return ("-", "-", "-")
        number, table, rotation = self.game.position
        return (str(number), str(table + 1), str(rotation + 1))


def write_report(source: Source, out: Path, *, sharing: Sequence[str], processes: int) -> int:
    """Write the report of a source of one tournament, or of none, and return its number of games.

    Copies of a game, practice, and games after the decision of a test are left out. `sharing` names the bots
    that ran together in a number of `processes`, so the think times of one depend on the others.
    """
    tournaments = source.tournaments()
    rules = CountingRules(tournaments)
    data = ReportData(list(dict.fromkeys(source.bots())))
    for part in source.results(whole=True):
        data.add(*rules.divide(part))
    tournament = tournaments[0] if tournaments else None
    test = rules.rule(tournaments[0].id).test if len(tournaments) == 1 else None
    ratings = rate_games(
        data.stats.estimate, test=None if test is None else test.state, luck_evaluator=source.luck_evaluator
    )
    bots, times, history = data.standings(ratings), data.times, _history(data, ratings)
    profiles = tournament.profiles if tournament else {}
    failing = [line for line in bots if line.forfeits]
    page = (
        environment()
        .get_template("report.html")
        .render(
            title=_title(source, tournament),
            source=source.name,
            tournament=tournament,
            sharing=[bot for bot in sharing if bot in times],
            processes=processes,
            bots=bots,
            times=times,
            data=data,
            ratings=ratings,
            pools=ratings.pools,
            above={line.bot: above.text for line, _, above in ratings.to_next() if above is not None},
            lucks=mean_luck(data.stats.games),
            summary=_summary(data, ratings),
            period=_period(data),
            settings=_settings(tournament),
            about={bot: said.about for bot, said in profiles.items() if said.about},
            ratings_chart=ratings_chart(bots, label=_RATINGS_LABEL),
            pairs=data.stats.pairs([line.bot for line in ratings.lines], ratings),
            history=history,
            history_chart=charts.lines(history, label=_HISTORY_LABEL),
            test_chart=_test_chart(test),
            timed=[line for line in bots if times[line.bot].thinking],
            noting=[line for line in bots if times[line.bot].metrics],
            failing=failing,
            forfeits=[ending for ending in FORFEITS if any(line.endings[ending] for line in failing)],
            notable_games=_notable(source, data, ratings),
            one_end=ONE_END if any(line.has_one_end for line in ratings.lines) else "",
            min_deals=MIN_DEALS,
            min_blocks=MIN_BLOCKS,
            max_history_bots=MAX_HISTORY_BOTS,
            max_forfeits=MAX_FORFEITS_SHOWN,
            max_reasons=MAX_REASONS,
            score_text=score_text,
        )
    )
    with replacing(out) as path:
        path.write_text(page, encoding="utf-8")
    return data.games + data.unrated


def _title(source: Source, tournament: StoredTournament | None) -> str:
    if tournament is None:
        return f"Games of {source.name}"
    return str(tournament.config.get("title") or f"Tournament {tournament.id}")


def environment(*packages: str) -> Environment:
    """Return what fills templates: those here, and those of other packages that extend them."""
    places = [PackageLoader(package) for package in ("happycity_tournament.report", *packages)]
    made = Environment(
        loader=ChoiceLoader(places),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"version": version("happycity"), "line_class": charts.line_class}
    made.filters |= {
        "whole": charts.whole,
        "percent": "{:.0%}".format,
        "decimal": _decimal,
        "signed": _signed,
        "number": "{:.6g}".format,
        "duration": _duration,
    }
    return made


def _summary(data: ReportData, ratings: Ratings) -> str:
    """Return the result in a sentence."""
    if not data.games:
        return "No game was finished."
    first, *others = (line for line in ratings.lines if line.pool == 1)
    if not others:
        return ""
    second = others[0]
    if first.elo == second.elo:
        return f"{first.bot} and {second.bot} share first place with {charts.whole(first.elo)} Elo."
    above = ratings.difference(first.bot, second.bot)
    if above is None:
        ahead = f"{charts.whole(first.elo - second.elo)} ahead of {second.bot}"
        return f"{first.bot} is first, {ahead}. There are too few deals to say how certain that is."
    doubt = "" if above.low is not None and above.low > 0 else ": which of the two is stronger is not certain"
    return f"{first.bot} is first, {above.text} Elo above {second.bot}{doubt}."


def _period(data: ReportData) -> str | None:
    """Return when the games were played, in UTC; None if that isn't known."""
    if data.started_at > data.finished_at:
        return None
    start, end = (datetime.fromtimestamp(time, UTC) for time in (data.started_at, data.finished_at))
    until = f"{end:%H:%M:%S}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{start:%Y-%m-%d %H:%M:%S} to {until} UTC"


def _settings(tournament: StoredTournament | None) -> list[tuple[str, str]]:
    """Return the settings, without the bots, which the standings show."""
    config = tournament.config if tournament else {}
    settings: list[tuple[str, object]] = []
    for key, value in config.items():
        if key not in ("title", "bots"):
            settings += value.items() if isinstance(value, dict) else [(key, value)]
    names = {"kind": "format"}
    return [
        (names.get(key, key).replace("_", " "), _setting(value))
        for key, value in settings
        if value is not None
    ]


def _setting(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _history(data: ReportData, ratings: Ratings) -> dict[str, Sequence[tuple[float, float]]]:
    """Return the points of the lines of the best bots, as many as can be distinguished."""
    history = data.stats.history
    bots = [line.bot for line in ratings.lines[:_HISTORY_LINES]]
    return {bot: history.of(bot) for bot in bots} if history.samples else {}


def _test_chart(test: SprtSchedule | None) -> Markup | None:
    if test is None or not test.history:
        return None
    series = {
        name: [(point.blocks * test.games_per_block, value(point)) for point in test.history]
        for name, value in _TEST_LINES.items()
    }
    label = "Log-likelihood ratio and its two bounds over the number of games"
    return charts.lines(series, label=label)


def _signed(number: float, digits: int) -> str:
    return ("+" if number > 0 else "") + _decimal(number, digits)


def _decimal(number: float, digits: int = 1) -> str:
    return f"{number:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _duration(micros: float) -> str:
    """Write microseconds in the unit that suits them."""
    for unit, size in (("s", 1_000_000), ("ms", 1_000)):
        if micros >= size:
            return f"{micros / size:.3g} {unit}"
    return f"{micros:.3g} µs"


def _notable(source: Source, data: ReportData, ratings: Ratings) -> list[NotableGame]:
    """Return the notable games, each bot's best and worst and those with forfeits, with the reasons."""
    notable: dict[int, NotableGame] = {}

    def note(game: FinishedGame, reason: str) -> None:
        notable.setdefault(game.match_id, NotableGame(game)).reasons.append(reason)

    for bot in (line.bot for line in ratings.lines):
        extremes = data.stats.extremes(bot) or ()
        for what, extreme in zip(("most", "fewest"), extremes, strict=False):
            note(source.game(extreme.match_id)[0], f"{what} points of {bot}: {extreme.points}")
    for game in (source.game(match_id)[0] for match_id in data.forfeited):
        for bot, seat in zip(game.bots, game.seats, strict=True):
            if seat.forfeited:
                reason = f" ({seat.reason})" if seat.reason else ""
                note(game, f"{bot} forfeited: {seat.ending.word}{reason}")
    return list(notable.values())
