"""Games and tournaments as rows of the store's tables, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter, gt
from typing import Any, TypeVar

import orjson
from sqlalchemy import JSON, Connection, Dialect, Row, String, cast, insert
from sqlalchemy.sql.compiler import SQLCompiler

from happycity import BotInfo, Ending, SeatResult
from happycity.match import one_line
from happycity.records.replay import known_config
from happycity.wire.moments import LATEST
from happycity_tournament.config import TournamentState
from happycity_tournament.games import BotProfile, FinishedGame, Result
from happycity_tournament.storage.database import as_json
from happycity_tournament.storage.schema import games
from happycity_tournament.storage.stored import Problems, StoredTournament

_Json = TypeVar("_Json", dict[str, Any], list[Any])


_LARGEST = 2**31 - 1
"""The largest number of a game that is shown."""
_SEAT_COLUMNS = ("points", "coins", "inhabitants", "hearts", "ranks", "places")
"""The columns of `games` that are lists of numbers by seat."""
_seat_values = attrgetter("points", "coins", "inhabitants", "hearts", "rank", "place", "ending", "reason")


def insert_games(connection: Connection, batch: Sequence[FinishedGame]) -> None:
    """Insert games by the driver: SQLAlchemy's conversion of each value costs more than the insert itself."""
    statement = _insertion(connection.dialect)
    rows: list[Any] = list(map(game_row, batch))
    if statement.positional:
        rows = [tuple(row.values()) for row in rows]
    connection.exec_driver_sql(statement.string, rows)


@lru_cache(maxsize=2)
def _insertion(dialect: Dialect) -> SQLCompiler:
    statement = insert(games).compile(dialect=dialect)
    assert isinstance(statement, SQLCompiler)
    return statement


def game_row(game: FinishedGame) -> dict[str, Any]:
    """Return a game as a row of `games`: all columns in their order, as drivers take them, lists as JSON."""
    number, table, rotation = game.position or (None, None, None)
    *lists, endings, reasons = zip(*map(_seat_values, game.seats), strict=True)
    return {
        "id": game.match_id,
        "tournament_id": game.tournament_id,
        "round": number,
        "table": table,
        "rotation": rotation,
        "deal_seed": str(game.deal_seed),
        "players": game.config.players,
        "mode": game.config.mode.value,
        "scoring": game.config.scoring.value,
        "bots": as_json(game.bots),
        "bot_seeds": as_json(game.bot_seeds),
        **dict(zip(_SEAT_COLUMNS, map(as_json, lists), strict=True)),
        "endings": as_json(endings),
        "reasons": as_json(reasons if any(reasons) else ()),
        "decisions": game.decisions,
        "created_at": game.created_at,
        "started_at": game.started_at,
        "finished_at": game.finished_at,
    }


GAME_COLUMNS = tuple(
    cast(column, String).label(column.name) if isinstance(column.type, JSON) else column for column in games.c
)
"""The columns of `games` that `games_of` takes, with lists as JSON."""
WHOLE_RESULT_COLUMNS = tuple(
    GAME_COLUMNS[list(games.c.keys()).index(name)]
    for name in (
        *("id", "tournament_id", "round", "table", "rotation", "deal_seed"),
        *("bots", "places", "points", "coins", "endings", "reasons"),
        *("decisions", "inhabitants", "hearts", "started_at", "finished_at"),
    )
)
"""Those of them that `results_of` takes with the records of the games, or the times in them."""
RESULT_COLUMNS = WHOLE_RESULT_COLUMNS[:12]
"""Those of them that it takes for ratings."""


def results_of(rows: Sequence[Sequence[Any]]) -> list[Result]:
    """Read the results of some games at once; ValueError or TypeError for what no store holds."""
    columns = list(zip(*rows, strict=True))
    ids, tournament_ids, rounds, tables, rotations, seeds, *lists, endings, reasons = columns[:12]
    bots, places, points, coins = map(_lists, lists)
    seats = list(map(len, bots))
    if not seats == list(map(len, places)) == list(map(len, points)) == list(map(len, coins)):
        raise ValueError("bots, places, points and coins by seat")
    if min(map(min, places)) < 1 or any(map(gt, map(max, places), seats)):
        raise ValueError("places")
    if any(min(map(min, each)) < 0 or max(map(max, each)) > _LARGEST for each in (points, coins)):
        raise ValueError("points and coins")
    "".join(chain.from_iterable(bots)).encode()
    positions = [None if place[0] is None else place for place in zip(rounds, tables, rotations, strict=True)]
    said = list(map(_reasons, reasons))
    if any(len(one) not in (0, number) for one, number in zip(said, seats, strict=True)):
        raise ValueError("reasons by seat")
    seeds_and_lists = (map(int, seeds), bots, places, points, coins, map(_forfeits, endings), said)
    whole = _other_columns(columns[12:], seats) if columns[12:] else ()
    return list(map(Result, ids, tournament_ids, positions, *seeds_and_lists, *whole))


