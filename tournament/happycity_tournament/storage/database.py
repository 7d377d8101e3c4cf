"""Opening a database by its URL, and saying in one line what is wrong with it."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from urllib.parse import quote

import orjson
from sqlalchemy import (
    Connection,
    Engine,
    NullPool,
    StaticPool,
    create_engine,
    event,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.schema import CreateTable

from happycity_runtime.installation import install_command
from happycity_tournament.storage.claims import Claim, claim, is_claimed
from happycity_tournament.storage.copies import copy_pages, new_file
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.migrations import MIGRATIONS, migrate, note_version, problem_of
from happycity_tournament.storage.schema import (
    SCHEMA_VERSION,
    VERSION_KEY,
    WRITTEN_BY_KEY,
    meta,
    metadata,
)

_FOREIGN = "belongs to another program; choose an empty database"
_LOST = "has ended the connection; check that it runs, and start again"
DAMAGED = "is damaged; restore a copy of it or choose another file"
_UNREACHABLE = "can't be reached: {message}"

_SQLITE_ADVICE = {
    sqlite3.SQLITE_CANTOPEN: "can't be opened; check that its folder exists and can be written to",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; choose another file",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_BUSY: "is in use by another program; end that program or try again later",
    sqlite3.SQLITE_READONLY: "can only be read; check the permissions of the file and its folder",
    sqlite3.SQLITE_FULL: "has no room left; free some disk space",
    sqlite3.SQLITE_IOERR: "can't be read or written; check the disk",
}
"""What to advise, by SQLite's primary error code."""

_POSTGRESQL_ADVICE = {
    "08": _LOST,  # connection exceptions
    "28": "can't be opened by this user; check the name and the password",
    "3D": _UNREACHABLE,  # no such database
    "42501": "can't be written to by this user; let the user own it, or create in it",
    "42": _FOREIGN,  # undefined tables and columns
    "53100": "has no room left; free some disk space",
    "57P": _LOST,  # the server shuts down
}
"""What to advise, by the beginning of PostgreSQL's SQLSTATE; the longest match counts."""

_EXTRAS = {"psycopg": "postgresql"}
"""The extra of this project that brings a driver."""

_POSTGRESQL_TIMEOUTS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
"""Defaults for URLs that don't set them: else a machine that is cut off would be awaited for hours."""

_SWITCH_PAUSE_SECONDS = 0.01
_POSTGRESQL_PREPARING = 0x4861707070  # the lock while tables are created; any number of our own


