"""What `tournament export`, `report` and `show --metrics` do with the games that they read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from happycity import ConfigError
from happycity.text.words import plural
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.cli.games import Choice
from happycity_tournament.cli.options import check_output
from happycity_tournament.cli.reading import counted
from happycity_tournament.ratings.statistics import BotMetrics
from happycity_tournament.report.export import export_games
from happycity_tournament.report.facts import bot_metrics
from happycity_tournament.report.rating_exports import export_results
from happycity_tournament.report.report import ReplayFolder, write_report
from happycity_tournament.storage.sources import Source

FAILURES_SHOWN = 3
"""Games that can't be replayed that are named."""


def metrics_of_bots(sources: Sequence[Source]) -> BotMetrics:
    """Return what the bots' metrics come to in all games of some sources."""
    with counted(sources) as read:
        return bot_metrics(game for source in read for game in source.games(with_records=True))


def export_source(source: Source, out: Path, *, file_format: str, split: bool, game: int | None) -> None:
    """Write the games of a source, or one of them, as a table or as records."""
    _keep_apart(source, out)
    if not split:
        check_output("--out", out)
    with counted([source]) as (read,):
        exported = export_games(read, out, file_format=file_format, split=split, game=game)
    lacking = f", {exported.without_record:,} without a record" if exported.without_record else ""
    typer.echo(f"{out}: {plural(exported.games, 'game')}{lacking}", err=True)


def export_source_results(source: Source, out: Path, *, file_format: str) -> None:
    """Write the results of the rated games of a source for other rating programs."""
    _keep_apart(source, out)
    check_output("--out", out)
    with counted([source]) as (read,):
        games = (game for game, _ in read.games(with_records=False))
        exported = export_results(games, out, file_format=file_format)
    left_out = f", {exported.left_out:,} not rated left out" if exported.left_out else ""
    typer.echo(f"{out}: {plural(exported.games, 'game')}{left_out}", err=True)
    if exported.pairs:
        typer.echo(
            f"games at tables of more than two became {plural(exported.pairs, 'game')} of pairs; a program "
            "that takes these as independent states errors that are too small",
            err=True,
        )


def report_source(
    source: Source, out: Path, *, replays: Path | None, choice: Choice | None, lineup: Lineup | None = None
) -> None:
    """Write a report of a source as one HTML file; the lineup is that of its run, if it is one.

    The replays of notable games, and of those that are chosen, are written into the folder `replays`.
    """
    _keep_apart(source, out)
    check_output("--out", out)
    folder = None if replays is None else ReplayFolder(replays)
    chosen, more = ([], False) if choice is None else choice.of(source)
    with counted([source]) as (read,):
        games = write_report(
            read,
            out,
            replays=folder,
            chosen=chosen,
            sharing=() if lineup is None else lineup.sharing,
            processes=1 if lineup is None else lineup.processes,
        )
    typer.echo(f"{out}: a report of {plural(games, 'game')}", err=True)
    if folder is not None:
        _echo_replays(folder, more=more)


def _echo_replays(folder: ReplayFolder, *, more: bool) -> None:
    """Say what was written into a folder of replays; `more`: the limit left games out."""
    size = f", {sum(folder.sizes) / 1e6:.1f} MB" if folder.sizes else ""
    typer.echo(f"{folder.path}: {plural(len(folder.sizes), 'replay')}{size}", err=True)
    for failure in folder.failures[:FAILURES_SHOWN]:
        typer.echo(failure, err=True)
    if len(folder.failures) > FAILURES_SHOWN:
        typer.echo(f"and {len(folder.failures) - FAILURES_SHOWN} more", err=True)
    if more:
        typer.echo("of the chosen games the newest; more with: --limit N, all with: --limit 0", err=True)


def _keep_apart(source: Source, out: Path) -> None:
    """Refuse to overwrite a source."""
    if out.exists() and any(file.samefile(out) for file in source.files):
        raise ConfigError(f"--out: {out} is the source itself")
