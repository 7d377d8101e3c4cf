"""Copies of SQLite files page by page, which appear under their names only as a whole."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection

from happycity.errors import ConfigError

_PAGES_AT_ONCE = 2000

PageCounter = Callable[[int, int], None]
"""Called again and again with how many pages are copied, and how many there are."""


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a file beside one that is to be made, and give it that name if no error passes."""
    _check_absent(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".partial", dir=path.parent)
        os.close(descriptor)
    except OSError as error:
        raise ConfigError(f"{path}: it can't be written: {error.strerror}") from None
    partial = Path(name)
    try:
        yield partial
        _sync(partial)
        _check_absent(path)
        partial.rename(path)
        _sync(path.parent)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{partial}{suffix}").unlink(missing_ok=True)


def _check_absent(path: Path) -> None:
    for present in (
        path,
        Path(f"{path}-wal"),
    ):  # SQLite would take the log of an old file for that of the new one
        if present.exists():
            raise ConfigError(f"{present}: it exists already; choose another name, or move it away")


def _sync(path: Path) -> None:
    """Write what the system holds of a file or folder to the disk."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_pages(connection: Connection, partial: Path, progress: PageCounter | None = None) -> None:
    """Copy a SQLite database as the connection's transaction sees it, without what others write meanwhile.

    The transaction has to have read something before.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)

    def note(_: int, remaining: int, total: int) -> None:
        _sync(partial)  # else the disk would have much to write at once, and a server's commits wait for it
        if progress is not None:
            progress(total - remaining, total)

    with closing(sqlite3.connect(partial)) as target:
        # As the transaction has read something before, SQLite doesn't begin again after others' commits.
        driver.backup(target, pages=_PAGES_AT_ONCE, progress=note)