class Database:
    """An open database with this project's tables; it raises StoreError in place of the database's errors."""

    def __init__(self, url: URL, *, lock_timeout: float, read_only: bool = False) -> None:
        """Set the database up without connecting; see `create` and `existing`."""
        self.url = url.render_as_string(hide_password=True)
        """Its URL with the password hidden."""
        self.in_memory = url.get_backend_name() == "sqlite" and not is_file(url)
        """Whether it is gone with this process, and has only one connection."""
        self.migrated_from: int | None = None
        """The schema version that the store had before `create` brought it to this program's."""
        self._claim: Claim | None = None
        self._copy: TemporaryDirectory[str] | None = None
        self._read_only_file = Path(url.database or "") if read_only and is_file(url) else None
        with translate_errors(self.url):
            self._engine = _engine(url, lock_timeout=lock_timeout, read_only=read_only)
        self._reader = self._engine

    @classmethod
    def create(cls, url: str, *, lock_timeout: float = 10.0) -> Self:
        """Open a database, and create file, folder and tables where they are missing.

        A store of an older version is migrated where it is: as a whole or, if it fails or is killed, not at
        all. It must not be in use by a server. A SQLite file is copied to `migration_backup` before.

        Args:
            url: as SQLAlchemy takes it, such as `sqlite:///runs/happycity.db`.
            lock_timeout: seconds to wait while another program writes to the same SQLite file.

        Raises:
            StoreError: it can't be opened, or is another program's.
        """
        parsed = _parse(url)
        database = cls(parsed, lock_timeout=lock_timeout)
        if is_file(parsed):
            path = Path(parsed.database or "")
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                problem = f"can't be opened; its folder can't be created: {error.strerror}"
                raise StoreError(database.url, problem) from error
            with suppress(OSError):  # it is there, or opening it says what is wrong
                path.touch(0o600, exist_ok=False)  # SQLite gives its log the same rights
        try:
            with database.writing() as connection:
                database._prepare(connection)
                version = database.schema_version(connection)
            if version != SCHEMA_VERSION:
                database._migrate(Path(parsed.database or "") if is_file(parsed) else None)
            if is_file(parsed):
                database._switch_to_write_ahead_log(patience=lock_timeout)
        except StoreError:
            database.close()
            raise
        return database

    @classmethod
    def existing(cls, url: str, *, lock_timeout: float = 10.0, any_version: bool = False) -> Self:
        """Open a database that is there, only to read it: nothing is created or changed, and nothing locked.

        Of a SQLite file of an older version a migrated copy is read, which is as the store was now. With
        `any_version` the tables are read as they are.

        Raises:
            StoreError: it isn't there, can't be opened, or is another program's.
        """
        database = cls(_parse(url), lock_timeout=lock_timeout, read_only=True)
        if database._read_only_file is not None and not database._read_only_file.is_file():
            raise StoreError(database.url, "can't be opened: there is no such file")
        try:
            with database.reading() as connection:
                version = database.schema_version(connection)
                if version is None:
                    raise StoreError(database.url, _FOREIGN)
                if version != SCHEMA_VERSION and not any_version:
                    database._read_migrated_copy(connection, version)
        except StoreError:
            database.close()
            raise
        return database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading one state of the database; it needs no claim, blocks no writer."""
        path = self._read_only_file
        immutable = path is not None and not _write_ahead_log(path).exists()
        before = _file_state(path) if path is not None and immutable else None
        try:
            with translate_errors(self.url), self._reader.begin() as connection:
                yield connection
        except StoreError as error:
            self._check_unchanged(path, before, error)
            raise
        self._check_unchanged(path, before)

    def _check_unchanged(
        self, path: Path | None, before: tuple[int, int] | None, error: StoreError | None = None
    ) -> None:
        """Refuse what was read of an immutable file, if a server that started meanwhile has changed it."""
        if path is not None and before is not None and _file_state(path) != before:
            raise StoreError(self.url, "was changed while it was read; try again") from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection whose changes are all kept at the end, or none if an error passes."""
        held = self._claim.connection if self._claim is not None else None
        with translate_errors(self.url):
            if held is None:
                with self._engine.begin() as connection:
                    yield connection
                return
            if held.invalidated:  # SQLAlchemy would open another, which has no claim
                raise self._claim_lost()
            with held.begin():
                yield held

    def claim(self) -> None:
        """Let no other process claim the database until this one closes it or ends; others may read.

        Raises:
            StoreError: another process has claimed it.
        """
        with translate_errors(self.url):
            self._claim = claim(self._engine)
        if self._claim is None:
            problem = "is in use by another server; stop that one or choose another store"
            raise StoreError(self.url, problem, for_all=True)

    def check_claim(self) -> None:
        """Make sure that the claim holds: nothing that is written from now on is lost.

        Raises:
            StoreError: another process may have claimed the database, or its file was removed or cut.
        """
        if self._claim is not None and not self._claim.held():
            raise self._claim_lost()

    def is_claimed(self) -> bool:
        """Return whether a process has claimed the database, this one included."""
        with translate_errors(self.url):
            return is_claimed(self._engine)

    def close(self) -> None:
        """Close all connections and give up the claim."""
        self._release()
        self._engine.dispose()
        if self._copy is not None:
            self._reader.dispose()
            self._copy.cleanup()

    def _release(self) -> None:
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    def _claim_lost(self) -> StoreError:
        problem = "was removed, damaged or taken over by another server: the claim on it is lost; start again"
        return StoreError(self.url, problem, for_all=True)

    def _prepare(self, connection: Connection) -> None:
        """Create the tables in an empty database, and refuse one that holds anything else.

        Of two programs that open an empty database at the same time one waits for the other.
        """
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_PREPARING})
        # A user without the right to create tables can open a store that is there. SQLite needs a first
        # statement that writes.
        if connection.dialect.name == "sqlite" or not inspect(connection).has_table(meta.name):
            connection.execute(CreateTable(meta, if_not_exists=True))
        if self.schema_version(connection) is not None:
            return
        if inspect(connection).get_table_names() != [meta.name]:
            raise StoreError(self.url, _FOREIGN)
        others = [table for table in metadata.sorted_tables if table is not meta]
        metadata.create_all(connection, others, checkfirst=False)
        note_version(connection)

    def schema_version(self, connection: Connection) -> int | None:
        """Return the version of this project's tables, None if they aren't there; refuse an unknown one."""
        if not inspect(connection).has_table(meta.name):
            return None
        keys = (VERSION_KEY, WRITTEN_BY_KEY)
        found = {row.key: row.value for row in connection.execute(select(meta).where(meta.c.key.in_(keys)))}
        version = found.get(VERSION_KEY)
        known = {str(number): number for number in (*MIGRATIONS, SCHEMA_VERSION)}
        if version is not None and version not in known:
            raise StoreError(self.url, problem_of(version, found.get(WRITTEN_BY_KEY)))
        return None if version is None else known[version]

    def _migrate(self, path: Path | None) -> None:
        """Bring an older store to this version while no server uses it; `path` is that of a SQLite file."""
        self.claim()
        try:
            with self.reading() as connection:
                version = self.schema_version(connection)
                if version is None or version == SCHEMA_VERSION:  # another program has migrated it meanwhile
                    return
                if path is not None:
                    _copy_before_migration(connection, migration_backup(path, version))
            with self.writing() if path is None else _changing_tables(self._engine) as connection:
                migrate(connection, version)
            self.migrated_from = version
        finally:
            self._release()

    def _read_migrated_copy(self, connection: Connection, version: int) -> None:
        """Read from now on a migrated copy of an older SQLite file, which is removed by `close`."""
        if connection.dialect.name != "sqlite":
            problem = f"has schema version {version}, this program reads {SCHEMA_VERSION}"
            raise StoreError(self.url, f"{problem}; start a server on it, which migrates it")
        self._copy = TemporaryDirectory(prefix="happycity-store-")
        path = Path(self._copy.name) / "games.sqlite"
        copy_pages(connection, path)
        url = URL.create("sqlite", database=str(path))
        engine = _engine(url, lock_timeout=0.0)
        with _changing_tables(engine) as changing:
            migrate(changing, version)
        engine.dispose()
        self._reader, self._read_only_file = _engine(url, lock_timeout=0.0, read_only=True), path

    def _switch_to_write_ahead_log(self, *, patience: float) -> None:
        """Switch a SQLite file to its write-ahead log, for good; it can't be done inside a transaction.

        Where two programs are about to do it, SQLite sends one of them away instead of letting it wait.
        """
        deadline = time.monotonic() + patience
        with translate_errors(self.url), closing(self._engine.raw_connection()) as connection:
            while True:
                try:
                    connection.cursor().execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                        raise
                    time.sleep(_SWITCH_PAUSE_SECONDS)
                else:
                    return


