"""Stores of older versions are read, migrated as a whole or not at all; those of newer ones are refused.

`version_N.KIND.sql` has the tables of version N as the program of that time created them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, inspect, make_url, text
from tests.commands.programs import happycity, tournament
from tests.tournament.games import BOTS, single_game, stored_games, with_records
from tests.waiting import LIMIT

from happycity_tournament.storage import claims, database, migrations
from happycity_tournament.storage.backup import back_up
from happycity_tournament.storage.database import is_file, migration_backup
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.migrations import MIGRATIONS
from happycity_tournament.storage.schema import SCHEMA_VERSION, metadata
from happycity_tournament.storage.store import Store

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
pytestmark = pytest.mark.level(1)
Migrations = Mapping[int, Callable[[Connection], None]]


def make_store(url: str, version: int) -> str:
    """Make a store of an older version with a tournament and games; return its URL."""
    kind = make_url(url).get_backend_name()
    with Store.create("sqlite://") as newest:
        newest.create_tournament({"bots": list(BOTS), "seed": 1}, games_total=8, created_at=5.0)
        newest.add_games(with_records([*stored_games(1), single_game(50)]))
        with newest.reading() as connection:
            rows = {
                one: [*connection.execute(one.select()).mappings()]
                for one in metadata.sorted_tables
                if one.name != "meta"
            }
    if is_file(make_url(url)):
        Path(make_url(url).database or "").parent.mkdir(exist_ok=True)
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in (HERE / f"version_{version}.{kind}.sql").read_text().split(";\n"):
            if statement:
                connection.exec_driver_sql(statement)
        known = inspect(connection).get_table_names()
        for table, found in rows.items():
            if found and table.name in known:
                connection.execute(table.insert(), [dict(row) for row in found])
        connection.execute(text(f"INSERT INTO meta VALUES ('schema_version', '{version}')"))
        if kind == "postgresql":  # which doesn't count ids that were given
            connection.execute(text("SELECT setval('tournaments_id_seq', 1)"))
    engine.dispose()
    return url


def shape(url: str) -> dict[str, Any]:
    """Return the tables of a store as the database describes them."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = inspect(connection)
        tables = {
            name: {
                "columns": [
                    (column["name"], str(column["type"]), column["nullable"])
                    for column in found.get_columns(name)
                ],
                "key": found.get_pk_constraint(name)["constrained_columns"],
                "references": sorted(
                    (key["constrained_columns"], key["referred_table"], key["referred_columns"])
                    for key in found.get_foreign_keys(name)
                ),
                "unique": sorted(key["column_names"] for key in found.get_unique_constraints(name)),
                "indexes": sorted((one["name"], one["column_names"]) for one in found.get_indexes(name)),
            }
            for name in found.get_table_names()
        }
    engine.dispose()
    return tables


def content(store: Store) -> list[object]:
    games = store.games(100)
    return [store.tournaments(10), games, [store.record(game.match_id) for game in games]]


def version_of(url: str) -> str:
    engine = create_engine(url)
    with engine.connect() as connection:
        version = connection.scalar(text("SELECT value FROM meta WHERE key = 'schema_version'"))
    engine.dispose()
    return str(version)


@pytest.fixture
def old(url: str) -> str:
    """Return the URL of a store of the oldest version, in each kind of database in turn."""
    return make_store(url, min(MIGRATIONS))


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    make_store(f"sqlite:///{tmp_path}/games.sqlite", min(MIGRATIONS))
    return tmp_path / "games.sqlite"


def test_every_older_version_has_its_migration_and_its_tables() -> None:
    """A change of `schema` raises SCHEMA_VERSION, adds a migration, and the tables it had to these tests."""
    assert [*MIGRATIONS] == [*range(min(MIGRATIONS), SCHEMA_VERSION)]
    kept = {path.name for path in HERE.glob("version_*.sql")}
    assert kept == {f"version_{one}.{kind}.sql" for one in MIGRATIONS for kind in ("sqlite", "postgresql")}


