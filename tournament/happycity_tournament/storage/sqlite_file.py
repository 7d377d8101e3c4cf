"""A SQLite file that is only read, without SQLAlchemy, for whose import a run would wait at its end."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

_PREFIX = "sqlite:///"


def log_of(path: Path) -> Path:
    """Return the write-ahead log of a SQLite file, which is there while a server uses the file."""
    return path.with_name(f"{path.name}-wal")


def read_only_uri(path: Path) -> str:
    """Return the URI by which a SQLite file is only read.

    A reader shares the write-ahead log with the writers. Where there is none it would make one, and leave it
    behind; so the file is read as an immutable one then, which takes no locks either.
    """
    immutable = "" if log_of(path).exists() else "&immutable=1"
    return f"file:{quote(str(path))}?mode=ro{immutable}"


def stored_games(url: str, tournament_id: int) -> int | None:
    """Return how many games of a tournament a store has, None if it is no SQLite file or can't be read.

    `Store.progress` says it of every store, and says what is wrong.
    """
    if not url.startswith(_PREFIX):
        return None
    uri = read_only_uri(Path(url.removeprefix(_PREFIX)).absolute())
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            query = "SELECT count(*) FROM games WHERE tournament_id = ?"
            return int(connection.execute(query, (tournament_id,)).fetchone()[0])
    except sqlite3.Error:
        return None
