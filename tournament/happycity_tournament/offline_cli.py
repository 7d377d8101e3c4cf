"""The commands of `tournament` that need no server: rate, export and report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from happycity.errors import ConfigError
from happycity.records import Json
from happycity_tournament.export import Format, export_games
from happycity_tournament.final_ratings import rate as rate_games
from happycity_tournament.rating_tables import print_ratings, ratings_json
from happycity_tournament.ratings import MEAN_ELO
from happycity_tournament.report import write_report
from happycity_tournament.sources import Gathered, SourceError, gather, open_sources, open_tournament, path_of

_Source = Annotated[
    str, typer.Argument(help="A store's URL or SQLite file, a record file, or a folder of record files.")
]
_Sources = Annotated[
    list[str],
    typer.Argument(help="Stores' URLs or SQLite files, record files, or folders of record files."),
]
_Tournament = Annotated[
    int | None, typer.Option(min=1, help="Only the games of this tournament of the store.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (rate, export, report):
        app.command()(command)


def rate(
    sources: _Sources,
    *,
    anchor: Annotated[
        str | None, typer.Option(metavar="BOT", help="Bot whose rating is given; else the mean of all.")
    ] = None,
    anchor_elo: Annotated[float, typer.Option(help="Rating of the anchor, or of the mean.")] = MEAN_ELO,
    tournament: _Tournament = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="File for the result as JSON; - is the standard output.")
    ] = None,
) -> None:
    """Rate the bots by all their games.

    The model is that of final ratings. A game that is there more than once counts once, and one with a
    disqualified bot not at all.
    """
    with open_sources(sources, tournament=tournament) as opened:
        gathered, names = gather(opened), [source.name for source in opened]
    if not gathered.count:
        rated = " that is rated" if gathered.quarantined else ""
        raise SourceError(", ".join(names), f"no finished game in it{rated}")
    if anchor is not None and anchor not in gathered.games.bots:
        raise ConfigError(f"anchor: {anchor!r} is none of the bots {', '.join(gathered.games.bots)}")
    ratings = rate_games(gathered.games, anchor=anchor, anchor_elo=anchor_elo)
    to_stdout = json_file is not None and str(json_file) == "-"
    console = Console(stderr=to_stdout)
    print_ratings(console, ratings)
    console.print(Text(_counted(gathered, names)), soft_wrap=True)
    if json_file is not None:
        told = {**_counted_json(gathered, names), "anchor_elo": anchor_elo, **ratings_json(ratings)}
        text = json.dumps(told, indent=2) + "\n"
        if to_stdout:
            sys.stdout.write(text)
        else:
            json_file.write_text(text, encoding="utf-8")


def export(
    source: _Source,
    *,
    file_format: Annotated[Format, typer.Option("--format", help="What to write.")],
    out: Annotated[Path, typer.Option(help="The file, or with --split the folder, to write to.")],
    tournament: _Tournament = None,
    split: Annotated[
        bool, typer.Option("--split", help="With --format records: one file for each game.")
    ] = False,
) -> None:
    """Write games as a table or as records.

    A table has a row for each seat of each game.
    """
    if split and file_format is not Format.RECORDS:
        raise ConfigError("split: only records can be split; add --format records")
    _keep_apart(source, out)
    with open_sources([source], tournament=tournament) as opened:
        exported = export_games(opened[0], out, file_format=file_format, split=split)
    typer.echo(exported.text(out), err=True)


def report(
    source: _Source,
    *,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    tournament: _Tournament = None,
    replays: Annotated[
        Path | None, typer.Option(help="Folder for the records of notable games, which the report links to.")
    ] = None,
) -> None:
    """Write a report as one HTML file.

    It tells of one tournament or, where there is none, of all games.
    """
    _keep_apart(source, out)
    with open_tournament(source, tournament=tournament) as opened:
        games = write_report(opened, out, replays=replays)
    typer.echo(f"{out}: a report of {games} games", err=True)


def _keep_apart(source: str, out: Path) -> None:
    """Refuse to write over what is to be read."""
    path = path_of(source)
    if path is not None and path.exists() and out.exists() and path.samefile(out):
        raise ConfigError(f"out: {out} is the source itself; choose another file")


def _counted(gathered: Gathered, names: list[str]) -> str:
    copies = f", {gathered.copies} copies left out" if gathered.copies else ""
    apart = f", {gathered.quarantined} with a disqualified bot left out" if gathered.quarantined else ""
    return f"{gathered.count} games of {', '.join(names)}{copies}{apart}"


def _counted_json(gathered: Gathered, names: list[str]) -> Json:
    return {
        "sources": names,
        "games": gathered.count,
        "copies": gathered.copies,
        "games_quarantined": gathered.quarantined,
    }