def migration_backup(path: Path, version: int) -> Path:
    """Return the copy of a SQLite store as it was before it was migrated from a version."""
    return path.with_name(f"{path.name}.version-{version}")


def _copy_before_migration(connection: Connection, backup: Path) -> None:
    """Copy a store, in the place of the copy that an earlier migration of the same version made."""
    with suppress(OSError):  # the copying says what is wrong
        backup.unlink()
    with new_file(backup) as partial:
        copy_pages(connection, partial)


@contextmanager
def _changing_tables(engine: Engine) -> Iterator[Connection]:
    """Yield a connection with SQLite whose transaction may replace tables to which others refer.

    SQLite drops no such table while it checks references, so they are checked at the end.
    """
    url = engine.url.render_as_string(hide_password=True)
    with translate_errors(url), engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("PRAGMA foreign_keys = OFF")
        connection.detach()  # no other transaction gets a connection that checks no references
        with connection.begin():
            yield connection
            if connection.execute(text("SELECT * FROM pragma_foreign_key_check")).first() is not None:
                raise StoreError(url, DAMAGED)


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError) as error:  # ValueError: the port is no number
        shown = re.sub(r"//[^/@]*@", "//***@", url)
        problem = "has no valid URL; it should read like sqlite:///runs/happycity.db"
        raise StoreError(repr(shown), problem) from error


