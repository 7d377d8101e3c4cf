"""Games as files for other programs: a table with a row for each seat of each game, or the records.

A malformed record raises a RecordError that names its game.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from happycity.records.record import Json
from happycity.records.replay import metrics_of, record_at
from happycity_runtime.files import replacing
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.statistics import Moments
from happycity_tournament.recorded_games import named_record, read_record
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.storage.sources import Source

_Record = TypeVar("_Record", bound=str | bytes | None)


@dataclass(slots=True)
class Exported:
    """What an export wrote."""

    games: int = 0
    without_record: int = 0
    """Games that the source holds no record of: these have no metrics, and can't be written as records."""


def export_games(source: Source, out: Path, *, file_format: str, game: int | None = None) -> Exported:
    """Write the games of a source one after the other, as it may be larger than the memory; or only `game`.

    Formats are `csv`, `jsonl` and `records`. The file is there when all of it is.

    Raises:
        SourceError: there is no such game.
    """
    exported = Exported()
    unrated = set() if file_format == "records" else _unrated(source, last=game)
    with replacing(out) as path, path.open("w", encoding="utf-8", newline="") as file:
        if file_format == "records":
            records = source.games(with_records=True) if game is None else [source.game(game)]
            recorded = _counted(records, exported)
            file.writelines(_named(found, record) for found, record in recorded if record is not None)
            return exported
        timed = _counted(source.timed_games() if game is None else [source.game(game)], exported)
        rows = (row for each in timed for row in seat_rows(*each, unrated=each[0].match_id in unrated))
        if file_format == "jsonl":
            file.writelines(json.dumps(row._asdict()) + "\n" for row in rows)
        else:
            writer = csv.writer(file)
            writer.writerow(SeatRow._fields)
            writer.writerows(
                row._replace(bot=_cell(row.bot), reason=row.reason and _cell(row.reason)) for row in rows
            )
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


class SeatRow(NamedTuple):
    """A row of the table: a seat of a game; what isn't known is None, in a CSV file empty."""

    tournament: int | None
    round: int | None
    table: int | None
    rotation: int | None
    deal_seed: int
    game: int
    seat: int
    """From 0, as in records."""
    bot: str
    points: int
    coins: int
    place: int
    ending: str
    reason: str | None
    unrated: int
    inhabitants: int
    hearts: int
    decisions: int
    seconds: float | None
    finished_at: float | None
    metrics: str | None


def seat_rows(game: FinishedGame, record: str | bytes | None, *, unrated: bool) -> Iterator[SeatRow]:
    """Yield a row for each seat."""
    metrics, (number, table, rotation) = _metrics(game, record), game.position or (None, None, None)
    for seat, (bot, result) in enumerate(zip(game.bots, game.seats, strict=True)):
        yield SeatRow(
            game.tournament_id,
            number,
            table,
            rotation,
            game.deal_seed,
            game.match_id,
            seat,
            bot,
            result.points,
            result.coins,
            result.place,
            result.ending.word,
            result.reason or None,
            int(unrated),
            result.inhabitants,
            result.hearts,
            game.decisions,
            None if game.started_at is None else game.seconds,
            game.finished_at,
            metrics[seat],
        )


def _named(game: FinishedGame, record: str) -> str:
    """Return the line of a record with the names of its bots."""
    with record_at(f"game {game.match_id}"):
        return named_record(game.bots, record) + "\n"


def _counted(
    games: Iterable[tuple[FinishedGame, _Record]], exported: Exported
) -> Iterator[tuple[FinishedGame, _Record]]:
    for game, record in games:
        exported.games += 1
        exported.without_record += record is None
        yield game, record


def _metrics(game: FinishedGame, record: str | bytes | None) -> list[str | None]:
    """Return by seat the numbers that the bot sent with its answers, as JSON; None where there are none."""
    if not isinstance(record, str):
        return [None] * len(game.bots)
    by_seat: list[dict[str, Moments]] = [{} for _ in game.bots]
    with record_at(f"game {game.match_id}"):
        for seat, numbers in metrics_of(read_record(record)):
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


def _cell(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula: names and reasons come from bots."""
    return f"'{text}" if text.startswith(_FORMULA) else text


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of cells that spreadsheets compute."""
