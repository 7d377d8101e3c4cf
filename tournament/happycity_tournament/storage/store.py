"""The store: every tournament and every finished game. It is the truth; standings follow from it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, null, select, update

from happycity import ConfigError, Ending
from happycity.wire.moments import LATEST
from happycity_tournament.config import TournamentState
from happycity_tournament.games import LARGEST_ID, BotProfile, FinishedGame, Result
from happycity_tournament.storage.database import DAMAGED, Database
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.packing import Record, pack, pack_with_times, unpack
from happycity_tournament.storage.rows import (
    GAME_COLUMNS,
    RESULT_COLUMNS,
    WHOLE_RESULT_COLUMNS,
    game_of,
    games_of,
    insert_games,
    mentions,
    problem_columns,
    profile_of,
    results_of,
    stored_state,
    tournament_of,
)
from happycity_tournament.storage.schema import (
    NEXT_MATCH_KEY,
    games,
    meta,
    profiles,
    records,
    requests,
    tables,
    times,
    tournaments,
)
from happycity_tournament.storage.stored import Problems, Progress, StoredTournament

_FINISHED = TournamentState.FINISHED
_ROWS_AT_ONCE = 500
_RESULTS_AT_ONCE = 200  # with more, the garbage collector looks at their lists again and again
_SCHEDULED_ORDER = (games.c.tournament_id, games.c.round, games.c.table, games.c.rotation, games.c.id)

SEARCHED_AT_ONCE = 20_000
"""Games that one page of a search by bot or ending looks at."""
DELETED_AT_ONCE = 500
"""Games that are deleted in one transaction: the finished games of others wait for it."""

_UNREADABLE = (ValueError, TypeError, OverflowError, AttributeError, ConfigError, zlib.error)
"""What reading a row of a damaged store raises."""

_T = TypeVar("_T")
_Row = TypeVar("_Row")


class Store(Database):
    """A database of tournaments and games. What a method has written when it returns survives a kill.

    Every method raises StoreError if the database can't do what is asked. Methods that write are called from
    one thread at a time; those that only read may be called from others meanwhile, unless `in_memory`.
    """

    on_ladder_games: Callable[[Connection, Sequence[FinishedGame]], None] | None = None
    """What a ladder does with its games in the transaction that stores them; set by the ladder."""

    def create_tournament(
        self,
        config: Mapping[str, Any],
        *,
        games_total: int,
        created_at: float,
        request_id: str | None = None,
    ) -> int:
        """Store a new tournament, which is waiting, and return its id; no other may have the `request_id`."""
        row: dict[str, Any] = {
            "request_id": request_id,
            "config": _text(config),
            "seed": str(config["seed"]) if "seed" in config else None,
            "games_total": games_total,
            "state": TournamentState.WAITING.value,
            "created_at": created_at,
            **problem_columns(Problems()),
        }
        with self.writing() as connection:
            key = connection.execute(insert(tournaments).values(row)).inserted_primary_key
        assert key is not None
        return int(key[0])

    def set_config(self, tournament_id: int, config: Mapping[str, Any], *, games_total: int) -> None:
        """Change what a tournament consists of; its games must be those of the new configuration too."""
        self._change(tournament_id, config=_text(config), games_total=games_total)

    def set_state(self, tournament_id: int, state: TournamentState) -> None:
        """Note where a tournament stands."""
        self._change(tournament_id, state=state.value)

    def set_problems(self, tournament_id: int, problems: Problems) -> None:
        """Note what went wrong in a tournament."""
        self._change(tournament_id, **problem_columns(problems))

    def set_profiles(self, tournament_id: int, said: Mapping[str, BotProfile]) -> None:
        """Note what bots of a tournament said of themselves, in place of what they said before."""
        rows = [
            {"tournament_id": tournament_id, "bot": bot, "software": profile.software, **asdict(profile.info)}
            for bot, profile in said.items()
        ]
        own = profiles.c.tournament_id == tournament_id
        with self.writing() as connection:
            connection.execute(delete(profiles).where(own, profiles.c.bot.in_(list(said))))
            if rows:
                connection.execute(insert(profiles), rows)

    def delete_tournament(self, tournament_id: int) -> int:
        """Remove a tournament with its games and records; return how many games it had.

        See `delete_games`, with which it can be done in parts. Ids are not used again.
        """
        deleted = 0
        while some := self.delete_games(tournament_id):
            deleted += some
        with self.writing() as connection:
            connection.execute(delete(profiles).where(profiles.c.tournament_id == tournament_id))
            connection.execute(delete(tournaments).where(tournaments.c.id == tournament_id))
        return deleted

    def delete_games(self, tournament_id: int, *, limit: int = DELETED_AT_ONCE) -> int:
        """Remove up to `limit` games of a tournament, the newest first; return how many there were.

        The newest go first so that what a kill leaves is still the beginning of the schedule.
        """
        of_tournament = select(games.c.id).where(games.c.tournament_id == tournament_id)
        next_id = self.next_match_id()
        with self.writing() as connection:
            chosen = of_tournament.order_by(games.c.id.desc()).limit(limit)
            ids = list(connection.execute(chosen).scalars())
            if ids:
                connection.execute(delete(meta).where(meta.c.key == NEXT_MATCH_KEY))
                connection.execute(insert(meta).values(key=NEXT_MATCH_KEY, value=str(next_id)))
                for table in (times, records):
                    connection.execute(delete(table).where(table.c.game_id.in_(ids)))
                connection.execute(delete(games).where(games.c.id.in_(ids)))
        return len(ids)

    def add_games(self, batch: Sequence[tuple[FinishedGame, Record | None]]) -> None:
        """Store finished games with their records, all of them or, if one can't be stored, none."""
        if not batch:
            return
        packed, timed = list[dict[str, Any]](), list[dict[str, Any]]()
        for game, record in batch:
            if record is not None:
                whole, times_of_it = pack_with_times(record)
                packed.append({"game_id": game.match_id, "record": whole})
                timed += [{"game_id": game.match_id, "times": times_of_it}] if times_of_it else []
        with self.writing() as connection:
            insert_games(connection, [game for game, _ in batch])
            for table, rows in ((records, packed), (times, timed)):
                if rows:
                    connection.execute(insert(table), rows)
            single = [
                game.match_id for game, _ in batch if game.tournament_id is None and game.ladder is None
            ]
            if single:
                connection.execute(delete(tables).where(tables.c.match_id.in_(single)))
            of_ladder = [game for game, _ in batch if game.ladder is not None]
            if of_ladder:
                assert self.on_ladder_games is not None, "nobody keeps a ladder in this store"
                self.on_ladder_games(connection, of_ladder)

    def put_table(self, table_id: str, match_id: int | None, state: dict[str, Any]) -> None:
        """Store a table of people in place of what is stored of it; `add_games` removes it with its game."""
        row = {"id": table_id, "match_id": match_id, "state": pack(lambda: state)}
        with self.writing() as connection:
            connection.execute(delete(tables).where(tables.c.id == table_id))
            connection.execute(insert(tables).values(row))

    def delete_table(self, table_id: str) -> None:
        """Remove a table of people, if it is there."""
        with self.writing() as connection:
            connection.execute(delete(tables).where(tables.c.id == table_id))

    def tables(self) -> dict[str, bytes]:
        """Return the packed states of the tables of people by their ids, in the order of their matches."""
        query = select(tables.c.id, tables.c.state).order_by(tables.c.match_id, tables.c.id)
        return dict(self._all(query, lambda row: (row.id, row.state)))

    def _change(self, tournament_id: int, **columns: Any) -> None:
        change = update(tournaments).where(tournaments.c.id == tournament_id).values(columns)
        with self.writing() as connection:
            if connection.execute(change).rowcount != 1:
                raise self._unknown(tournament_id)

    def tournament(self, tournament_id: int) -> StoredTournament | None:
        """Return a tournament, None if there is none with this id."""
        if not 0 < tournament_id <= LARGEST_ID:
            return None
        query = select(tournaments).where(tournaments.c.id == tournament_id)
        found = self._with_profiles(self._all(query, tournament_of))
        return found[0] if found else None

    def require_tournament(self, tournament_id: int) -> StoredTournament:
        """Return a tournament; raise StoreError if there is none with this id."""
        stored = self.tournament(tournament_id)
        if stored is None:
            raise self._unknown(tournament_id)
        return stored

    def _unknown(self, tournament_id: int) -> StoreError:
        return StoreError(self.url, f"has no tournament {tournament_id}")

    def tournament_of_request(self, request_id: str) -> int | None:
        """Return the id of the tournament that a request has made, None if there is none."""
        query = select(tournaments.c.id).where(tournaments.c.request_id == request_id)
        return self._first(query, lambda row: int(row.id))

    def states_by_deals(self, tournament_ids: Collection[int]) -> dict[int, list[TournamentState]]:
        """Return by tournament its own state, then those of unfinished others with the same seed.

        Those have the same deals.
        """
        own, other = tournaments.c, tournaments.alias().c
        going_on = other.state.in_([one.value for one in TournamentState if one is not _FINISHED])
        with_same = and_(other.seed == own.seed, other.id != own.id, going_on)
        query = select(own.id, own.state, other.state.label("of_other")).distinct()
        query = query.join_from(tournaments, other.id.table, with_same, isouter=True)
        found = dict[int, list[TournamentState]]()
        for row in self._all(query.where(own.id.in_(tournament_ids)), lambda row: row):
            states = found.setdefault(row.id, [stored_state(row.state)])
            states += [] if row.of_other is None else [stored_state(row.of_other)]
        return found

    def tournaments_of_deals(self, deal_seeds: Collection[int]) -> set[tuple[int, int]]:
        """Return each deal, by its seed, with each tournament in which games of it were finished."""
        deal, of = games.c.deal_seed, games.c.tournament_id
        query = select(deal, of).where(deal.in_(map(str, deal_seeds)), of.is_not(None)).distinct()
        return set(self._all(query, lambda row: (int(row.deal_seed), row.tournament_id)))

    def tournaments(
        self,
        limit: int | None,
        before_id: int | None = None,
        *,
        states: Collection[TournamentState] | None = None,
        bot: str | None = None,
    ) -> list[StoredTournament]:
        """Return up to `limit` tournaments, newest first; each argument but None leaves others out.

        They have ids below `before_id`, stand in one of `states`, and `bot` takes part in them.
        """
        query = select(tournaments).order_by(tournaments.c.id.desc())
        if before_id is not None:
            query = query.where(tournaments.c.id < before_id)
        if states is not None:
            query = query.where(tournaments.c.state.in_([state.value for state in states]))
        if bot is None:
            return self._with_profiles(self._all(query.limit(limit), tournament_of))
        query = query.where(mentions(tournaments.c.config, bot))
        with closing(self.stream(query, tournament_of)) as mentioned:
            found = list(islice((entry for entry in mentioned if bot in entry.bots), limit))
        return self._with_profiles(found)

    def _with_profiles(self, found: Sequence[StoredTournament]) -> list[StoredTournament]:
        """Return tournaments with what their bots said."""
        said: dict[int, dict[str, BotProfile]] = {entry.id: {} for entry in found}
        query = select(profiles).where(profiles.c.tournament_id.in_(said))
        with self.reading() as connection:
            for row in connection.execute(query) if said else ():
                said[row.tournament_id][row.bot] = profile_of(row)
        return [replace(entry, profiles=said[entry.id]) for entry in found]

    def progress(self, tournament_id: int) -> Progress:
        """Return how far a tournament is."""
        query = (
            select(
                func.count(),
                func.sum(games.c.decisions),
                *(
                    aggregate(column).filter(column.between(0, LATEST))  # there are no other moments
                    for aggregate, column in ((func.min, games.c.started_at), (func.max, games.c.finished_at))
                ),
            )
            .where(games.c.tournament_id == tournament_id)
            .having(func.count() > 0)
        )
        return self._first(query, _progress_of) or Progress()

    def game(self, match_id: int) -> FinishedGame | None:
        """Return a game, None if there is none with this id."""
        if not 0 < match_id <= LARGEST_ID:
            return None
        return self._first(select(*GAME_COLUMNS).where(games.c.id == match_id), game_of)

    def games(
        self,
        limit: int,
        before_id: int | None = None,
        *,
        tournament_id: int | None = None,
        bot: str | None = None,
        ending: Ending | None = None,
        down_to: int = 0,
    ) -> list[FinishedGame]:
        """Return up to `limit` games, the highest id first; each argument but None leaves others out.

        They have ids below `before_id` and from `down_to` on, belong to the tournament, `bot` plays in them,
        and a seat has the `ending`: one of `bot`, if both are there. A game that can't be read is left out,
        and hides no other.
        """
        query = _newest(select(*GAME_COLUMNS), before_id, tournament_id).where(games.c.id >= down_to)
        if bot is not None:
            query = query.where(mentions(games.c.bots, bot))
        if ending is not None:
            query = query.where(mentions(games.c.endings, ending.value))
        if bot is None and None not in (found := self._all(query.limit(limit), _game_or_none)):
            return [game for game in found if game is not None]
        with closing(self.stream(query, _game_or_none)) as mentioned:
            readable = (game for game in mentioned if game is not None)
            return list(islice((game for game in readable if not bot or _plays(game, bot, ending)), limit))

    def searched_to(self, before_id: int | None, tournament_id: int | None) -> int:
        """Return the id down to which a page of a search of games looks; 0 if it looks at all of them."""
        query = _newest(select(games.c.id), before_id, tournament_id).offset(SEARCHED_AT_ONCE).limit(1)
        return self._first(query, lambda row: int(row.id)) or 0

    def results(self, tournament_id: int) -> list[FinishedGame]:
        """Return all finished games of a tournament, in the order of its schedule."""
        return [game for game, _ in self.all_games(tournament_id=tournament_id)]

    def all_games(
        self, *, tournament_id: int | None = None, with_records: bool = False
    ) -> Generator[tuple[FinishedGame, str | None]]:
        """Yield games, of one tournament or all, in schedules' order, those of no tournament by their ids."""
        query: Select[Any] = select(*GAME_COLUMNS)
        if with_records:
            query = query.add_columns(records.c.record).outerjoin(records, records.c.game_id == games.c.id)
        for rows in self._scheduled(query, tournament_id):
            for game, row in zip(self._read(rows, games_of), rows, strict=True):
                yield game, self._read(row.record, unpack) if with_records and row.record else None

    def bots(self) -> Iterator[str]:
        """Yield the names of the bots of all games, some more than once."""
        return chain.from_iterable(self.stream(select(games.c.bots), lambda row: row.bots))

    def result_parts(self, *, tournament_id: int | None = None) -> Generator[list[Result]]:
        """Yield what ratings take of games, some of one tournament at once, in the order of `all_games`.

        That takes a twentieth of the time of all that is known of them.
        """
        for rows in self._scheduled(select(*RESULT_COLUMNS), tournament_id):
            yield self._read(rows, results_of)

    def whole_result_parts(
        self, *, tournament_id: int | None = None, with_records: bool = False
    ) -> Generator[list[Result]]:
        """Yield the same with all that tables and reports need, and the records.

        Unless it is to be `with_records`, packed times take the place of a record that has no more.
        """
        packed = null().label("times") if with_records else times.c.times
        query = select(*WHOLE_RESULT_COLUMNS, packed, records.c.record).select_from(games)
        if not with_records:
            query = query.outerjoin(times, times.c.game_id == games.c.id)
        without = and_(packed.is_(None), records.c.game_id == games.c.id)
        for rows in self._scheduled(query.outerjoin(records, without), tournament_id):
            yield self._read(rows, _whole_results)

    def _scheduled(self, query: Select[Any], tournament_id: int | None) -> Iterator[Sequence[Row[Any]]]:
        """Yield some rows of one tournament at once of a query for games, in the order of `all_games`."""
        if tournament_id is not None:
            query = query.where(games.c.tournament_id == tournament_id)
        options = {"yield_per": _RESULTS_AT_ONCE}
        with (
            self.reading() as connection,
            connection.execute(query.order_by(*_SCHEDULED_ORDER), execution_options=options) as rows,
        ):
            for some in rows.partitions():
                yield from (list(own) for _, own in groupby(some, key=itemgetter(1)))

    def record(self, match_id: int) -> str | None:
        """Return a game's record, None if there is no such game or it was stored without one."""
        if not 0 < match_id <= LARGEST_ID:
            return None
        query = select(records.c.record).where(records.c.game_id == match_id)
        return self._first(query, lambda row: unpack(row.record))

    def next_match_id(self) -> int:
        """Return an id above those of all games, also deleted ones, at tables of people, or just answered."""
        ids = (games.c.id, tables.c.match_id, requests.c.match_id)
        highest = max(self._first(select(func.max(each)), lambda row: int(row[0] or 0)) or 0 for each in ids)
        noted = select(meta.c.value).where(meta.c.key == NEXT_MATCH_KEY)
        return max(highest + 1, self._first(noted, lambda row: int(row.value)) or 1)

    def _first(self, query: Select[*tuple[Any, ...]], read: Callable[[Row[Any]], _T]) -> _T | None:
        """Return the only row, None if there is none."""
        rows = self._all(query, read)
        return rows[0] if rows else None

    def _all(self, query: Select[*tuple[Any, ...]], read: Callable[[Row[Any]], _T]) -> list[_T]:
        with self.reading() as connection:
            return [self._read(row, read) for row in connection.execute(query)]

    def stream(self, query: Select[*tuple[Any, ...]], read: Callable[[Row[Any]], _T]) -> Generator[_T]:
        """Yield any number of rows, of which few are in memory at once."""
        options = {"yield_per": _ROWS_AT_ONCE}
        with self.reading() as connection, connection.execute(query, execution_options=options) as rows:
            for row in rows:
                yield self._read(row, read)

    def _read(self, row: _Row, read: Callable[[_Row], _T]) -> _T:
        try:
            return read(row)
        except _UNREADABLE as error:
            raise StoreError(self.url, DAMAGED) from error


