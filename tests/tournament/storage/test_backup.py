"""Backups of SQLite stores that are in use, and restoring them."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine
from tests.tournament.games import single_game, stored_games, with_records
from tests.tournament.storage.postgres import Cluster

from happycity import BotInfo, ConfigError
from happycity_tournament.games import BotProfile
from happycity_tournament.storage import copies
from happycity_tournament.storage.backup import CopyReport, back_up
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.schema import SCHEMA_VERSION, metadata
from happycity_tournament.storage.store import Store


def claimed(url: str) -> Store:
    store = Store.create(url)
    store.claim()
    return store


def sqlite(path: Path) -> str:
    return f"sqlite:///{path}"


def restore(path: Path, url: str) -> CopyReport:
    return back_up(sqlite(path), Path(url.removeprefix("sqlite:///")), progress=nothing)


def nothing(_: int, __: int) -> None:
    """Show no progress."""


def fill(url: str) -> None:
    """Make a store with a deleted tournament, whose ids are not to be used again."""
    with Store.create(url) as store:
        for _ in range(3):
            store.create_tournament({"bots": ["ann", "é"]}, games_total=8, created_at=5.0)
        store.set_profiles(1, {"ann": BotProfile(BotInfo(description="counts é"), "zig/3")})
        store.add_games(with_records([*stored_games(1), single_game(50)]))
        store.delete_tournament(3)


def rows(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a store, in any kind of database alike."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {
            table.name: [
                tuple(row) for row in connection.execute(table.select().order_by(*table.primary_key))
            ]
            for table in metadata.sorted_tables
        }
    engine.dispose()
    return found


def entries(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.level(1)
def test_a_restored_backup_is_the_store(tmp_path: Path) -> None:
    url, again = sqlite(tmp_path / "runs" / "games.sqlite"), sqlite(tmp_path / "again" / "games.sqlite")
    fill(url)
    seen: list[tuple[int, int]] = []
    copied = back_up(url, tmp_path / "copy.sqlite", progress=lambda *done: seen.append(done))
    assert (copied.rows["games"], copied.rows["records"], copied.schema_version) == (9, 9, SCHEMA_VERSION)
    assert seen[-1][0] == seen[-1][1] > 0
    assert restore(tmp_path / "copy.sqlite", again).rows == copied.rows
    assert rows(url) == rows(f"sqlite:///{tmp_path}/copy.sqlite") == rows(again)
    with claimed(again) as store:
        assert store.create_tournament({"bots": []}, games_total=1, created_at=6.0) == 4
        assert store.next_match_id() == 51
    assert entries(tmp_path) == ["again", "copy.sqlite", "runs"]
    assert (tmp_path / "copy.sqlite").stat().st_mode & 0o77 == 0


@pytest.mark.level(1)
def test_a_backup_is_one_moment_of_a_server_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Games that are stored while a backup runs don't wait for it, and aren't in it."""
    monkeypatch.setattr(copies, "_PAGES_AT_ONCE", 1)
    url = sqlite(tmp_path / "runs" / "games.sqlite")
    fill(url)
    before = rows(url)
    with claimed(url) as server:
        ids = iter(range(100, 200))

        def store_another(_: int, __: int) -> None:
            server.add_games(with_records([single_game(next(ids))]))

        back_up(url, tmp_path / "copy.sqlite", progress=store_another)
        stored = next(ids) - 100
        assert stored > 10
        assert len(server.games(200)) == 9 + stored
    assert rows(f"sqlite:///{tmp_path}/copy.sqlite") == before


def test_a_backup_overwrites_nothing(tmp_path: Path) -> None:
    """Neither the store nor a file that is there is touched; nothing else is left."""
    path = tmp_path / "runs" / "games.sqlite"
    fill(f"sqlite:///{path}")
    (tmp_path / "copy.sqlite").write_text("precious")
    path.with_name("old.sqlite-wal").write_text("the log of a file that was removed")
    for copy, problem in {
        "copy.sqlite": r"copy\.sqlite: it exists already; choose another name",
        "copy.sqlite/below": "can't be written",
    }.items():
        with pytest.raises(ConfigError, match=problem):
            back_up(f"sqlite:///{path}", tmp_path / copy, progress=nothing)
    for to, problem in {"copy": "it exists already", "runs/old": "old.sqlite-wal: it exists"}.items():
        with pytest.raises(ConfigError, match=problem):
            restore(path, f"sqlite:///{tmp_path}/{to}.sqlite")
    with pytest.raises(StoreError, match="there is no such file"):
        back_up(f"sqlite:///{tmp_path}/none.sqlite", tmp_path / "other.sqlite", progress=nothing)
    for folder in (Path(), tmp_path):
        with pytest.raises(StoreError, match="can't be opened: there is no such file"):
            restore(folder, f"sqlite:///{tmp_path}/new.sqlite")
    assert (tmp_path / "copy.sqlite").read_text() == "precious"
    assert entries(tmp_path) == ["copy.sqlite", "runs"]


def test_a_backup_that_is_interrupted_leaves_no_file(tmp_path: Path) -> None:
    url = sqlite(tmp_path / "runs" / "games.sqlite")
    fill(url)

    def stop(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(url, tmp_path / "copies" / "copy.sqlite", progress=stop)
    assert entries(tmp_path / "copies") == []


def test_a_damaged_backup_is_not_restored(tmp_path: Path) -> None:
    fill(f"sqlite:///{tmp_path}/store/games.sqlite")
    path = tmp_path / "copy.sqlite"
    back_up(f"sqlite:///{tmp_path}/store/games.sqlite", path, progress=nothing)
    content = bytearray(path.read_bytes())
    content[-4096:] = bytes(4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        restore(path, f"sqlite:///{tmp_path}/again.sqlite")
    assert entries(tmp_path) == ["copy.sqlite", "store"]


def test_postgresql_is_copied_by_its_own_tools(cluster: Cluster, tmp_path: Path) -> None:
    url = cluster.new_database()
    fill(url)
    with pytest.raises(StoreError, match="pg_dump"):
        back_up(url, tmp_path / "copy.sqlite", progress=nothing)
    assert entries(tmp_path) == []
