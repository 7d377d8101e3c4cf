"""Games as files for other programs: a table with a row for each seat of each game, or the records.

A malformed record raises a RecordError that names its game.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from happycity import RecordError
from happycity.records.record import Json, loads
from happycity.records.replay import metrics_of
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.statistics import Moments
from happycity_tournament.recorded_games import RecordedGame, named_record
from happycity_tournament.report.whole_files import replacing
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.storage.sources import Source

COLUMNS = (
    "tournament",
    "round",
    "table",
    "rotation",
    "deal_seed",
    "game",
    "seat",
    "bot",
    "points",
    "coins",
    "place",
    "ending",
    "reason",
    "unrated",
    "inhabitants",
    "hearts",
    "decisions",
    "seconds",
    "finished_at",
    "metrics",
)
"""The columns of the table; what isn't known is empty."""


@dataclass(slots=True)
class Exported:
    """What an export wrote."""

    games: int = 0
    without_record: int = 0
    """Games that the source holds no record of: these have no metrics, and can't be written as records."""


def export_games(
    source: Source, out: Path, *, file_format: str, split: bool = False, game: int | None = None
) -> Exported:
    """Write the games of a source one after the other, as it may be larger than the memory; or only `game`.

    Formats are `csv`, `jsonl` and `records`. The file is there when all of it is. With `split`, each record
    is written into a file of its own; `out` is their folder, which is made.

    Raises:
        SourceError: there is no such game.
    """
    exported = Exported()
    chosen = source.games(with_records=True) if game is None else [source.game(game)]
    games = _counted(chosen, exported)
    if split:
        for finished, record in games:
            if record is not None:
                write_record(finished, record, out)
        return exported
    with replacing(out) as path:
        if file_format == "records":
            _write_records(games, path)
        else:
            unrated = _unrated(source, last=game)
            rows = (
                row
                for recorded in games
                for row in seat_rows(*recorded, unrated=recorded[0].match_id in unrated)
            )
            _WRITERS[file_format](rows, path)
    return exported


def _unrated(source: Source, *, last: int | None) -> set[int]:
    """Return the ids of the games that don't count, up to the last one that is asked for."""
    rules, unrated = CountingRules(source.tournaments()), set[int]()
    for part in source.results():
        for one in part:
            if rules.reason(one) is not None:
                unrated.add(one.match_id)
            if one.match_id == last:
                return unrated
    return unrated


def seat_rows(game: FinishedGame, record: str | None, *, unrated: bool) -> Iterator[Json]:
    """Yield a row for each seat, with the keys of `COLUMNS`; seats are counted from 0, as in records."""
    metrics = _metrics(game, record)
    number, table, rotation = game.position or (None, None, None)
    for seat, (bot, result) in enumerate(zip(game.bots, game.seats, strict=True)):
        yield {
            "tournament": game.tournament_id,
            "round": number,
            "table": table,
            "rotation": rotation,
            "deal_seed": game.deal_seed,
            "game": game.match_id,
            "seat": seat,
            "bot": bot,
            "points": result.points,
            "coins": result.coins,
            "place": result.place,
            "ending": result.ending.word,
            "reason": result.reason or None,
            "unrated": int(unrated),
            "inhabitants": result.inhabitants,
            "hearts": result.hearts,
            "decisions": game.decisions,
            "seconds": None if game.started_at is None else game.seconds,
            "finished_at": game.finished_at,
            "metrics": metrics[seat],
        }


def write_record(game: FinishedGame, record: str, folder: Path) -> Path:
    """Write a record into a file of its own, whose name follows from the game, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"game-{game.match_id:07}.json"
    with errors_name(game), replacing(path) as partial:
        partial.write_text(named_record(game.bots, record) + "\n", encoding="utf-8")
    return path


@contextmanager
def errors_name(game: FinishedGame) -> Iterator[None]:
    """Let errors in a game's record say which game it is."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"game {game.match_id}: malformed record: {error}") from None


def _counted(games: Iterable[RecordedGame], exported: Exported) -> Iterator[RecordedGame]:
    for game, record in games:
        exported.games += 1
        exported.without_record += record is None
        yield game, record


def _metrics(game: FinishedGame, record: str | None) -> list[str | None]:
    """Return by seat the numbers that the bot sent with its answers, as JSON; None where there are none."""
    by_seat: list[dict[str, Moments]] = [{} for _ in game.bots]
    with errors_name(game):
        for seat, numbers in [] if record is None else metrics_of(loads(record)):
            for name, number in numbers.items():
                by_seat[seat].setdefault(name, Moments()).add(number)
    summaries = [{name: _summary(by_name[name]) for name in sorted(by_name)} for by_name in by_seat]
    return [json.dumps(summary) if summary else None for summary in summaries]


def _summary(moments: Moments) -> Json:
    numbers = {
        "count": moments.count,
        "mean": moments.mean,
        "sd": moments.deviation,
        "min": moments.least,
        "max": moments.most,
    }
    return {key: number if math.isfinite(number) else None for key, number in numbers.items()}


def _write_records(games: Iterable[RecordedGame], out: Path) -> None:
    with out.open("w", encoding="utf-8") as file:
        for game, record in games:
            if record is not None:
                with errors_name(game):
                    file.write(named_record(game.bots, record) + "\n")


def _write_csv(rows: Iterator[Json], out: Path) -> None:
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=COLUMNS)
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Return a value as a cell that no spreadsheet takes for a formula: names and reasons come from bots."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_jsonl(rows: Iterator[Json], out: Path) -> None:
    with out.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of cells that spreadsheets compute."""
_WRITERS = {"csv": _write_csv, "jsonl": _write_jsonl}
