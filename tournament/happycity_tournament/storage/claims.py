"""Claims: only one server at a time uses a store.

A claim is a lock of the operating system or of the database server. So it ends with the process that holds
it, however that ends, and nothing stale is left behind. It may also be lost while that process lives on;
`Claim.held` notices.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

PATIENCE_SECONDS = 2.0
"""Maximum wait of a claim: PostgreSQL may not have noticed yet that a process was killed, and readers look at
the lock file of a SQLite database."""
LOCK_SUFFIX = ".lock"
"""What is added to a SQLite file's name to name the file that is locked."""

_LOCK_NOT_AVAILABLE = "55P03"
_POSTGRESQL_KEY = 0x4861707079  # any number that no other program's lock in the same database has


class Claim:
    """A claim of this process on a database; this base class is the claim on a database in memory."""

    connection: Connection | None = None
    """The connection on which all writing has to be done, so that nothing is written after the claim is lost;
    None: on any connection."""

    def held(self) -> bool:
        """Return whether no other process can have claimed the database since this one did."""
        return True

    def release(self) -> None:
        """Give the claim up."""


class _FileClaim(Claim):
    """A locked file beside a SQLite database."""

    def __init__(self, lock: sqlite3.Connection, path: str) -> None:
        self._lock = lock
        self._paths = (path, path + LOCK_SUFFIX)
        self._identities, self._size = self._stat()

    def held(self) -> bool:
        """Return whether database and locked file are still the same files, and the database was not cut."""
        try:
            identities, size = self._stat()
        except OSError:
            return False
        shrunk, self._size = size < self._size, size
        return identities == self._identities and not shrunk

    def release(self) -> None:
        """Unlock the file."""
        self._lock.close()

    def _stat(self) -> tuple[list[tuple[int, int]], int]:
        """Return what identifies both files, and the size of the database."""
        stats = [os.stat(path) for path in self._paths]
        return [(stat.st_dev, stat.st_ino) for stat in stats], stats[0].st_size


class _ConnectionClaim(Claim):
    """An advisory lock of PostgreSQL, which lasts as long as its connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection: Connection = connection

    def held(self) -> bool:
        """Return whether the connection still stands, by asking the database server."""
        if self.connection.invalidated:  # asking would open another connection, which has no lock
            return False
        try:
            with self.connection.begin():
                self.connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            self.connection.invalidate()
        return not self.connection.invalidated

    def release(self) -> None:
        """End the connection."""
        self.connection.invalidate()  # or the pool would keep the connection, and with it the lock
        self.connection.close()


def claim(engine: Engine) -> Claim | None:
    """Claim a database for this process; return None if another process has it.

    A process that was killed a moment ago may still seem to have it, so a claim waits `PATIENCE_SECONDS`. No
    other process can use a database in memory, and kinds other than SQLite and PostgreSQL are not claimed.
    """
    if engine.dialect.name == "postgresql":
        return _claim_postgresql(engine)
    path = _file(engine)
    return _claim_file(path) if path else Claim()


def is_claimed(engine: Engine) -> bool:
    """Return whether a process has claimed a database, without claiming it."""
    if engine.dialect.name == "postgresql":
        query = text(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
            "AND (classid::bigint << 32 | objid::bigint) = :key"
        )
        with engine.connect() as connection:
            return bool(connection.scalar(query, {"key": _POSTGRESQL_KEY}))
    path = _file(engine)
    return path is not None and _is_locked(path + LOCK_SUFFIX)


def _file(engine: Engine) -> str | None:
    """Return the full path of a SQLite file as SQLite resolved it, None for any other database."""
    if engine.dialect.name != "sqlite":
        return None
    with engine.connect() as connection:
        files = {name: file for _, name, file in connection.exec_driver_sql("PRAGMA database_list")}
        return files["main"] or None


def _claim_file(path: str) -> Claim | None:
    """Lock a file beside the database by SQLite's own means, which work wherever the database does.

    A lock on the database itself would keep others from reading it.
    """
    lock = sqlite3.connect(
        path + LOCK_SUFFIX, timeout=PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return None
        raise
    return _FileClaim(lock, path)


def _is_locked(path: str) -> bool:
    """Return whether a file is locked, by reading it for a moment, for which a new claim would wait."""
    if not os.path.exists(path):
        return False
    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=0)) as probe:
        try:
            probe.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                return True
            raise
    return False


def _claim_postgresql(engine: Engine) -> Claim | None:
    connection = engine.connect()
    try:
        with connection.begin():  # the lock outlasts the transaction
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(PATIENCE_SECONDS * 1000)}")
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _POSTGRESQL_KEY})
    except BaseException as error:
        connection.close()
        if isinstance(error, OperationalError) and getattr(error.orig, "sqlstate", "") == _LOCK_NOT_AVAILABLE:
            return None
        raise
    return _ConnectionClaim(connection)
