"""The report of a tournament: what goes into it, and the records that are written beside it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from happycity_tournament.export import record_file_name
from happycity_tournament.final_ratings import rate
from happycity_tournament.played_games import PlayedGame, record_with_bots
from happycity_tournament.rating_tables import Ranked, ranked
from happycity_tournament.report_facts import Facts, counted
from happycity_tournament.report_page import Replay, Report, render
from happycity_tournament.sources import Once, Source


def write_report(source: Source, out: Path, *, replays: Path | None = None) -> int:
    """Write the report of a source of one tournament, or of none, and return how many games it tells of.

    Args:
        source: where the games are; a copy of a game counts for nothing.
        out: the HTML file.
        replays: folder for the records of notable games; it is made if it isn't there.
    """
    tournaments = source.tournaments()
    facts = counted(
        list(dict.fromkeys(source.bots())),
        Once().each(source.games(with_records=True)),
    )
    ratings = rate(facts.columns())
    order = ranked(ratings)
    report = Report(
        source=source.name,
        tournament=tournaments[0] if tournaments else None,
        facts=facts,
        ratings=ratings,
        order=order,
        replays=[
            Replay(game=game, reasons=reasons, link=_write_record(game, out=out, folder=replays))
            for game, reasons in _notable(facts, order)
        ],
    )
    out.write_text(render(report), encoding="utf-8")
    return facts.games + facts.quarantined


def _notable(facts: Facts, order: list[Ranked]) -> list[tuple[PlayedGame, list[str]]]:
    """Return the games worth a look with the reasons why: each bot's best and worst, and forfeits."""
    found: dict[int, tuple[PlayedGame, list[str]]] = {}
    for entry in order:
        bot = entry.line.bot
        for what, extreme in (("most", facts.bots[bot].best), ("fewest", facts.bots[bot].worst)):
            if extreme is not None:
                points, game = extreme
                found.setdefault(game.id, (game, []))[1].append(f"{what} points of {bot}: {points}")
    for game in facts.forfeited:
        for seat, bot in enumerate(game.bots):
            if game.forfeited(seat):
                found.setdefault(game.id, (game, []))[1].append(f"{game.endings[seat]} of {bot}")
    return list(found.values())


def _write_record(game: PlayedGame, *, out: Path, folder: Path | None) -> str | None:
    """Write a game's record, if it has one, and return its address relative to the report."""
    record = record_with_bots(game)
    if folder is None or record is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / record_file_name(game)
    path.write_text(record + "\n", encoding="utf-8")
    return quote(Path(os.path.relpath(path, out.parent)).as_posix())
