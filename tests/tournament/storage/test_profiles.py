"""What bots said of themselves is kept with their tournaments, in stores that an earlier version made too."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.tournament.games import BOTS, stored_games
from tests.tournament.storage.postgres import Cluster, database_of

from happycity import BotInfo
from happycity_tournament.games import BotProfile
from happycity_tournament.storage import Store

ANN = BotProfile(BotInfo(author="Anna", version="1.0", language="Zig", description="counts é"), "zig/3")
BOB = BotProfile(BotInfo(), "")
VERSION_1 = Path(__file__).with_name("version_1.sql")
"""A store with a tournament of four games, as version 1 made it."""


def check_profiles(url: str) -> None:
    """Check what a store does with profiles."""
    with Store.create(url) as store:
        first, second = (
            store.create_tournament({"bots": list(BOTS)}, games_total=8, created_at=5.0) for _ in range(2)
        )
        store.set_profiles(first, {"ann": ANN, "bob": BOB})
        store.set_profiles(second, {"ann": BOB})
        store.set_profiles(first, {"bob": ANN})
        assert store.require_tournament(first).profiles == {"ann": ANN, "bob": ANN}
        assert [entry.profiles for entry in store.tournaments(10)] == [{"ann": BOB}, {"ann": ANN, "bob": ANN}]
        assert store.tournaments(1, bot="ann")[0].profiles == {"ann": BOB}
        store.delete_tournament(first)
        assert [entry.profiles for entry in store.tournaments(10)] == [{"ann": BOB}]


def test_profiles_are_kept(url: str) -> None:
    """The last words of each bot are kept, and are gone with their tournament."""
    check_profiles(url)


def test_profiles_are_kept_in_postgresql(cluster: Cluster) -> None:
    """PostgreSQL does the same."""
    check_profiles(cluster.new_database())


def old_store(path: Path) -> str:
    """Make a store of version 1; return its URL."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
    return f"sqlite:///{path}"


def check_old_games(store: Store) -> None:
    """Check that nothing of the old store is lost."""
    assert store.results(1) == stored_games(1, rounds=1)
    assert all(store.record(game.match_id) for game in store.results(1))
    (tournament,) = store.tournaments(None)
    assert (tournament.bots, tournament.profiles) == (list(BOTS), {})


def test_store_of_version_1_is_read_as_it_is(tmp_path: Path) -> None:
    """Readers, and programs that only look, change nothing."""
    url = old_store(tmp_path / "old.sqlite")
    before = (tmp_path / "old.sqlite").read_bytes()
    with Store.existing(url) as store:
        check_old_games(store)
    assert (tmp_path / "old.sqlite").read_bytes() == before
    with Store.create(url) as store:
        check_old_games(store)
    assert version(tmp_path / "old.sqlite") == "1"


def test_server_upgrades_a_store_of_version_1(tmp_path: Path) -> None:
    """A claim upgrades the store where it is, and nothing is lost; a second one finds it done."""
    url = old_store(tmp_path / "old.sqlite")
    with Store.create(url) as store:
        store.claim()
        check_old_games(store)
        store.set_profiles(1, {"ann": ANN})
    assert version(tmp_path / "old.sqlite") == "2"
    with Store.create(url) as store:
        store.claim()
        assert store.require_tournament(1).profiles == {"ann": ANN}
        assert store.results(1) == stored_games(1, rounds=1)


def test_server_upgrades_a_store_in_postgresql(cluster: Cluster) -> None:
    """So it is in PostgreSQL; a store of version 1 has all tables but one."""
    url = cluster.new_database()
    with Store.create(url) as store:
        store.create_tournament({"bots": list(BOTS)}, games_total=8, created_at=5.0)
    cluster.execute(database_of(url), "DROP TABLE profiles")
    cluster.execute(database_of(url), "UPDATE meta SET value = '1'")
    with Store.existing(url) as store:
        assert store.require_tournament(1).profiles == {}
    with Store.create(url) as store:
        store.claim()
        store.set_profiles(1, {"ann": ANN})
        assert store.require_tournament(1).profiles == {"ann": ANN}


def version(path: Path) -> str:
    """Return the schema version that a store says it has."""
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()[0])
