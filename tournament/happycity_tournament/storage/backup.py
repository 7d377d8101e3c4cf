"""Copies of whole SQLite stores: a backup while a server runs, and the way back into a new store.

A backup is a SQLite store like any other, so every command that reads stores reads it.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select, text

from happycity.errors import ConfigError
from happycity_tournament.storage.database import DAMAGED, Database
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.schema import SCHEMA_VERSION, metadata

_PAGES_AT_ONCE = 2000

PageCounter = Callable[[int, int], None]
"""Called again and again with how many pages are copied, and how many there are."""


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
        with Database.existing(url) as source, source.reading() as connection:
            if connection.dialect.name != "sqlite":
                raise StoreError(source.url, "is not a SQLite file; use pg_dump for PostgreSQL")
            source.has_tables(connection)  # the first reading fixes the moment of which the copy is
            _copy_pages(connection, partial, progress)
        # Not before: as long as the store is read, its write-ahead log grows.
        found = check_store(partial)
    return CopyReport(rows=found, schema_version=SCHEMA_VERSION, seconds=time.perf_counter() - started)


def backup_mark(database: Path) -> Path:
    """Return the empty file beside a SQLite store whose time of change is that of its last backup."""
    return database.with_name(f"{database.name}.backup")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a file beside one that is to be made, and give it that name if no error passes."""
    _check_absent(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".partial", dir=path.parent)
        os.close(descriptor)
    except OSError as error:
        raise ConfigError(f"{path}: it can't be written: {error.strerror}") from None
    partial = Path(name)
    try:
        yield partial
        _sync(partial)
        _check_absent(path)
        partial.rename(path)
        _sync(path.parent)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{partial}{suffix}").unlink(missing_ok=True)


def _check_absent(path: Path) -> None:
    for present in (
        path,
        Path(f"{path}-wal"),
    ):  # SQLite would take the log of an old file for that of the new one
        if present.exists():
            raise ConfigError(f"{present}: it exists already; choose another name, or move it away")


def _sync(path: Path) -> None:
    """Let a file or folder outlast a power cut."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_pages(connection: Connection, partial: Path, progress: PageCounter) -> None:
    """Copy a SQLite database as the connection's transaction sees it, whatever others write meanwhile."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)

    def note(_: int, remaining: int, total: int) -> None:
        _sync(partial)  # else the disk would have much to write at once, and a server's commits wait for it
        progress(total - remaining, total)

    with closing(sqlite3.connect(partial)) as target:
        # As the transaction has read something before, SQLite doesn't begin again after others' commits.
        driver.backup(target, pages=_PAGES_AT_ONCE, progress=note)


def check_store(path: Path) -> dict[str, int]:
    """Check a SQLite store as a whole; return how many rows each table has.

    Raises:
        StoreError: it is damaged.
    """
    with Database.existing(f"sqlite:///{path.as_posix()}") as database, database.reading() as connection:
        damage = [*connection.execute(text("SELECT * FROM pragma_integrity_check(1)")).scalars()] != ["ok"]
        rows = {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }
        if damage or connection.execute(text("SELECT * FROM pragma_foreign_key_check")).first() is not None:
            raise StoreError(database.url, DAMAGED)
    return rows
