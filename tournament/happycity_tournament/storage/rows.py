"""Games and tournaments as rows of the store's tables, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

import orjson
from sqlalchemy import Connection, Dialect, Row, String, cast, insert
from sqlalchemy.sql.compiler import SQLCompiler

from happycity import BotInfo, Config, Ending, Mode, Scoring, SeatResult
from happycity.match import one_line
from happycity_tournament.config import TournamentState
from happycity_tournament.games import BotProfile, FinishedGame, Result
from happycity_tournament.storage.database import as_json
from happycity_tournament.storage.schema import games
from happycity_tournament.storage.stored import Problems, StoredTournament

_Json = TypeVar("_Json", dict[str, Any], list[Any])


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


RESULT_COLUMNS = (
    "id",
    "tournament_id",
    "round",
    "table",
    "rotation",
    "deal_seed",
    "bots",
    "places",
    "points",
    "coins",
    "endings",
    "reasons",
)
"""The columns of `games` that `results_of` takes, with lists as JSON."""


def results_of(rows: Sequence[Sequence[Any]]) -> list[Result]:
    """Read the results of some games at once; ValueError or TypeError for what no store holds."""
    ids, tournament_ids, rounds, tables, rotations, seeds, *lists, endings, reasons = zip(*rows, strict=True)
    bots, places, points, coins = map(_lists, lists)
    if not list(map(len, bots)) == list(map(len, places)) == list(map(len, points)):
        raise ValueError("bots, places and points by seat")
    positions = [None if place[0] is None else place for place in zip(rounds, tables, rotations, strict=True)]
    columns = (ids, tournament_ids, positions, map(int, seeds), bots, places, points, coins)
    return list(map(Result, *columns, map(_forfeits, endings), map(_reasons, reasons)))


def _lists(texts: Sequence[str]) -> list[list[Any]]:
    """Return lists by their JSON."""
    lists = orjson.loads(f"[{','.join(texts)}]")
    if len(lists) != len(texts):
        raise ValueError("lists as JSON")
    return list(lists)


@lru_cache(maxsize=1000)
def _forfeits(text: str) -> tuple[Ending, ...]:
    endings = tuple(map(Ending, json.loads(text)))
    return () if set(endings) == {Ending.FINISHED} else endings


def _reasons(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def game_of(row: Row[Any]) -> FinishedGame:
    """Read a row of `games`."""
    columns = [row._mapping[column] for column in _SEAT_COLUMNS]
    reasons = row.reasons or [""] * len(row.endings)
    seats = zip(*columns, map(Ending, row.endings), reasons, strict=True)
    return FinishedGame(
        match_id=row.id,
        tournament_id=row.tournament_id,
        position=None if row.round is None else (row.round, row.table, row.rotation),
        deal_seed=int(row.deal_seed),
        config=Config(players=row.players, mode=Mode(row.mode), scoring=Scoring(row.scoring)),
        bots=tuple(row.bots),
        bot_seeds=tuple(row.bot_seeds),
        seats=tuple([SeatResult(*seat) for seat in seats]),
        decisions=row.decisions,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


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
    config, state = _json(row.config, {}), state_of(row.state)
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


def state_of(stored: str) -> TournamentState:
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