def is_file(url: URL) -> bool:
    """Return whether a database is a SQLite file, none in memory or on a server."""
    return url.get_backend_name() == "sqlite" and url.database not in {None, "", ":memory:"}


def _engine(url: URL, *, lock_timeout: float, read_only: bool = False) -> Engine:
    # Parameters would be part of errors, and errors of logs: records of deals that are in play.
    create = partial(
        create_engine, url, hide_parameters=True, json_serializer=as_json, json_deserializer=_of_json
    )
    if url.get_backend_name() == "postgresql" and url.get_driver_name() == "psycopg":
        timeouts = {key: value for key, value in _POSTGRESQL_TIMEOUTS.items() if key not in url.query}
        engine = create(connect_args=timeouts)
        if read_only:  # all that one connection reads is one state, as in SQLite
            return engine.execution_options(postgresql_readonly=True, isolation_level="REPEATABLE READ")
        return engine
    if url.get_backend_name() != "sqlite":
        return create()
    if not is_file(url):  # a database in memory lives as long as its one connection
        engine = create(poolclass=StaticPool, connect_args={"check_same_thread": False})
    elif read_only:
        path = Path(url.database or "").absolute()

        def connect() -> sqlite3.Connection:
            # A reader shares the write-ahead log with the writers. Where there is none it would make one, and
            # leave it behind; so the file is read as an immutable one then, which takes no locks either.
            immutable = "" if _write_ahead_log(path).exists() else "&immutable=1"
            # SQLAlchemy's own way to a URI would need the path in another form.
            uri = f"file:{quote(str(path))}?mode=ro{immutable}"
            return sqlite3.connect(uri, uri=True, timeout=lock_timeout, check_same_thread=False)

        engine = create(creator=connect, poolclass=NullPool)  # a log may come or go between two transactions
    else:
        engine = create(connect_args={"timeout": lock_timeout})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def as_json(value: object) -> str:
    """Return a value of a column as JSON, with names as they are: searches look for them."""
    return orjson.dumps(value).decode()


def _of_json(text: str) -> object:
    """Return the value of a column by its JSON; None, which no column has, where it is damaged."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _file_state(path: Path) -> tuple[int, int] | None:
    """Return what changes whenever a file is written to."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _configure_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    """Set what SQLite forgets when a connection is closed.

    With a write-ahead log NORMAL syncs the disk at checkpoints only: a power cut may cost the last games, a
    killed program none, and neither of them the file.
    """
    connection.isolation_level = None  # or the driver would commit before every CREATE TABLE
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn everything that the database, its driver or unreadable columns raise into a StoreError."""
    try:
        yield
    except json.JSONDecodeError as error:  # in a column
        raise StoreError(url, DAMAGED) from error
    except ImportError as error:
        extra = _EXTRAS.get(error.name or "")
        how = f" by: {install_command(extra)}" if extra else ""
        raise StoreError(url, f"needs the Python package {error.name}; install it{how}") from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise StoreError(url, _advice(error), for_all=isinstance(error, OperationalError)) from error


def _advice(error: Exception) -> str:  # noqa: PLR0911 - one line for each kind of error
    cause = getattr(error, "orig", None) or error
    message = str(cause).strip().partition("\n")[0]
    if isinstance(error, NoSuchModuleError):
        return "is of an unknown kind; its URL should begin like sqlite:/// or postgresql+psycopg://"
    if isinstance(error, IntegrityError):
        return f"refuses what it holds already, or what belongs to nothing: {message}"
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        if code == sqlite3.SQLITE_ERROR:  # a table or column of ours is missing
            return _FOREIGN
        return _SQLITE_ADVICE.get(code & 0xFF, f"reports an error: {message}")
    state = getattr(cause, "sqlstate", None)
    if state is None and isinstance(error, OperationalError):
        return _UNREACHABLE.format(message=message)
    matching = [prefix for prefix in _POSTGRESQL_ADVICE if state is not None and state.startswith(prefix)]
    if not matching:
        return f"reports an error: {message}"
    return _POSTGRESQL_ADVICE[max(matching, key=len)].format(message=message)


def _write_ahead_log(path: Path) -> Path:
    """Return the write-ahead log of a SQLite file, which is there while a server uses the file."""
    return path.with_name(f"{path.name}-wal")
