"""Stores as earlier versions of this program made them; `test_migrations` writes the file of a new one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import MetaData, cast, create_engine, select, text
from sqlalchemy.types import JSON, String

FOLDER = Path(__file__).parent
TOURNAMENT_GAMES = 4
"""Games in the only tournament of each old store that is filled."""


def sql_of(version: int, kind: str = "sqlite") -> str:
    """Return the SQL that makes a store of a version: in SQLite with its rows, in PostgreSQL without."""
    suffix = "sql" if kind == "sqlite" else "postgresql.sql"
    return (FOLDER / f"version_{version}.{suffix}").read_text(encoding="utf-8")


def make_old_store(url: str, version: int) -> str:
    """Make a store of a version in an empty database, with a tournament of four games; return its URL."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(sql_of(version))
            connection.execute("PRAGMA journal_mode = WAL")
        return url
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sql_of(version))
        engine = create_engine(url)
        with engine.begin() as target:
            target.execute(text(sql_of(version, "postgresql")))
            metadata = MetaData()
            metadata.reflect(target)
            for table in metadata.sorted_tables:
                names = ", ".join(f'"{column.name}"' for column in table.columns)
                for row in connection.execute(f"SELECT {names} FROM {table.name}"):
                    values = dict(zip(table.columns.keys(), row, strict=True))
                    casts = {
                        name: cast(cast(value, String), JSON(none_as_null=True))
                        for name, value in values.items()
                        if isinstance(table.c[name].type, JSON)
                    }
                    target.execute(table.insert().values({**values, **casts}))
            target.execute(select(text("setval('tournaments_id_seq', 1)")))
        engine.dispose()
    return url
