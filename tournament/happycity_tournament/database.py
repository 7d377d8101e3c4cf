"""Opening a database by its URL, and saying in one line what is wrong with it."""

from __future__ import annotations

import json
import re
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    StaticPool,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.schema import CreateTable

from happycity.errors import HappyCityError
from happycity_tournament.claims import Claim, claim
from happycity_tournament.migrations import VERSION_KEY, migrate
from happycity_tournament.tables import SCHEMA_VERSION, meta, metadata

_FOREIGN = "belongs to another program; choose an empty database"
_LOST = "has ended the connection; check that it runs, and start again"

_ADVICE = {
    "unable to open database file": "can't be opened; check that its folder exists and can be written to",
    "file is not a database": "is not a SQLite database; choose another file",
    "malformed": "is damaged; restore a copy of it or choose another file",
    "locked": "is in use by another program; end that program or try again later",
    "readonly": "can only be read; check the permissions of the file and its folder",
    "disk is full": "has no room left; free some disk space",
    "unique constraint": "holds this game already; a game can't count twice",
    "foreign key constraint": "knows no such tournament; create it first",
    "can't load plugin": "is of an unknown kind; its URL should begin like sqlite:/// or postgresql+psycopg://",
    "no such column": _FOREIGN,
    "permission denied for schema": "can't be written to by this user; let him own it, or create in it",
    "password": "can't be opened by this user; check the name and the password",
    "connection failed": "can't be reached: {message}",
    "connection is bad": "can't be reached: {message}",
    "does not exist": _FOREIGN,
    "server closed the connection": _LOST,
    "terminating connection": _LOST,
    "connection is lost": _LOST,
}
"""What to tell a person, by a part of the driver's message, which `{message}` stands for."""

_EXTRAS = {"psycopg": "happycity[postgresql]"}
"""What to install for a driver, where that is an extra of this project."""

_POSTGRESQL_PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
"""What a URL that doesn't say otherwise gets: else a machine that is cut off would be awaited for hours."""

_SWITCH_PAUSE_SECONDS = 0.01

_POSTGRESQL_PREPARING = 0x4861707070  # the lock while tables are created; any number of our own


class StoreError(HappyCityError):
    """The store can't do what is asked; the text names its URL, without the password, and what to do."""

    def __init__(self, url: str, problem: str, *, for_all: bool = False) -> None:
        super().__init__(f"database {url} {problem}")
        self.url = url
        self.for_all = for_all
        """Whether the same would befall anything else, as when the disk is full."""