def _other_columns(columns: Sequence[Sequence[Any]], seats: Sequence[int]) -> list[Sequence[Any]]:
    """Return what a result has of `WHOLE_RESULT_COLUMNS` besides `RESULT_COLUMNS`, and the records."""
    decisions, inhabitants, hearts, started_at, finished_at, records = columns
    of_seats = list(map(_lists, (inhabitants, hearts)))
    if any(list(map(len, column)) != seats for column in of_seats):
        raise ValueError("inhabitants and hearts by seat")
    numbers = [*decisions, *chain.from_iterable(chain(*of_seats))]
    if set(map(type, numbers)) != {int} or min(numbers) < 0 or max(numbers) > _LARGEST:
        raise ValueError("numbers of a game")
    moments = (list(map(_moment, column)) for column in (started_at, finished_at))
    return [decisions, *of_seats, *moments, records]


def _lists(texts: Sequence[str]) -> list[list[Any]]:
    """Return lists by their JSON."""
    lists = orjson.loads(f"[{','.join(texts)}]")
    if len(lists) != len(texts):
        raise ValueError("lists as JSON")
    return list(lists)


@lru_cache(maxsize=1000)
def _endings(text: str) -> tuple[Ending, ...]:
    return tuple(map(Ending, json.loads(text)))


@lru_cache(maxsize=1000)
def _forfeits(text: str) -> tuple[Ending, ...]:
    endings = _endings(text)
    return () if set(endings) == {Ending.FINISHED} else endings


def _reasons(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def game_of(row: Row[Any]) -> FinishedGame:
    """Read the `GAME_COLUMNS` of a row, with which it begins."""
    return games_of([row])[0]


def games_of(rows: Sequence[Row[Any]]) -> list[FinishedGame]:
    """Read some games at once; ValueError or TypeError for what no store holds."""
    bots, bot_seeds, *numbers = (
        _lists(list(map(attrgetter(name), rows))) for name in ("bots", "bot_seeds", *_SEAT_COLUMNS)
    )
    flat = [*chain.from_iterable(map(chain.from_iterable, numbers)), *[row.decisions for row in rows]]
    if set(map(type, flat)) != {int} or min(flat) < 0 or max(flat) > _LARGEST:
        raise ValueError("numbers of a game")
    found = []
    for row, names, seeds, *of_seats in zip(rows, bots, bot_seeds, *numbers, strict=True):
        endings = _endings(row.endings)
        reasons = _reasons(row.reasons) or ("",) * len(endings)
        by_seat = (names, endings, reasons, *of_seats)
        if not "".join((*names, *reasons)).encode() or set(map(len, by_seat)) != {row.players}:
            raise ValueError("bots, numbers and reasons by seat")
        game = FinishedGame(
            match_id=row.id,
            tournament_id=row.tournament_id,
            position=None if row.round is None else (row.round, row.table, row.rotation),
            deal_seed=int(row.deal_seed),
            config=known_config(row.players, row.mode, row.scoring),
            bots=tuple(names),
            bot_seeds=tuple(seeds),
            seats=tuple(map(SeatResult, *of_seats, endings, reasons)),
            decisions=row.decisions,
            created_at=_moment(row.created_at),
            started_at=_moment(row.started_at),
            finished_at=_moment(row.finished_at),
        )
        found.append(game)
    return found


def _moment(stored: float) -> float | None:
    """Return a moment in Unix time; None, as where it isn't known, if there is no such moment."""
    return stored if 0 <= stored <= LATEST else None


def problem_columns(problems: Problems) -> dict[str, Any]:
    """Return the columns of `tournaments` that hold what went wrong."""
    return {
        "games_voided": problems.games_voided,
        "games_unrated": problems.games_unrated,
        "disqualified": json.dumps(problems.disqualified),
        "remarks": json.dumps(problems.remarks),
    }


def tournament_of(row: Row[Any]) -> StoredTournament:
    """Read a row of `tournaments`, without the profiles of its bots."""
    config, state = _json(row.config, {}), stored_state(row.state)
    return StoredTournament(
        id=row.id,
        request_id=row.request_id,
        config=config,
        games_total=row.games_total,
        state=state if config else TournamentState.UNREADABLE,
        created_at=row.created_at,
        problems=Problems(
            games_voided=row.games_voided,
            games_unrated=row.games_unrated,
            disqualified=tuple(map(str, _json(row.disqualified, []))),
            remarks=tuple(map(str, _json(row.remarks, []))),
        ),
    )


def profile_of(row: Row[Any]) -> BotProfile:
    """Read a row of `profiles`."""
    info = BotInfo(author=row.author, version=row.version, language=row.language, description=row.description)
    return BotProfile(info, one_line(row.software))


def stored_state(stored: str) -> TournamentState:
    """Return where a tournament stands, by the column `state`."""
    try:
        return TournamentState(stored)
    except ValueError:  # that of a later version
        return TournamentState.UNREADABLE


def _json(text: str, default: _Json) -> _Json:
    """Return a JSON value of the default's type; the default for any other text."""
    try:
        value = json.loads(text)
    except ValueError:
        return default
    return value if isinstance(value, type(default)) else default


def mentions(column: Any, word: str) -> Any:
    """Return the condition that a JSON list holds a word; no word holds a quotation mark or a backslash.

    SQLite takes upper and lower case for the same, so some of these lists may hold only a similar word.
    """
    return cast(column, String).contains(f'"{word}"', autoescape=True)
