"""What bots said of themselves is kept with their tournaments, in stores that an earlier version made too."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.tournament.games import BOTS, stored_games
from tests.tournament.storage.old_stores import make_old_store
from tests.tournament.storage.postgres import Cluster

from happycity import BotInfo
from happycity_tournament.games import BotProfile
from happycity_tournament.storage import Store

ANN = BotProfile(BotInfo(author="Anna", version="1.0", language="Zig", description="counts é"), "zig/3")
BOB = BotProfile(BotInfo(), "")


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


def check_old_games(store: Store) -> None:
    """Check that nothing of the old store is lost."""
    assert store.results(1) == stored_games(1, rounds=1)
    assert all(store.record(game.match_id) for game in store.results(1))
    (tournament,) = store.tournaments(None)
    assert (tournament.bots, tournament.profiles) == (list(BOTS), {})


def test_store_of_version_1_is_read_as_it_is(tmp_path: Path) -> None:
    """Readers, and programs that only look, change nothing."""
    url = make_old_store(f"sqlite:///{tmp_path}/old.sqlite", 1)
    before = (tmp_path / "old.sqlite").read_bytes()
    with Store.existing(url) as store:
        check_old_games(store)
    assert (tmp_path / "old.sqlite").read_bytes() == before
    with Store.create(url) as store:
        check_old_games(store)
    assert version(tmp_path / "old.sqlite") == "1"


def version(path: Path) -> str:
    """Return the schema version that a store says it has."""
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()[0])
