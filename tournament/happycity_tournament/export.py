"""Games as files for other programs: a table with a row for each seat of each game, or the records."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path

from happycity.errors import ConfigError, RecordError
from happycity.records import Json, loads, metrics_of, outcome_of
from happycity_tournament.moments import Moments
from happycity_tournament.played_games import PlayedGame, record_with_bots
from happycity_tournament.sources import Source

COLUMNS = {
    "tournament": "int64",
    "round": "int64",
    "table": "int64",
    "rotation": "int64",
    "deal_seed": "uint64",
    "game": "int64",
    "seat": "int64",
    "bot": "string",
    "points": "int64",
    "coins": "int64",
    "place": "int64",
    "ending": "string",
    "quarantined": "int64",
    "inhabitants": "int64",
    "hearts": "int64",
    "decisions": "int64",
    "seconds": "float64",
    "finished_at": "float64",
    "metrics": "string",
}
"""The columns of the table with their types, as Arrow names them; what isn't known is empty."""

_ROWS_AT_ONCE = (
    8192  # a group of rows in a Parquet file: large enough to compress, small enough for any memory
)

_WriteRows = Callable[[Iterable[Json]], None]


class Format(StrEnum):
    """What games can be exported as."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    RECORDS = "records"


@dataclass(slots=True)
class Exported:
    """What an export wrote."""

    games: int = 0
    without_record: int = 0
    """Games that the source holds no record of: without one there are no inhabitants and hearts."""

    def text(self, out: Path) -> str:
        """Say so in one line."""
        lacking = f", {self.without_record} have no record" if self.without_record else ""
        return f"{out}: {self.games} games{lacking}"


def export_games(source: Source, out: Path, *, file_format: Format, split: bool = False) -> Exported:
    """Write all games of a source, one after the other: a source may be larger than the memory.

    Args:
        source: where the games are.
        out: the file; with `split` a folder, which is made if it isn't there.
        file_format: what to write.
        split: write each record into a file of its own.

    Raises:
        ConfigError: Parquet is asked for and can't be written.
        RecordError: a record in the source is malformed.
    """
    exported = Exported()
    played = _counted(source, exported)
    if file_format is Format.RECORDS:
        (_write_split if split else _write_records)(played, out)
        return exported
    with _WRITERS[file_format](out) as write:
        write(row for game in played for row in seat_rows(game))
    return exported


def seat_rows(game: PlayedGame) -> Iterator[Json]:
    """Yield a row for each seat, with the keys of `COLUMNS`; seats are counted from 0, as in records.

    Raises:
        RecordError: the game's record doesn't tell its outcome.
    """
    try:
        record = loads(game.record) if game.record is not None else None
        inhabitants, hearts = _inhabitants_and_hearts(game, record)
        metrics = _metrics(game, record)
    except (RecordError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"game {game.id}: malformed record: {error}") from error
    for seat, bot in enumerate(game.bots):
        yield {
            "tournament": game.tournament_id,
            "round": game.round,
            "table": game.table,
            "rotation": game.rotation,
            "deal_seed": game.deal_seed,
            "game": game.id,
            "seat": seat,
            "bot": bot,
            "points": game.points[seat],
            "coins": game.coins[seat],
            "place": game.places[seat],
            "ending": game.endings[seat],
            "quarantined": int(game.quarantined),
            "inhabitants": inhabitants[seat],
            "hearts": hearts[seat],
            "decisions": game.decisions,
            "seconds": game.seconds,
            "finished_at": game.finished_at,
            "metrics": metrics[seat],
        }


def record_file_name(game: PlayedGame) -> str:
    """Return the name of the file that a single record is written to; their order is that of the games."""
    return f"game-{game.id:07}.json"


def _counted(source: Source, exported: Exported) -> Iterator[PlayedGame]:
    for game in source.games(with_records=True):
        exported.games += 1
        exported.without_record += game.record is None
        yield game


def _metrics(game: PlayedGame, record: Json | None) -> list[str | None]:
    """Return by seat what the bot told of its answers in this game, as JSON; None where it told nothing."""
    told: list[dict[str, Moments]] = [{} for _ in game.bots]
    for seat, numbers in metrics_of(record or {}):
        for name, number in numbers.items():
            told[seat].setdefault(name, Moments()).add(number)
    return [
        json.dumps(
            {
                name: {
                    "count": moments.count,
                    "mean": moments.mean,
                    "sd": moments.deviation,
                    "min": moments.least,
                    "max": moments.most,
                }
                for name, moments in sorted(by_name.items())
            }
        )
        if by_name
        else None
        for by_name in told
    ]


def _inhabitants_and_hearts(
    game: PlayedGame, record: Json | None
) -> tuple[Sequence[int | None], Sequence[int | None]]:
    nothing = (None,) * len(game.bots)
    if record is None:
        return nothing, nothing
    outcome = outcome_of(record)
    return outcome.inhabitants, outcome.hearts


def _write_records(played: Iterable[PlayedGame], out: Path) -> None:
    with out.open("w", encoding="utf-8") as file:
        for game in played:
            record = record_with_bots(game)
            if record is not None:
                file.write(record + "\n")


def _write_split(played: Iterable[PlayedGame], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for game in played:
        record = record_with_bots(game)
        if record is not None:
            (folder / record_file_name(game)).write_text(record + "\n", encoding="utf-8")


@contextmanager
def _csv_writer(out: Path) -> Iterator[_WriteRows]:
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=COLUMNS)
        writer.writeheader()
        yield writer.writerows


@contextmanager
def _jsonl_writer(out: Path) -> Iterator[_WriteRows]:
    with out.open("w", encoding="utf-8") as file:
        yield lambda rows: file.writelines(json.dumps(row) + "\n" for row in rows)


@contextmanager
def _parquet_writer(out: Path) -> Iterator[_WriteRows]:
    try:
        import pyarrow  # noqa: PLC0415 - 50 MB that nobody else needs
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise ConfigError("format: parquet needs pyarrow; install happycity[parquet]") from None
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()])
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:

        def write(rows: Iterable[Json]) -> None:
            left = iter(rows)
            while group := list(islice(left, _ROWS_AT_ONCE)):
                writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))

        yield write


_WRITERS: dict[Format, Callable[[Path], AbstractContextManager[_WriteRows]]] = {
    Format.CSV: _csv_writer,
    Format.JSONL: _jsonl_writer,
    Format.PARQUET: _parquet_writer,
}
