"""Claims: of all servers that might use a store, one has it.

A claim is a lock of the operating system or of the database server. So it ends with the process that holds
it, however that ends, and nothing stale is left behind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from sqlalchemy import Engine, text

LOCK_SUFFIX = ".lock"
"""What is added to a SQLite file's name to name the file that is locked."""

_POSTGRESQL_KEY = 0x4861707079  # any number that no other program's lock in the same database has

Release = Callable[[], None]


def claim(engine: Engine) -> Release | None:
    """Claim a database for this process; return how to give it up, or None if another process has it.

    A database in memory is nobody else's, and kinds other than SQLite and PostgreSQL are not claimed.
    """
    if engine.dialect.name == "sqlite":
        path = _file(engine)
        return _claim_file(path + LOCK_SUFFIX) if path else _nothing
    if engine.dialect.name == "postgresql":
        return _claim_postgresql(engine)
    return _nothing


def _nothing() -> None:
    """Give up nothing."""


def _file(engine: Engine) -> str:
    """Return the full path of a SQLite file as SQLite resolved it, "" for a database in memory."""
    with engine.connect() as connection:
        files = {name: file for _, name, file in connection.exec_driver_sql("PRAGMA database_list")}
        return files["main"] or ""


def _claim_file(path: str) -> Release | None:
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
    return lock.close


def _claim_postgresql(engine: Engine) -> Release | None:
    """Take a lock that lasts as long as a connection."""
    connection = engine.connect()
    try:
        taken = connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _POSTGRESQL_KEY})
        connection.commit()  # the lock outlasts the transaction, and an open one would hinder the database
    except BaseException:
        connection.close()
        raise
    if not taken:
        connection.close()
        return None

    def release() -> None:
        connection.invalidate()  # or the pool would keep the connection, and with it the lock
        connection.close()

    return release
