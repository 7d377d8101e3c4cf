"""The report of a tournament: its contents, and the records that are written beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.results import Ranked, ranked
from happycity_tournament.report.export import write_record
from happycity_tournament.report.facts import Facts, count_games
from happycity_tournament.report.page import Replay, Report, render
from happycity_tournament.storage.sources import Deduplicator, Source


def write_report(
    source: Source, out: Path, *, replays: Path | None = None, sharing: Sequence[str] = (), processes: int = 1
) -> int:
    """Write the report of a source of one tournament, or of none, and return its number of games.

    Copies of a game and practice are left out. The records of notable games are written into the folder
    `replays`. The bots `sharing` are those that are known to have played in so many common processes.
    """
    tournaments = source.tournaments()
    games = (game for game in source.games(with_records=True) if not game[0].practice)
    facts = count_games(list(dict.fromkeys(source.bots())), Deduplicator().unique(games))
    ratings = rate(facts.columns())
    order = ranked(ratings)
    notable = _notable(facts, order)
    if replays is not None:
        _write_records(source, notable, replays, out=out)
    report = Report(
        source=source.name,
        tournament=tournaments[0] if tournaments else None,
        facts=facts,
        ratings=ratings,
        order=order,
        replays=list(notable.values()),
        sharing=tuple(bot for bot in sharing if bot in facts.bots),
        processes=processes,
    )
    out.write_text(render(report), encoding="utf-8")
    return facts.games + facts.unrated


def _notable(facts: Facts, order: list[Ranked]) -> dict[int, Replay]:
    """Return the notable games, each bot's best and worst and those with forfeits, with the reasons."""
    notable: dict[int, Replay] = {}

    def note(game: FinishedGame, reason: str) -> None:
        notable.setdefault(game.match_id, Replay(game)).reasons.append(reason)

    for entry in order:
        bot = entry.line.bot
        for what, extreme in (("most", facts.bots[bot].best), ("fewest", facts.bots[bot].worst)):
            if extreme is not None:
                points, game = extreme
                note(game, f"{what} points of {bot}: {points}")
    for game in facts.forfeited:
        for bot, seat in zip(game.bots, game.seats, strict=True):
            if seat.forfeited:
                reason = f" ({seat.reason})" if seat.reason else ""
                note(game, f"{bot} forfeited: {seat.ending.word}{reason}")
    return notable


def _write_records(source: Source, replays: dict[int, Replay], folder: Path, *, out: Path) -> None:
    """Write the records of notable games, and set their addresses relative to the report."""
    for game, record in source.games(with_records=True):
        if game.match_id in replays and record is not None:
            path = write_record(game, record, folder)
            replays[game.match_id].link = quote(Path(os.path.relpath(path, out.parent)).as_posix())
