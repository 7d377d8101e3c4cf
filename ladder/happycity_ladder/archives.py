"""Archives: the records of a closed season in a file of its own, so that the store doesn't grow for ever.

An archive is a SQLite store with the season's games and their records, which every command that reads stores
reads. The store keeps all but the records: deals, results and ratings.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, make_url, select, update

from happycity import ConfigError
from happycity_tournament.storage.backup import check_store, new_file
from happycity_tournament.storage.database import Database, StoreError, is_file
from happycity_tournament.storage.rows import read_rows
from happycity_tournament.storage.schema import (
    PRUNED_SEASON_KEY,
    games,
    ladder_deals,
    ladder_games,
    ladder_seasons,
    meta,
    records,
)
from happycity_tournament.storage.store import Store

_ROWS_AT_ONCE = 500
"""Records that are deleted in one transaction, for which a server's games wait."""


class SeasonArchive:
    """The archive of a season, in two steps: `write` and, again and again, `prune`.

    Each step can be killed, and is done again from its beginning.
    """

    def __init__(self, store: Database, season_id: int, folder: str = "") -> None:
        """Choose the file, in a folder or else beside the store.

        Raises:
            ConfigError: there is no folder, and the store is not a file.
        """
        url = make_url(store.url)
        if not folder and not is_file(url):
            raise ConfigError("archive_folder: it is missing; this store is not a file that has a folder")
        self.path = (Path(folder) if folder else Path(url.database or "").parent) / (
            f"{Path(url.database or 'ladder').stem}-season-{season_id}.sqlite"
        )
        """The file; that of an earlier call, once it has records that the store lacks."""
        self._store = store
        self._season_id = season_id
        self._complete = False

    def write(self, note: Callable[[], None] = lambda: None) -> None:
        """Write the file, unless it is there, and make sure that it holds every record of the season.

        It only reads the store, while a server may write to it. `note` is called again and again, and may end
        the writing by an error.

        Raises:
            ConfigError: the file can't be written.
            StoreError: the season lasts, or the file lacks a record that the store has.
        """
        with self._store.reading() as connection:
            known = self._known_archive(connection)
            if known:
                self.path = Path(known)
            elif not self.path.exists():
                with new_file(self.path) as partial:
                    self._write(connection, partial, note)
            self._check_file(connection, note)
        self._complete = True

    def prune(self) -> bool:
        """Delete some records of the season from the store; return whether there may be more of them.

        Raises:
            StoreError: they can't be deleted.
        """
        assert self._complete, "nothing is deleted before the archive is written and checked"
        some = select(records.c.game_id).where(_of_season(records.c.game_id, self._season_id))
        with self._store.writing() as connection:
            ids = list(connection.execute(some.limit(_ROWS_AT_ONCE)).scalars())
            connection.execute(delete(records).where(records.c.game_id.in_(ids)))
            season = update(ladder_seasons).where(ladder_seasons.c.id == self._season_id)
            connection.execute(season.values(archive=str(self.path.absolute())))
            more = len(ids) == _ROWS_AT_ONCE
            key = PRUNED_SEASON_KEY.format(self._season_id)
            connection.execute(delete(meta).where(meta.c.key == key))
            if more:
                connection.execute(insert(meta).values(key=key, value=""))
        return more

    def _known_archive(self, connection: Connection) -> str:
        """Return the file that has records of the season which the store lacks, "" if it has all.

        Raises:
            StoreError: there is no such season, or it lasts.
        """
        own = select(ladder_seasons).where(ladder_seasons.c.id == self._season_id)
        season = connection.execute(own).first()
        if season is None:
            raise StoreError(self._store.url, f"has no season {self._season_id}")
        open_deals = select(ladder_deals.c.id).where(
            ladder_deals.c.season_id == self._season_id, ladder_deals.c.finished.is_(None)
        )
        if season.ended_at is None or connection.execute(open_deals.limit(1)).first() is not None:
            raise StoreError(self._store.url, f"still plays season {self._season_id}; close it first")
        return str(season.archive)

    def _write(self, connection: Connection, partial: Path, note: Callable[[], None]) -> None:
        with Database.create(f"sqlite:///{partial.as_posix()}") as archive, archive.writing() as target:
            for table, key in ((games, games.c.id), (records, records.c.game_id)):
                chosen = _of_season(key, self._season_id)
                for rows in read_rows(connection, table, chosen, at_once=_ROWS_AT_ONCE):
                    note()
                    target.execute(insert(table), rows)

    def _check_file(self, connection: Connection, note: Callable[[], None]) -> None:
        """Compare every record of the season that is in the store with the file."""
        check_store(self.path)
        chosen = _of_season(records.c.game_id, self._season_id)
        with Database.existing(f"sqlite:///{self.path.as_posix()}") as archive, archive.reading() as other:
            for rows in read_rows(connection, records, chosen, at_once=_ROWS_AT_ONCE):
                note()
                first, last = rows[0]["game_id"], rows[-1]["game_id"]
                query = select(records).where(records.c.game_id.between(first, last))
                found = {game_id: bytes(record) for game_id, record in other.execute(query)}
                for row in rows:
                    if found.get(row["game_id"]) != bytes(row["record"]):
                        number = row["game_id"]
                        problem = f"lacks the record of game {number}; move it away to have it written again"
                        raise StoreError(archive.url, problem)


def _of_season(game_id: ColumnElement[Any], season_id: int) -> ColumnElement[bool]:
    """Return the condition that a game belongs to a season."""
    own = select(ladder_games.c.game_id).join(ladder_deals, ladder_deals.c.id == ladder_games.c.deal_id)
    return game_id.in_(own.where(ladder_deals.c.season_id == season_id))


def archive_of(store: Database, match_id: int) -> str | None:
    """Return the archive that has the record of a game of the ladder, as its path.

    It is "" while the store has all records of the season, None for a game that isn't of the ladder.
    """
    query = (
        select(ladder_seasons.c.archive)
        .join(ladder_deals, ladder_deals.c.season_id == ladder_seasons.c.id)
        .join(ladder_games, ladder_games.c.deal_id == ladder_deals.c.id)
        .where(ladder_games.c.game_id == match_id)
    )
    with store.reading() as connection:
        return connection.scalar(query)


def archived_record(path: str, match_id: int) -> str | None:
    """Return the record of a game in an archive, None if it isn't there.

    Raises:
        StoreError: the archive can't be read.
    """
    with Store.existing(f"sqlite:///{Path(path).as_posix()}") as archive:
        return archive.record(match_id)


def seasons_to_archive(store: Database, keep: int) -> list[int]:
    """Return the closed seasons with records in the store, but for the `keep` newest ones; oldest first."""
    closed = select(ladder_seasons).where(ladder_seasons.c.ended_at.is_not(None))
    with store.reading() as connection:
        older = connection.execute(closed.order_by(ladder_seasons.c.id.desc()).offset(keep)).all()
        pruned = {PRUNED_SEASON_KEY.format(season.id): season.id for season in older if season.archive}
        begun = connection.execute(select(meta.c.key).where(meta.c.key.in_(pruned))).scalars()
        unfinished = {pruned[key] for key in begun}
    return [season.id for season in reversed(older) if not season.archive or season.id in unfinished]
