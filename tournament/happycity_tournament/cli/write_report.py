"""`tournament report`: write a report as one HTML file, and replays beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from happycity.runtime.commands import check_output, remark
from happycity.text.words import plural
from happycity_tournament.cli.options import Source as Games
from happycity_tournament.cli.places import find_run, keep_apart, open_sources, reading_games, with_tournament
from happycity_tournament.report.report import ReplayFolder, write_report
from happycity_tournament.storage.sources import Source

FAILURES_SHOWN = 3
"""Games that can't be replayed that are named."""


def report(
    address: Games = None,
    *,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    replays: Annotated[
        Path | None,
        typer.Option(help="Folder for replays, each a page that needs no network; the report links to them."),
    ] = None,
) -> None:
    """Write a report as one HTML file.

    The report is about one tournament, or about all games of a source without tournaments.
    """
    with _one_tournament(address) as source:
        keep_apart(source, out)
        check_output("--out", out)
        folder = None if replays is None else ReplayFolder(replays)
        run = find_run(address)
        with reading_games():
            games = write_report(
                source,
                out,
                replays=folder,
                sharing=() if run is None else run.lineup.sharing,
                processes=1 if run is None else run.lineup.processes,
            )
    remark(f"{out}: a report of {plural(games, 'game')}")
    if folder is not None:
        _echo_replays(folder)


@contextmanager
def _one_tournament(address: str | None) -> Iterator[Source]:
    """Open the games of a tournament, by default the latest one of a store, or of a source without any."""
    with open_sources([address]) as (source,):
        if len(source.tournaments()) <= 1:
            yield source
            return
    with open_sources([with_tournament(address)]) as (source,):
        yield source


def _echo_replays(folder: ReplayFolder) -> None:
    """Say what was written into a folder of replays."""
    size = f", {sum(folder.sizes) / 1e6:.1f} MB" if folder.sizes else ""
    remark(f"{folder.path}: {plural(len(folder.sizes), 'replay')}{size}")
    for failure in folder.failures[:FAILURES_SHOWN]:
        typer.echo(failure, err=True)
    if len(folder.failures) > FAILURES_SHOWN:
        typer.echo(f"and {len(folder.failures) - FAILURES_SHOWN} more", err=True)
