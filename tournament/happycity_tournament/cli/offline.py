"""What `tournament rate`, `export` and `report` do with the games that they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import typer
from rich.console import Console
from rich.status import Status

from happycity import ConfigError
from happycity.errors import suggestion
from happycity.plural import plural
from happycity.records import Json
from happycity_tournament.bots.lineup import Lineup
from happycity_tournament.cli.console import print_ratings, show
from happycity_tournament.cli.games import Choice
from happycity_tournament.cli.json import check_json, ratings_json, write_json
from happycity_tournament.cli.options import check_output
from happycity_tournament.games import ListedGame
from happycity_tournament.ratings.checks.model_checks import check_lines, check_model
from happycity_tournament.ratings.comparisons import certain_order
from happycity_tournament.ratings.final import rate_fit
from happycity_tournament.ratings.fit import fit
from happycity_tournament.ratings.results import ranked
from happycity_tournament.ratings.statistics import BotMetrics
from happycity_tournament.report.export import export_games
from happycity_tournament.report.facts import bot_metrics
from happycity_tournament.report.rating_exports import export_results
from happycity_tournament.report.report import ReplayFolder, write_report
from happycity_tournament.running.snapshot import FinalRatings
from happycity_tournament.storage import StoredTournament
from happycity_tournament.storage.rating_input import Naming, RatingInput, load_for_rating
from happycity_tournament.storage.rows import RatingRow
from happycity_tournament.storage.sources import RecordedGame, Source, SourceError

_T = TypeVar("_T")

COUNTED_AT_ONCE = 500
"""Games after which the count on the terminal is updated."""
FAILURES_SHOWN = 3
"""Games that can't be replayed that are named."""


def rate_sources(
    sources: Sequence[Source],
    *,
    naming: Naming,
    anchor: str | None,
    anchor_elo: float,
    json_file: Path | None,
) -> None:
    """Rate the bots by all games of some sources."""
    names = [source.name for source in sources]
    loaded = load_games(sources, naming)
    if anchor is not None and anchor not in loaded.games.bots:
        raise ConfigError(
            f"--anchor: {anchor!r} is not one of the bots; {suggestion(anchor, loaded.games.bots)}"
        )
    estimate = fit(loaded.games)
    ratings = rate_fit(estimate, anchor=anchor, anchor_elo=anchor_elo, error_ratios=loaded.error_ratios)
    checks = check_model(estimate, loaded.sources)
    console = Console(stderr=str(json_file) == "-")
    print_ratings(console, ratings, anchor_elo=anchor_elo)
    show(console, *check_lines(checks), _read(loaded, names))
    if json_file is not None:
        order, los, certain = ranked(ratings), ratings.los_matrix(), certain_order(ratings.comparisons.los)
        content: Json = {
            "sources": names,
            "games": loaded.count,
            "copies": loaded.copies,
            "games_unrated": loaded.unrated,
            "games_practice": loaded.practice,
            "games_after_decision": loaded.after_decision,
            **ratings_json(FinalRatings.of(ratings, anchor_elo=anchor_elo)),
            "checks": [check_json(check) for check in checks],
            "los": [[los[row.index][column.index] for column in order] for row in order],
            "certain": [[bool(certain[row.index, column.index]) for column in order] for row in order],
        }
        write_json(content, json_file)


def load_games(sources: Sequence[Source], naming: Naming) -> RatingInput:
    """Read the games of some sources that are rated; a source without any is a SourceError."""
    with counted(sources) as read:
        loaded = load_for_rating(read, naming)
    if not loaded.count:
        rated = " that is rated" if loaded.unrated or loaded.practice else ""
        raise SourceError(", ".join(source.name for source in sources), f"no finished game in it{rated}")
    return loaded


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


class _CountedSource:
    """A source whose games are counted on the terminal as they are read."""

    def __init__(self, source: Source, status: Status) -> None:
        self._source = source
        self._status = status
        self.name = source.name
        self.files = source.files

    def tournaments(self) -> list[StoredTournament]:
        return self._source.tournaments()

    def bots(self) -> Iterator[str]:
        return self._source.bots()

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        return self._counted(self._source.games(with_records=with_records))

    def rating_rows(self) -> Iterator[RatingRow]:
        return self._counted(self._source.rating_rows())

    def newest_games(self, *, bot: str | None = None) -> Iterator[ListedGame]:
        return self._source.newest_games(bot=bot)

    def game(self, match_id: int | None = None) -> RecordedGame:
        return self._source.game(match_id)

    def close(self) -> None:
        self._source.close()

    def _counted(self, games: Iterator[_T]) -> Iterator[_T]:
        for number, game in enumerate(games, start=1):
            if not number % COUNTED_AT_ONCE:
                self._status.update(f"{number:,} games read; Ctrl-C stops it")
            yield game


@contextmanager
def counted(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Give sources whose games are counted on the terminal as they are read."""
    with Console(stderr=True).status("reading games; Ctrl-C stops it") as status:
        yield [_CountedSource(source, status) for source in sources]


def _read(loaded: RatingInput, names: Sequence[str]) -> str:
    copies = f", copies left out: {loaded.copies:,}" if loaded.copies else ""
    unrated = f", {loaded.unrated} with a disqualified bot not rated" if loaded.unrated else ""
    practice = f", {plural(loaded.practice, 'practice game')} not rated" if loaded.practice else ""
    late = loaded.after_decision
    tests = f", {plural(late, 'game')} after the decision of a test left out" if late else ""
    return f"{plural(loaded.count, 'game')} of {', '.join(names)}{copies}{unrated}{practice}{tests}"


def _keep_apart(source: Source, out: Path) -> None:
    """Refuse to overwrite a source."""
    if out.exists() and any(file.samefile(out) for file in source.files):
        raise ConfigError(f"--out: {out} is the source itself")
