"""Games as files for other programs: a table with a row for each seat of each game, or the records.

A malformed record raises a RecordError that names its game.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import orjson

from happycity.match import Ending
from happycity.records.record import Json
from happycity.records.replay import metrics_of, record_at
from happycity_runtime.files import replacing
from happycity_tournament.games import Result
from happycity_tournament.ratings.statistics import Moments
from happycity_tournament.recorded_games import named_record, read_record
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.storage.sources import Source


@dataclass(slots=True)
class Exported:
    """What an export wrote."""

    games: int = 0
    without_record: int = 0
    """Games that the source holds no record of: these have no metrics, and can't be written as records."""

    def counting(self, games: Iterable[tuple[Result, bool]]) -> Iterator[tuple[Result, bool]]:
        """Yield games, each after it was counted."""
        for game, is_counted in games:
            self.games += 1
            self.without_record += game.record is None
            yield game, is_counted


def export_games(source: Source, out: Path, *, file_format: str, game: int | None = None) -> Exported:
    """Write the games of a source one after the other, as it may be larger than the memory; or only `game`.

    Formats are `csv`, `jsonl` and `records`. The file is there when all of it is.

    Raises:
        SourceError: there is no such game.
    """
    exported, with_records = Exported(), file_format == "records"
    with replacing(out) as path, path.open("w", encoding="utf-8", newline="") as file:
        if game is None:
            games = _with_counting(source, source.results(whole=True, with_records=with_records))
        else:
            found, record = source.game(game)
            results = () if with_records else _with_counting(source, source.results())
            counts = any(is_counted for one, is_counted in results if one.match_id == game)
            games = iter([(found.result._replace(record=record), counts)])
        games = exported.counting(games)
        rows = (row for one, is_counted in games for row in seat_rows(one, unrated=not is_counted))
        if with_records:
            file.writelines(_named(one, one.record) for one, _ in games if isinstance(one.record, str))
        elif file_format == "jsonl":
            file.writelines(orjson.dumps(row._asdict()).decode() + "\n" for row in rows)
        else:
            writer = csv.writer(file)
            writer.writerow(SeatRow._fields)
            writer.writerows(map(_cells, rows))
    return exported


def _with_counting(source: Source, parts: Iterable[list[Result]]) -> Iterator[tuple[Result, bool]]:
    """Yield games of a source, each with whether it counts."""
    rules = CountingRules(source.tournaments())
    for part in parts:
        counted, _ = rules.rule(part[0].tournament_id).divide(part)
        ids = {one.match_id for one in counted}
        yield from ((one, one.match_id in ids) for one in part)


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


def seat_rows(game: Result, *, unrated: bool) -> Iterator[SeatRow]:
    """Yield a row for each seat of a game with all that there is of it."""
    metrics, (number, table, rotation) = _metrics(game), game.position or (None, None, None)
    seconds = None
    if game.started_at is not None and game.finished_at is not None:
        seconds = max(0.0, game.finished_at - game.started_at)
    for seat, bot in enumerate(game.bots):
        yield SeatRow(
            game.tournament_id,
            number,
            table,
            rotation,
            game.deal_seed,
            game.match_id,
            seat,
            bot,
            game.points[seat],
            game.coins[seat],
            game.places[seat],
            game.endings[seat].word if game.endings else Ending.FINISHED.word,
            (game.reasons[seat] or None) if game.reasons else None,
            int(unrated),
            game.inhabitants[seat],
            game.hearts[seat],
            game.decisions,
            seconds,
            game.finished_at,
            metrics[seat],
        )


def _named(game: Result, record: str) -> str:
    """Return the line of a record with the names of its bots."""
    with record_at(f"game {game.match_id}"):
        return named_record(game.bots, record) + "\n"


def _metrics(game: Result) -> Sequence[str | None]:
    """Return by seat the numbers that the bot sent with its answers, as JSON; None where there are none."""
    if not isinstance(game.record, str):
        return [None] * len(game.bots)
    by_seat: list[dict[str, Moments]] = [{} for _ in game.bots]
    with record_at(f"game {game.match_id}"):
        for seat, numbers in metrics_of(read_record(game.record)):
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


def _cells(row: SeatRow) -> SeatRow:
    """Return a row without texts that a spreadsheet takes for a formula: names and reasons are by bots."""
    if row.bot.startswith(_FORMULA) or (row.reason or "").startswith(_FORMULA):
        return row._replace(bot=_cell(row.bot), reason=row.reason and _cell(row.reason))
    return row


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of cells that spreadsheets compute."""
