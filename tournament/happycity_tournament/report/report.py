"""The report of a tournament: its contents, and the file that it is written to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from happycity.runtime.files import replacing
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.report.page import NotableGame, Report, render
from happycity_tournament.report.report_data import ReportData
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.standings.rated_games import games_with_reasons, rate_games
from happycity_tournament.storage.sources import Source


def write_report(
    source: Source,
    out: Path,
    *,
    sharing: Sequence[str] = (),
    processes: int = 1,
) -> int:
    """Write the report of a source of one tournament, or of none, and return its number of games.

    Copies of a game, practice, and games after the decision of a test are left out. The bots `sharing` are
    those that are known to have played in so many common processes.
    """
    tournaments = source.tournaments()
    rules = CountingRules(tournaments)
    bots = list(dict.fromkeys(source.bots()))
    data = ReportData(bots)
    for game in games_with_reasons(source, rules, with_records=True):
        data.add(*game)
    test = rules.rule(tournaments[0].id).test if len(tournaments) == 1 else None
    configs = [(config, config.bots) for config in rules.configs.values()]
    ratings = rate_games(
        data.stats.estimate,
        configs,
        test=None if test is None else test.state,
        luck_evaluator=source.luck_evaluator,
    )
    report = Report(
        source=source.name,
        tournament=tournaments[0] if tournaments else None,
        data=data,
        ratings=ratings,
        notable=_notable(source, data, ratings),
        sharing=tuple(bot for bot in sharing if bot in data.times),
        processes=processes,
        test=test,
    )
    with replacing(out) as path:
        path.write_text(render(report), encoding="utf-8")
    return data.games + data.unrated


def _notable(source: Source, data: ReportData, ratings: Ratings) -> list[NotableGame]:
    """Return the notable games, each bot's best and worst and those with forfeits, with the reasons."""
    notable: dict[int, NotableGame] = {}

    def note(game: FinishedGame, reason: str) -> None:
        notable.setdefault(game.match_id, NotableGame(game)).reasons.append(reason)

    for bot in (line.bot for line in ratings.lines):
        extremes = data.stats.extremes(bot) or ()
        for what, extreme in zip(("most", "fewest"), extremes, strict=False):
            note(source.game(extreme.match_id)[0], f"{what} points of {bot}: {extreme.points}")
    for game in data.forfeited:
        for bot, seat in zip(game.bots, game.seats, strict=True):
            if seat.forfeited:
                reason = f" ({seat.reason})" if seat.reason else ""
                note(game, f"{bot} forfeited: {seat.ending.word}{reason}")
    return list(notable.values())
