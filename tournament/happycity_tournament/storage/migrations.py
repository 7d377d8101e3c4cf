"""Upgrades of stores that earlier versions of this program made.

New tables need no change here: an upgrade creates those that a store lacks, as `schema` describes them. For a
table that stores have already, raise `SCHEMA_VERSION` and add a `Change`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, update

from happycity_tournament.storage.schema import SCHEMA_VERSION, VERSION_KEY, meta, metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a new version changes in a table of earlier ones. A change that was released stays as it is."""

    version: int
    """The version that it leads to."""
    table: str
    """The table that is changed; a store without it gets the table in its newest form instead."""
    apply: Callable[[Connection], None]
    """Changes the table by statements of SQL; `connection.dialect.name` is the kind of database."""


CHANGES: Sequence[Change] = ()
"""All changes since version 1, in the order in which they are applied."""


def upgrade(connection: Connection, version: int, changes: Sequence[Change] | None = None) -> None:
    """Bring a store from an earlier version to this one, inside the connection's transaction.

    In SQLite, references are not to be checked meanwhile: see `unchecked_references`.
    """
    tables = inspect(connection).get_table_names()
    for change in CHANGES if changes is None else changes:
        if change.version > version and change.table in tables:
            change.apply(connection)
    metadata.create_all(connection)
    row = update(meta).where(meta.c.key == VERSION_KEY)
    connection.execute(row.values(value=str(SCHEMA_VERSION)))


@contextmanager
def unchecked_references(connection: Connection) -> Iterator[None]:
    """Let a connection with SQLite, outside a transaction, change tables to which others refer.

    SQLite can make many changes only by a new table in the old one's place, and while it checks references
    it doesn't drop a table to which others refer.
    """
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys = ON")
