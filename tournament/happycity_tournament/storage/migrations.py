"""Migrations: what turns the tables of an older store into those of `schema`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version

from sqlalchemy import Connection, delete, insert, text

from happycity_tournament.storage.schema import SCHEMA_VERSION, VERSION_KEY, WRITTEN_BY_KEY, meta


def _add_times(connection: Connection) -> None:
    """Add the times of games, which reports read from the record of a game that has no row there."""
    number, data = ("BIGINT", "BYTEA") if connection.dialect.name == "postgresql" else ("INTEGER", "BLOB")
    connection.execute(
        text(
            f"CREATE TABLE times (game_id {number} NOT NULL, times {data} NOT NULL, "
            "PRIMARY KEY (game_id), FOREIGN KEY(game_id) REFERENCES games (id))"
        )
    )


MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {5: _add_times}
"""By version, from the oldest that can be opened on: what turns its tables into those of the next version.

A migration is SQL of its own and uses no table of `schema`, which describes the newest version only. Once
released it stays as it is. In SQLite, references are checked at the end of all migrations.
"""


def migrate(connection: Connection, older: int) -> None:
    """Bring a store of an older version to SCHEMA_VERSION, inside the connection's transaction."""
    for number in range(older, SCHEMA_VERSION):
        MIGRATIONS[number](connection)
    note_version(connection)


def note_version(connection: Connection) -> None:
    """Note that the tables of a store are those of this program."""
    values = {VERSION_KEY: str(SCHEMA_VERSION), WRITTEN_BY_KEY: version("happycity")}
    connection.execute(delete(meta).where(meta.c.key.in_(values)))
    connection.execute(insert(meta), [{"key": key, "value": value} for key, value in values.items()])


def problem_of(number: str, writer: str | None) -> str:
    """Return what is wrong with a store whose schema version this program doesn't know, and what to do.

    Args:
        number: the version as the store has it.
        writer: the version of the program that wrote it, None where the store doesn't say.
    """
    known = f"opens versions {min(MIGRATIONS)} to {SCHEMA_VERSION}"
    if number.isdecimal() and int(number) < SCHEMA_VERSION:
        return (
            f"has schema version {number}, older than all releases; this program {known}: start a new store"
        )
    by = f"happycity {writer}" if writer else "a newer happycity"
    own = f"this is happycity {version('happycity')}, which {known}"
    return f"has schema version {number}, written by {by}; {own}: use {by}, or restore a backup"
