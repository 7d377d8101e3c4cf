"""`tournament export`: write games as a table or as records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from happycity.runtime.commands import check_output, remark
from happycity.text.words import plural
from happycity_tournament.cli.options import Source
from happycity_tournament.cli.places import keep_apart, open_sources, reading_games
from happycity_tournament.report.export import export_games


def export(
    address: Source = None,
    *,
    file_format: Annotated[
        Literal["csv", "jsonl", "records"], typer.Option("--format", help="The format to write.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    game: Annotated[
        int | None, typer.Option(metavar="ID", help="Write only this game; `tournament games` lists ids.")
    ] = None,
) -> None:
    """Write games as a table or as records.

    A table (csv, jsonl) has a row for each seat of each game.
    """
    with open_sources([address]) as (source,):
        keep_apart(source, out)
        check_output("--out", out)
        with reading_games():
            exported = export_games(source, out, file_format=file_format, game=game)
    lacking = f", {exported.without_record:,} without a record" if exported.without_record else ""
    remark(f"{out}: {plural(exported.games, 'game')}{lacking}")
