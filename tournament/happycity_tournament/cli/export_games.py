"""`tournament export`: write games as a table or as records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from happycity import ConfigError
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
    out: Annotated[Path, typer.Option(help="The file to write; with --split, the folder.")],
    game: Annotated[
        int | None, typer.Option(metavar="ID", help="Write only this game; `tournament games` lists ids.")
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Write one file for each game, with --format records.")
    ] = False,
) -> None:
    """Write games as a table or as records.

    A table (csv, jsonl) has a row for each seat of each game.
    """
    if split and file_format != "records":
        raise ConfigError("--split has no effect in a table; add --format records")
    with open_sources([address]) as (source,):
        keep_apart(source, out)
        if not split:
            check_output("--out", out)
        with reading_games():
            exported = export_games(source, out, file_format=file_format, split=split, game=game)
    lacking = f", {exported.without_record:,} without a record" if exported.without_record else ""
    remark(f"{out}: {plural(exported.games, 'game')}{lacking}")
