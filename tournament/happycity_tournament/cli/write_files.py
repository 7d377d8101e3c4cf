"""`tournament export` and `tournament report`: write games, and what they say, to files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from happycity.text.words import plural
from happycity_runtime.commands import check_output, remark, until_output_closes
from happycity_tournament.cli.options import LuckGames, TakeOffLuck, games_for_luck
from happycity_tournament.cli.options import Source as Games

if TYPE_CHECKING:
    from happycity_tournament.storage.sources import Source


def export(
    address: Games = None,
    *,
    file_format: Annotated[
        Literal["csv", "jsonl", "records"], typer.Option("--format", help="The format to write.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write; - is the standard output.")],
    game: Annotated[
        int | None, typer.Option(metavar="ID", help="Write only this game; `tournament games` lists ids.")
    ] = None,
) -> None:
    """Write games as a table or as records.

    A table (csv, jsonl) has a row for each seat of each game.
    """
    from happycity_tournament.cli.addresses import open_sources, refuse_overwriting
    from happycity_tournament.cli.tables import reading_games
    from happycity_tournament.report.export import export_games

    with until_output_closes(), open_sources([address]) as (source,):
        refuse_overwriting(source, out)
        check_output("--out", out)
        with reading_games():
            source.check()
            exported = export_games(source, out, file_format=file_format, game=game)
    lacking = f", {exported.without_record:,} without a record" if exported.without_record else ""
    remark(f"{out}: {plural(exported.games, 'game')}{lacking}")


def report(
    address: Games = None,
    *,
    out: Annotated[Path, typer.Option(help="The HTML file to write; - is the standard output.")],
    luck_adjusted: TakeOffLuck = False,
    luck_games: LuckGames = 0,
) -> None:
    """Write a report as one HTML file.

    The report is about one tournament, or about all games of a source without tournaments.
    """
    from happycity_tournament.cli.addresses import find_run, refuse_overwriting
    from happycity_tournament.cli.tables import reading_games
    from happycity_tournament.report.report import write_report

    luck = games_for_luck(luck_games, adjusted=luck_adjusted)
    with until_output_closes(), _one_tournament(address, luck_games=luck) as source:
        refuse_overwriting(source, out)
        check_output("--out", out)
        run = find_run(address)
        with reading_games(source):
            games = write_report(
                source,
                out,
                sharing=() if run is None else run.lineup.sharing,
                processes=1 if run is None else run.lineup.processes,
            )
    remark(f"{out}: a report of {plural(games, 'game')}")


@contextmanager
def _one_tournament(address: str | None, *, luck_games: int | None) -> Iterator[Source]:
    """Open the games of a tournament, by default the latest one of a store, or of a source without any."""
    from happycity_tournament.cli.addresses import open_sources, with_tournament

    with open_sources([address], luck_games=luck_games) as (source,):
        if len(source.tournaments()) <= 1:
            yield source
            return
    with open_sources([with_tournament(address)], luck_games=luck_games) as (source,):
        yield source