@pytest.mark.level(2)
@pytest.mark.parametrize("version", MIGRATIONS)
def test_a_migrated_store_is_like_a_new_one(new_url: Callable[[], str], version: int) -> None:
    """It has all that it had, the tables of a new store, and takes new games and tournaments."""
    old, new = make_store(new_url(), version), new_url()
    Store.create(new).close()
    with Store.create(old) as store:
        assert store.migrated_from == version
        assert content(store)[1] == [single_game(50), *reversed(stored_games(1))]
        store.claim()
        store.add_games(with_records([single_game(51)]))
        assert store.create_tournament({"bots": list(BOTS)}, games_total=8, created_at=5.0) == 2
    assert shape(old) == shape(new)
    with Store.create(old) as store:
        assert store.migrated_from is None


@pytest.mark.level(2)
def test_an_older_file_is_read_as_it_is_and_stays_so(old_file: Path) -> None:
    """Commands that only read take a migrated copy, which is removed; a backup is the store as it was."""
    before = old_file.read_bytes()
    with Store.existing(f"sqlite:///{old_file}") as store:
        assert content(store)[1] == [single_game(50), *reversed(stored_games(1))]
        with store.reading() as connection:
            copy = Path(str(connection.exec_driver_sql("PRAGMA database_list").one()[2]))
        assert copy != old_file
        assert copy.is_file()
    assert not copy.parent.exists()
    assert tournament("games", old_file, "--json").status == 0
    backup = old_file.with_name("backup.sqlite")
    copied = back_up(f"sqlite:///{old_file}", backup, progress=lambda *_: None)
    assert copied.schema_version == min(MIGRATIONS)
    assert "times" not in copied.rows
    assert version_of(f"sqlite:///{backup}") == str(min(MIGRATIONS))
    assert old_file.read_bytes() == before


@pytest.mark.level(3)
def test_an_older_store_in_postgresql_is_read_by_a_server_first(cluster: Any) -> None:
    with pytest.raises(
        StoreError, match=r"has schema version 5, .*; start a server on it, which migrates it"
    ):
        Store.existing(make_store(cluster.new_database(), min(MIGRATIONS)))


@pytest.mark.level(2)
def test_a_file_is_copied_before_its_migration(old_file: Path) -> None:
    """The copy is a store of the older version, for its owner only, and the way back."""
    before = shape(f"sqlite:///{old_file}")
    backup = migration_backup(old_file, min(MIGRATIONS))
    backup.write_text("of a migration that was killed")
    Store.create(f"sqlite:///{old_file}").close()
    assert backup.name == "games.sqlite.version-5"
    assert backup.stat().st_mode & 0o77 == 0
    assert shape(f"sqlite:///{backup}") == before
    assert version_of(f"sqlite:///{backup}") == str(min(MIGRATIONS))
    backup.replace(old_file)
    with Store.create(f"sqlite:///{old_file}") as store:
        assert store.migrated_from == min(MIGRATIONS)


