"""Stores of earlier versions are upgraded where they are; and the tables don't change without an upgrade."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, inspect, text
from tests.tournament.games import BOTS, single_game, stored_games, with_records
from tests.tournament.storage.old_stores import FOLDER, TOURNAMENT_GAMES, make_old_store, sql_of

from happycity_tournament.storage import Store, migrations
from happycity_tournament.storage.migrations import Change
from happycity_tournament.storage.schema import OLDEST_VERSION, SCHEMA_VERSION

ROOT = Path(__file__).parents[3]
OLD_VERSIONS = range(OLDEST_VERSION, SCHEMA_VERSION)


def shape(url: str) -> dict[str, Any]:
    """Return what the tables of a store look like, as the database says."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = inspect(connection)
        tables = {
            name: {
                "columns": [
                    (column["name"], str(column["type"]), column["nullable"], column["default"])
                    for column in found.get_columns(name)
                ],
                "key": found.get_pk_constraint(name)["constrained_columns"],
                "references": sorted(
                    (key["constrained_columns"], key["referred_table"], key["referred_columns"])
                    for key in found.get_foreign_keys(name)
                ),
                "unique": sorted(key["column_names"] for key in found.get_unique_constraints(name)),
                "indexes": sorted(
                    (index["name"] or "", index["column_names"], index["unique"])
                    for index in found.get_indexes(name)
                ),
            }
            for name in found.get_table_names()
        }
    engine.dispose()
    return tables


def content(url: str) -> list[object]:
    """Return what is in a store of any version."""
    with Store.existing(url) as store:
        return [store.results(1), [store.record(game.match_id) for game in store.results(1)]]


def claimed(url: str) -> Store:
    """Open a store as a server does, which upgrades it."""
    store = Store.create(url)
    store.claim()
    return store


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_an_upgraded_store_is_like_a_new_one(new_url: Callable[[], str], version: int) -> None:
    """An old store keeps all that it has, gets the tables of a new one, and takes new games."""
    old, new = make_old_store(new_url(), version), new_url()
    Store.create(new).close()
    before = content(old)
    with claimed(old) as store:
        assert content(old) == before
        assert store.results(1) == stored_games(1, rounds=1)
        assert len(store.results(1)) == TOURNAMENT_GAMES
        store.add_games(with_records([single_game(50)]))
        assert store.create_tournament({"bots": list(BOTS)}, games_total=8, created_at=5.0) == 2
    assert shape(old) == shape(new)


def not_applied(_: Connection) -> None:
    """Fail: the store needs no such change."""
    pytest.fail("it was applied")


def rebuild_games(connection: Connection) -> None:
    """Let `decisions` be absent, and note who was host: in SQLite by a new table in the old one's place."""
    connection.execute(text("ALTER TABLE games ADD COLUMN host VARCHAR DEFAULT 'olga' NOT NULL"))
    if connection.dialect.name != "sqlite":
        connection.execute(text("ALTER TABLE games ALTER COLUMN decisions DROP NOT NULL"))
        return
    row = connection.execute(text("SELECT sql FROM sqlite_master WHERE name = 'games'")).scalar_one()
    created = row.replace("decisions INTEGER NOT NULL", "decisions INTEGER").replace(
        "CREATE TABLE games", "CREATE TABLE new_games"
    )
    assert created != row
    for statement in (
        created,
        "INSERT INTO new_games SELECT * FROM games",
        "DROP TABLE games",
        "ALTER TABLE new_games RENAME TO games",
    ):
        connection.execute(text(statement))


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_a_table_that_is_there_can_be_changed(
    new_url: Callable[[], str], version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of a table to which others refer loses no row, and references are checked afterwards."""
    changes = [
        Change(version=SCHEMA_VERSION, table="games", apply=rebuild_games),
        Change(version=SCHEMA_VERSION, table="ladder_deals", apply=not_applied),  # as it is made new
        Change(version=version, table="games", apply=not_applied),  # as the store has it already
    ]
    monkeypatch.setattr(migrations, "CHANGES", changes)
    url = make_old_store(new_url(), version)
    before = content(url)
    with claimed(url) as store:
        assert content(url) == before
        with store.reading() as connection:
            hosts = connection.execute(text("SELECT DISTINCT host FROM games")).scalars().all()
        with pytest.raises(Exception, match="belongs to nothing"), store.writing() as connection:
            connection.execute(text("DELETE FROM games"))
    assert hosts == ["olga"]
    assert {name: null for name, _, null, _ in shape(url)["games"]["columns"]}["decisions"]
    assert shape(url)["records"]["references"] == [(["game_id"], "games", ["id"])]
    claimed(url).close()  # nothing is changed twice


def test_a_kill_during_the_upgrade_leaves_the_store_as_it_was(url: str) -> None:
    """The next server begins the upgrade again."""
    make_old_store(url, OLDEST_VERSION)
    before = shape(url), content(url)
    program = f"""
import os, signal
from happycity_tournament.storage import Store, migrations
from tests.tournament.storage.test_migrations import rebuild_games
def die(connection):
    rebuild_games(connection)
    os.kill(os.getpid(), signal.SIGKILL)
migrations.CHANGES = [migrations.Change(version={SCHEMA_VERSION}, table="games", apply=die)]
store = Store.create({url!r})
store.claim()
"""
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (shape(url), content(url)) == before
    with claimed(url):
        assert content(url) == before[1]


def _dump_order(statement: str) -> tuple[int, str]:
    """Put the indexes of a dump into alphabetical order, before its end; all else stays where it is."""
    if statement.startswith("CREATE INDEX"):
        return (1, statement)
    return (2, "") if statement == "COMMIT;" else (0, "")


def test_tables_do_not_change_without_a_new_version(tmp_path: Path) -> None:
    """The file of the newest version has the tables of `schema.py`.

    Once a version is released, its file stays: a change of the tables raises SCHEMA_VERSION, has its
    `Change`, and a file of its own, which HAPPYCITY_WRITE_SCHEMA=1 writes in this test.
    """
    Store.create(f"sqlite:///{tmp_path}/new.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "new.sqlite")) as connection:
        # In an order of our own: indexes are created in any.
        statements = sorted(connection.iterdump(), key=_dump_order)
    made = "\n".join(line.rstrip() for line in "\n".join(statements).splitlines()) + "\n"
    if os.environ.get("HAPPYCITY_WRITE_SCHEMA"):
        (FOLDER / f"version_{SCHEMA_VERSION}.sql").write_text(made, encoding="utf-8")
    assert sql_of(SCHEMA_VERSION) == made
