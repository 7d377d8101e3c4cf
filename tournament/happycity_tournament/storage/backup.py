"""Copies of whole stores: a backup while a server runs, and the way back into an empty store.

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

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Table,
    delete,
    func,
    insert,
    literal_column,
    make_url,
    select,
    text,
)

from happycity import ConfigError
from happycity_tournament.storage.database import DAMAGED, Database, StoreError
from happycity_tournament.storage.rows import read_rows
from happycity_tournament.storage.schema import SCHEMA_VERSION, meta, metadata

_PAGES_AT_ONCE = 2000
_ROWS_AT_ONCE = 1000

Progress = Callable[[int, int], None]
"""Called again and again with how many pages or rows are copied, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A copy of a store, which was checked."""

    rows: Mapping[str, int]
    """How many rows each table has."""
    schema_version: int
    seconds: float
    """How long it took."""


def back_up(url: str, path: Path, *, progress: Progress) -> Copied:
    """Copy a store, as it is at this moment, into a new SQLite file; a server may write to it meanwhile.

    The file is there when all of it is, and was checked. A kill leaves at most `<path>.*.partial`.

    Raises:
        ConfigError: the file exists already, or can't be written.
        StoreError: the store can't be read.
    """
    started = time.perf_counter()
    rows = None
    with new_file(path) as partial:
        with Database.existing(url) as source, source.reading() as connection:
            source.has_tables(connection)  # the first reading fixes the moment of which the copy is
            if connection.dialect.name == "sqlite":
                _copy_pages(connection, partial, progress)
            else:
                with Database.create(f"sqlite:///{partial}") as target, target.writing() as target_connection:
                    rows = _copy_rows(connection, target_connection, progress)
        # Not before: as long as the store is read, its write-ahead log grows.
        found = check_store(partial, rows)
    return Copied(rows=found, schema_version=SCHEMA_VERSION, seconds=time.perf_counter() - started)


def restore(path: Path, url: str, *, progress: Progress) -> Copied:
    """Copy a backup into an empty store: a new SQLite file, or a PostgreSQL database without games.

    It is there as a whole or not at all, whatever ends the program.

    Raises:
        ConfigError: the SQLite file exists already, or can't be written.
        StoreError: the backup can't be read or is damaged, or the database has games or can't be written.
    """
    source = f"sqlite:///{path.as_posix()}"
    target = make_url(url)
    if target.get_backend_name() == "sqlite":
        return back_up(source, Path(target.database or ""), progress=progress)
    started = time.perf_counter()
    with Database.create(url) as database:
        database.claim()
        rows = check_store(path)
        with Database.existing(source) as opened, opened.reading() as connection:
            _check_empty(database)
            with database.writing() as target_connection:
                copied = _copy_rows(connection, target_connection, progress)
                if copied != rows:
                    raise StoreError(opened.url, DAMAGED)
        return Copied(rows=rows, schema_version=SCHEMA_VERSION, seconds=time.perf_counter() - started)


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


def _copy_pages(connection: Connection, partial: Path, progress: Progress) -> None:
    """Copy a SQLite database as the connection's transaction sees it, whatever others write meanwhile."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)

    def note(_: int, remaining: int, total: int) -> None:
        _sync(partial)  # else the disk would have much to write at once, and a server's commits wait for it
        progress(total - remaining, total)

    with closing(sqlite3.connect(partial)) as target:
        # As the transaction has read something before, SQLite doesn't begin again after others' commits.
        driver.backup(target, pages=_PAGES_AT_ONCE, progress=note)


def _copy_rows(source: Connection, target: Connection, progress: Progress) -> dict[str, int]:
    """Copy all rows into tables of the same version that have none; return how many each table has."""
    totals = {
        table: source.scalar(select(func.count()).select_from(table)) or 0 for table in metadata.sorted_tables
    }
    total, done = sum(totals.values()), 0
    target.execute(delete(meta))
    for table in totals:
        for batch in read_rows(source, table, at_once=_ROWS_AT_ONCE):
            target.execute(insert(table), batch)
            done += len(batch)
            progress(done, total)
    _set_last_ids(target, _last_ids(source))
    return {table.name: count for table, count in totals.items()}


def _numbered_tables() -> list[Table]:
    """Return the tables of which no id is ever used twice."""
    return [table for table in metadata.sorted_tables if table.dialect_options["sqlite"]["autoincrement"]]


def _last_ids(connection: Connection) -> dict[str, int]:
    """Return the highest id that each numbered table ever had, if it ever had a row."""
    if connection.dialect.name == "sqlite":
        rows = connection.execute(text("SELECT name, seq FROM sqlite_sequence"))
        return dict(map(tuple, rows))
    found = {}
    for table in _numbered_tables():
        sequence = connection.scalar(text(f"SELECT pg_get_serial_sequence('{table.name}', 'id')"))
        values = select(literal_column("last_value", BigInteger), literal_column("is_called", Boolean))
        last, used = connection.execute(values.select_from(text(str(sequence)))).one()
        if used:
            found[table.name] = last
    return found


def _set_last_ids(connection: Connection, last_ids: Mapping[str, int]) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(text("DELETE FROM sqlite_sequence"))
    statement = text(
        "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"
        if connection.dialect.name == "sqlite"
        else "SELECT setval(pg_get_serial_sequence(:name, 'id'), :last)"
    )
    for name, last in last_ids.items():
        connection.execute(statement, {"name": name, "last": last})


def _check_empty(database: Database) -> None:
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            if table is not meta and connection.execute(select(table).limit(1)).first() is not None:
                problem = "is not empty; restore into an empty database"
                raise StoreError(database.url, problem)


def check_store(path: Path, expected: Mapping[str, int] | None = None) -> dict[str, int]:
    """Check a SQLite store as a whole; return how many rows each table has.

    Raises:
        StoreError: it is damaged, or the rows aren't as many as expected.
    """
    with Database.existing(f"sqlite:///{path.as_posix()}") as database, database.reading() as connection:
        damage = [*connection.execute(text("SELECT * FROM pragma_integrity_check(1)")).scalars()] != ["ok"]
        rows = {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }
        if damage or connection.execute(text("SELECT * FROM pragma_foreign_key_check")).first() is not None:
            raise StoreError(database.url, DAMAGED)
        if expected is not None and rows != expected:
            raise StoreError(database.url, "lacks rows of the store; try again")
    return rows
