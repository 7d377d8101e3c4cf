"""Claims: of all servers that might use a store, one has it.

A claim is a lock of the operating system or of the database server. So it ends with the process that holds
it, however that ends, and nothing stale is left behind. It may also be lost while that process lives on;
`Claim.held` notices.
"""

from __future__ import annotations

import os
import sqlite3

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

LOCK_SUFFIX = ".lock"
"""What is added to a SQLite file's name to name the file that is locked."""

_POSTGRESQL_PATIENCE_MS = 2_000  # until PostgreSQL has noticed that a claim's process was killed
_LOCK_NOT_AVAILABLE = "55P03"
_POSTGRESQL_KEY = 0x4861707079  # any number that no other program's lock in the same database has


class Claim:
    """A database that this process has claimed; this one is in memory, so it is nobody else's anyway."""

    connection: Connection | None = None
    """Where all work has to be done: what is done on it can't be done without the claim. None is anywhere."""

    def held(self) -> bool:
        """Tell whether nobody else can have claimed the database meanwhile."""
        return True

    def release(self) -> None:
        """Give the claim up."""


class _FileClaim(Claim):
    """A locked file beside a SQLite database."""

    def __init__(self, lock: sqlite3.Connection, path: str) -> None:
        self._lock = lock
        self._path = path
        self._identity = self._found()

    def held(self) -> bool:
        """Tell whether the locked file is still the one that others would lock."""
        return self._identity is not None and self._found() == self._identity

    def release(self) -> None:
        """Unlock the file."""
        self._lock.close()

    def _found(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino


class _ConnectionClaim(Claim):
    """An advisory lock of PostgreSQL, which lasts as long as its connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection: Connection = connection

    def held(self) -> bool:
        """Tell whether the connection still stands; the database server is asked."""
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

    A database in memory is nobody else's, and kinds other than SQLite and PostgreSQL are not claimed.
    """
    if engine.dialect.name == "sqlite":
        path = _file(engine)
        return _claim_file(path + LOCK_SUFFIX) if path else Claim()
    if engine.dialect.name == "postgresql":
        return _claim_postgresql(engine)
    return Claim()


def _file(engine: Engine) -> str:
    """Return the full path of a SQLite file as SQLite resolved it, "" for a database in memory."""
    with engine.connect() as connection:
        files = {name: file for _, name, file in connection.exec_driver_sql("PRAGMA database_list")}
        return files["main"] or ""


def _claim_file(path: str) -> Claim | None:
    """Lock a file beside the database by SQLite's own means, which work wherever the database does.

    The database itself can't be locked so: in its write-ahead log others couldn't read it any more.
    """
    lock = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return None
        raise
    return _FileClaim(lock, path)


def _claim_postgresql(engine: Engine) -> Claim | None:
    connection = engine.connect()
    try:
        with connection.begin():  # the lock outlasts the transaction
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_POSTGRESQL_PATIENCE_MS}")
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _POSTGRESQL_KEY})
    except OperationalError as error:
        connection.close()
        if getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            return None
        raise
    except BaseException:
        connection.close()
        raise
    return _ConnectionClaim(connection)
