"""How a database of an earlier version becomes one of this version: step by step, each step once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, update

from happycity_tournament.tables import meta

VERSION_KEY = "schema_version"
"""The key in the table `meta` of the version that the tables have."""

_STEPS = {
    2: (
        "ALTER TABLE tournaments ADD COLUMN games_voided INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE tournaments ADD COLUMN remarks JSON NOT NULL DEFAULT '[]'",
    ),
}
"""The version that a step leads to, from the one before, in SQL that SQLite and PostgreSQL share."""


def migrate(transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
    """Take all steps that a database has not taken yet, each in a transaction of its own.

    A step begins by claiming its version, so of two programs that open the database at the same time one
    waits for the other and then finds nothing left to do.
    """
    for version, statements in _STEPS.items():
        claim = (
            update(meta)
            .where(meta.c.key == VERSION_KEY, meta.c.value == str(version - 1))
            .values(value=str(version))
        )
        with transaction() as connection:
            if connection.execute(claim).rowcount:
                for statement in statements:
                    connection.exec_driver_sql(statement)
