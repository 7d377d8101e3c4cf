"""A PostgreSQL server of the tests' own, in a temporary folder, reached by a socket there."""

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.waiting import LIMIT

_USER = "arena"
# It ends with its standard input, so it can't outlive the tests, however they end.
_SCRIPT = """
pg_ctl -D "$1/data" -l "$1/log" -o "-k '$1' -c listen_addresses= -c fsync=off" -s -w start || exit
echo ready
read -r _
pg_ctl -D "$1/data" -s -m fast -w stop
"""


class Cluster:
    """A running PostgreSQL server, in which each test has a database of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)

    def new_database(self) -> str:
        name = f"test{next(self._numbers)}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name: str, *, user: str = _USER) -> str:
        return f"postgresql+psycopg://{user}@/{name}?host={self.folder}"

    def execute(self, database: str, *statements: str) -> list[tuple[object, ...]]:
        """Do something in a database, as its owner, and return what the last statement found."""
        with psycopg.connect(
            host=str(self.folder), dbname=database, user=_USER, autocommit=True
        ) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def end_connections(self, database: str) -> int:
        """Let the server end all connections with a database; return how many there were."""
        ended = self.execute(
            "postgres", f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        )
        return len(ended)


def database_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


@contextmanager
def postgresql() -> Iterator[Cluster]:
    """Start a server; skip the test where none is installed (`python -m tools install postgres`)."""
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL is installed: python -m tools install postgres")
    # Not in pytest's own folder, which the server's user could not enter.
    with tempfile.TemporaryDirectory(prefix="happycity-postgres-", ignore_cleanup_errors=True) as name:
        account = _account()
        if account is not None:
            os.chown(name, account.pw_uid, account.pw_gid)
        options: dict[str, object] = {
            "cwd": name,
            "env": {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"},
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "text": True,
            "start_new_session": True,  # a Ctrl-C is for the tests, which then stop the server
            **({"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}),
        }
        _create(name, options)
        with _started(name, options):
            yield Cluster(Path(name))


def _create(folder: str, options: dict[str, object]) -> None:
    subprocess.run(
        ["initdb", "-D", f"{folder}/data", "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync"],
        timeout=LIMIT, check=True, **{**options, "stdin": None},
    )  # type: ignore[call-overload]  # fmt: skip


@contextmanager
def _started(folder: str, options: dict[str, object]) -> Iterator[None]:
    start: Callable[[], Any] = partial(subprocess.Popen, ["sh", "-c", _SCRIPT, "sh", folder], **options)
    server = start()
    if not (said := server.stdout.readline()) and server.wait(LIMIT) < 0:
        # The shell was killed (by SIGBUS, seen twice on a busy machine) before it had started anything.
        server = start()
        said = server.stdout.readline()
    try:
        assert said == "ready\n", Path(folder, "log").read_text()
        yield
    finally:
        server.communicate(timeout=LIMIT)


def _programs() -> Path | None:
    """Return the folder of the server's programs, which Debian keeps out of the path; None without any."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return versions[-1].parent if versions else None


def _account() -> pwd.struct_passwd | None:
    """Return the user that the server runs as; None is the user of the tests, but PostgreSQL refuses root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]