class Database:
    """An open database with this project's tables, which are created or brought up to date as needed."""

    def __init__(self, url: str, *, lock_timeout: float) -> None:
        parsed = _parse(url)
        self.url = parsed.render_as_string(hide_password=True)
        self._claim: Claim | None = None
        _make_folder(parsed, shown=self.url)
        with _told(self.url):
            self._engine = _engine(parsed, lock_timeout=lock_timeout)
        try:
            with self.transaction() as connection:
                version = _prepare(connection, shown=self.url)
            if version < SCHEMA_VERSION:
                migrate(self.transaction)
            if _is_file(parsed):
                self._let_read_while_writing(patience=lock_timeout)
        except StoreError:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a connection whose changes are all kept at the end, or none if an error passes.

        Raises:
            StoreError: in place of the database's own errors.
        """
        with _told(self.url), self._begin() as connection:
            yield connection

    def claim(self) -> None:
        """Keep every other process from claiming the database until this one closes it or ends.

        Raises:
            StoreError: another process has claimed it.
        """
        with _told(self.url):
            self._claim = claim(self._engine)
        if self._claim is None:
            problem = "is in use by another server; stop that one or choose another store"
            raise StoreError(self.url, problem, for_all=True)

    def check_claim(self) -> None:
        """Make sure that nobody else can have claimed the database since this process did.

        Raises:
            StoreError: the claim is lost.
        """
        if self._claim is not None and not self._claim.held():
            raise self._claim_lost()

    def close(self) -> None:
        """Close all connections and give up the claim."""
        if self._claim is not None:
            self._claim.release()
            self._claim = None
        self._engine.dispose()

    def _begin(self) -> AbstractContextManager[Connection]:
        return self._engine.begin() if self._claim is None else self._begin_claimed(self._claim)

    @contextmanager
    def _begin_claimed(self, held: Claim) -> Iterator[Connection]:
        """Begin where the claim is, so that nothing is written after it was lost."""
        connection = held.connection
        if connection is None:
            with self._engine.begin() as connection:
                yield connection
            return
        if connection.invalidated:  # SQLAlchemy would open another, which has no claim
            raise self._claim_lost()
        with connection.begin():
            yield connection

    def _claim_lost(self) -> StoreError:
        problem = "may have been taken over by another server: the claim on it is lost; start again"
        return StoreError(self.url, problem, for_all=True)

    def _let_read_while_writing(self, *, patience: float) -> None:
        """Switch a SQLite file to its write-ahead log, for good; it can't be done inside a transaction.

        Where two programs are about to do it, SQLite sends one of them away instead of letting it wait.
        """
        deadline = time.monotonic() + patience
        with _told(self.url), closing(self._engine.raw_connection()) as connection:
            while True:
                try:
                    connection.cursor().execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                        raise
                    time.sleep(_SWITCH_PAUSE_SECONDS)
                else:
                    return


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError) as error:  # ValueError: the port is no number
        shown = re.sub(r"//[^/@]*@", "//***@", url)
        problem = "has no valid URL; it should read like sqlite:///runs/happycity.db"
        raise StoreError(repr(shown), problem) from error


def _make_folder(url: URL, *, shown: str) -> None:
    if not _is_file(url):
        return
    try:
        Path(url.database or "").parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"can't be opened; its folder can't be created: {error.strerror}"
        raise StoreError(shown, problem) from error


def _is_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and url.database not in {None, "", ":memory:"}


def _engine(url: URL, *, lock_timeout: float) -> Engine:
    # What is stored would else be told by errors, and these by logs: records of deals that are in play.
    create = partial(create_engine, url, hide_parameters=True)
    if url.get_backend_name() == "postgresql" and url.get_driver_name() == "psycopg":
        patience = {key: value for key, value in _POSTGRESQL_PATIENCE.items() if key not in url.query}
        return create(connect_args=patience)
    if url.get_backend_name() != "sqlite":
        return create()
    if _is_file(url):
        engine = create(connect_args={"timeout": lock_timeout})
    else:  # a database in memory lives as long as its one connection
        engine = create(poolclass=StaticPool, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    """Set what SQLite forgets when a connection is closed.

    With a write-ahead log NORMAL syncs the disk at checkpoints only: a power cut may cost the last games, a
    killed program none, and neither of them the file.
    """
    connection.isolation_level = None  # or the driver would commit before every CREATE TABLE
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _prepare(connection: Connection, *, shown: str) -> int:
    """Create the tables in an empty database, refuse one that holds anything else; return its schema version.

    Of two programs that open an empty database at the same time one waits for the other.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_PREPARING})
    # Who may only read can open a store that is there already. SQLite needs a first statement that writes.
    if connection.dialect.name == "sqlite" or not inspect(connection).has_table(meta.name):
        connection.execute(CreateTable(meta, if_not_exists=True))
    version = connection.scalar(select(meta.c.value).where(meta.c.key == VERSION_KEY))
    if version is None:
        if inspect(connection).get_table_names() != [meta.name]:
            raise StoreError(shown, "belongs to another program; choose an empty database")
        metadata.create_all(connection)
        connection.execute(insert(meta).values(key=VERSION_KEY, value=str(SCHEMA_VERSION)))
        return SCHEMA_VERSION
    if version not in map(str, range(1, SCHEMA_VERSION + 1)):
        known = f"this program knows version {SCHEMA_VERSION}"
        problem = f"has schema version {version}, {known}; open it with the program that made it"
        raise StoreError(shown, problem)
    return int(version)


@contextmanager
def _told(shown: str) -> Iterator[None]:
    """Turn whatever the database, its driver or unreadable contents raise into a StoreError."""
    try:
        yield
    except (json.JSONDecodeError, UnicodeDecodeError, zlib.error) as error:
        raise StoreError(shown, _ADVICE["malformed"]) from error
    except ImportError as error:
        wanted = _EXTRAS.get(error.name or "", "it")
        raise StoreError(shown, f"needs the Python package {error.name}; install {wanted}") from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise StoreError(shown, _advice(error), for_all=isinstance(error, OperationalError)) from error


def _advice(error: Exception) -> str:
    message = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    for part, advice in _ADVICE.items():
        if part in message.lower():
            return advice.format(message=message)
    return f"reports an error: {message}"