def test_a_store_in_use_is_not_migrated(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of the older version goes on, and its store stays as it is."""
    monkeypatch.setattr(claims, "PATIENCE_SECONDS", 0.01)
    server = Store(make_url(old), lock_timeout=1.0)
    server.claim()
    try:
        with pytest.raises(StoreError, match="is in use by another server"):
            Store.create(old)
    finally:
        server.close()
    assert version_of(old) == str(min(MIGRATIONS))


def rebuild_games(connection: Connection) -> None:
    """Let `decisions` be absent: in SQLite by a new table in the place of one to which others refer."""
    if connection.dialect.name != "sqlite":
        connection.execute(text("ALTER TABLE games ALTER COLUMN decisions DROP NOT NULL"))
        return
    old = connection.execute(text("SELECT sql FROM sqlite_master WHERE name = 'games'")).scalar_one()
    new = old.replace("decisions INTEGER NOT NULL", "decisions INTEGER").replace("games", "new_games", 1)
    for statement in (
        new,
        "INSERT INTO new_games SELECT * FROM games",
        "DROP TABLE games",
        "ALTER TABLE new_games RENAME TO games",
    ):
        connection.execute(text(statement))


def use(patch: pytest.MonkeyPatch, changes: Migrations) -> None:
    """Let the program have more versions than it has."""
    for module in (database, migrations):
        patch.setattr(module, "MIGRATIONS", changes)
        patch.setattr(module, "SCHEMA_VERSION", max(changes) + 1)


def test_migrations_follow_each_other(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table to which others refer can be replaced; no row is lost, and references are checked again."""
    use(monkeypatch, {**MIGRATIONS, SCHEMA_VERSION: rebuild_games})
    with Store.create(old) as store:
        assert content(store)[1] == [single_game(50), *reversed(stored_games(1))]
        with pytest.raises(StoreError, match="belongs to nothing"), store.writing() as connection:
            connection.execute(text("DELETE FROM games"))
    assert {name: null for name, _, null in shape(old)["games"]["columns"]}["decisions"]
    assert shape(old)["records"]["references"] == [(["game_id"], "games", ["id"])]
    assert version_of(old) == str(SCHEMA_VERSION + 1)


def test_a_migration_that_breaks_references_is_undone(
    old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_games(connection: Connection) -> None:
        connection.execute(text("DELETE FROM games"))

    use(monkeypatch, {**MIGRATIONS, SCHEMA_VERSION: lose_games})
    with pytest.raises(StoreError, match="is damaged"):
        Store.create(f"sqlite:///{old_file}")
    assert version_of(f"sqlite:///{old_file}") == str(min(MIGRATIONS))
    assert "times" not in shape(f"sqlite:///{old_file}")


def rebuild_and_die(connection: Connection) -> None:
    rebuild_games(connection)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.level(2)
def test_a_kill_in_a_migration_leaves_the_older_version(old: str) -> None:
    """The process dies after all statements, before the end of the transaction; the next one begins again."""
    before = shape(old)
    program = f"""
import pytest
from tests.tournament.storage import test_migrations as here
here.use(pytest.MonkeyPatch(), {{**here.MIGRATIONS, here.SCHEMA_VERSION: here.rebuild_and_die}})
here.Store.create({old!r})
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=LIMIT, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert (shape(old), version_of(old)) == (before, str(min(MIGRATIONS)))
    with Store.create(old) as store:
        assert content(store)[1] == [single_game(50), *reversed(stored_games(1))]


def test_unknown_versions_are_refused_in_one_line(url: str) -> None:
    """It says what wrote the store and what to do; the store is left as it is."""
    cases = {
        "UPDATE meta SET value = '9' WHERE key = 'schema_version'": r"version 9, written by happycity 0\.1",
        "UPDATE meta SET value = '1.4.2' WHERE key = 'written_by'": (
            r"has schema version 9, written by happycity 1\.4\.2; this is happycity \S+, which opens "
            r"versions 5 to 6: use happycity 1\.4\.2, or restore a backup$"
        ),
        "DELETE FROM meta WHERE key = 'written_by'": "version 9, written by a newer happycity; ",
        "UPDATE meta SET value = 'x'": "has schema version x, written by",
        "UPDATE meta SET value = '4'": "has schema version 4, older than all releases; .*: start a new store",
    }
    with Store.create(url) as store:
        for statement, problem in cases.items():
            with store.writing() as connection:
                connection.execute(text(statement))
            for method in (Store.create, partial(Store.existing, any_version=True)):
                with pytest.raises(StoreError, match=problem):
                    method(url)


@pytest.mark.level(2)
def test_commands_refuse_a_newer_store_with_status_2(old_file: Path) -> None:
    url = f"sqlite:///{old_file}"
    with Store.create(url) as store, store.writing() as connection:
        connection.execute(text("UPDATE meta SET value = '7' WHERE key = 'schema_version'"))
    for refused in (
        tournament("rate", old_file),
        tournament("delete", f"{old_file}#1"),
        happycity("serve", "--store", url, "--listen", "127.0.0.1:0"),
        happycity("backup", "--store", url, old_file.with_name("copy.sqlite")),
    ):
        assert "has schema version 7, written by happycity " in refused.error