def _progress_of(row: Row[Any]) -> Progress:
    names = ("games", "decisions", "started_at", "finished_at")
    return Progress(**{name: value for name, value in zip(names, row, strict=True) if value is not None})


def _game_or_none(row: Row[Any]) -> FinishedGame | None:
    try:
        return game_of(row)
    except _UNREADABLE:
        return None


def _newest(query: Select[Any], before_id: int | None, tournament_id: int | None) -> Select[Any]:
    """Return a query for games below an id, of one tournament or all, the highest id first."""
    if before_id is not None:
        query = query.where(games.c.id < before_id)
    if tournament_id is not None:
        query = query.where(games.c.tournament_id == tournament_id)
    return query.order_by(games.c.id.desc())


def _whole_results(rows: Sequence[Row[Any]]) -> list[Result]:
    return results_of([(*row[:-2], row.times or (row.record and unpack(row.record))) for row in rows])


def _text(config: Mapping[str, Any]) -> str:
    """Return a configuration as JSON, with names as they are: a search by name looks for them."""
    return json.dumps(dict(config), ensure_ascii=False)


def _plays(game: FinishedGame, bot: str, ending: Ending | None) -> bool:
    """Return whether a bot plays in a game and, unless it is None, has the ending there."""
    return any(
        name == bot and ending in (None, seat.ending)
        for name, seat in zip(game.bots, game.seats, strict=True)
    )
