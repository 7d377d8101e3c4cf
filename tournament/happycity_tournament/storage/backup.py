"""Copies of whole SQLite stores: a backup while a server runs, and the way back into a new store.

A backup is a SQLite store like any other, so every command that reads stores reads it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, inspect, select, table, text

from happycity_tournament.storage.copies import PageCounter, copy_pages, new_file
from happycity_tournament.storage.database import DAMAGED, Database
from happycity_tournament.storage.errors import StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """A copy of a store, which was checked."""

    rows: Mapping[str, int]
    """How many rows each table has."""
    schema_version: int
    seconds: float
    """How long it took."""


def back_up(url: str, path: Path, *, progress: PageCounter) -> CopyReport:
    """Copy a SQLite store, as it is at this moment, into a new file; a server may write to it meanwhile.

    The file is there when all of it is, and was checked. A kill leaves at most `<path>.*.partial`. A backup
    is restored in the same way, as it is a store too.

    Raises:
        ConfigError: the file exists already, or can't be written.
        StoreError: the store can't be read, is damaged, or is not a SQLite store.
    """
    started = time.perf_counter()
    with new_file(path) as partial:
        with Database.existing(url, any_version=True) as source, source.reading() as connection:
            if connection.dialect.name != "sqlite":
                raise StoreError(source.url, "is not a SQLite file; use pg_dump for PostgreSQL")
            # The first reading fixes the moment of which the copy is.
            version = source.schema_version(connection) or 0
            copy_pages(connection, partial, progress)
        # Not before: as long as the store is read, its write-ahead log grows.
        found = check_store(partial)
    return CopyReport(rows=found, schema_version=version, seconds=time.perf_counter() - started)


def backup_mark(database: Path) -> Path:
    """Return the empty file beside a SQLite store whose time of change is that of its last backup."""
    return database.with_name(f"{database.name}.backup")


def check_store(path: Path) -> dict[str, int]:
    """Check a SQLite store as a whole; return how many rows each table has.

    Raises:
        StoreError: it is damaged.
    """
    url = f"sqlite:///{path.as_posix()}"
    with Database.existing(url, any_version=True) as database, database.reading() as connection:
        damage = [*connection.execute(text("SELECT * FROM pragma_integrity_check(1)")).scalars()] != ["ok"]
        rows = {
            name: connection.scalar(select(func.count()).select_from(table(name))) or 0
            for name in inspect(connection).get_table_names()
        }
        if damage or connection.execute(text("SELECT * FROM pragma_foreign_key_check")).first() is not None:
            raise StoreError(database.url, DAMAGED)
    return rows
