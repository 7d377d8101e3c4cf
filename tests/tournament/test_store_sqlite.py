"""What only a SQLite file can meet with."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.tournament.games import single

from happycity_tournament.claims import LOCK_SUFFIX
from happycity_tournament.store import Store, StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "happycity.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url) as opened:
        yield opened


def test_folder_and_file_are_created(store: Store, path: Path) -> None:
    """Opening makes the file, and the folder that it is in."""
    assert path.exists()


def test_others_see_what_is_committed(store: Store, path: Path) -> None:
    """A second connection reads committed games while the store is open."""
    store.add_games([single(1), single(2)])
    other = sqlite3.connect(path)
    try:
        assert other.execute("SELECT count(*) FROM games").fetchone() == (2,)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        other.close()


def test_a_store_may_live_in_memory() -> None:
    """Without a file the store lasts until it is closed, in every thread."""
    with Store("sqlite://") as store, ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(store.add_games, [single(1)]).result()
        assert store.next_game_id() == 2


def test_a_locked_file_is_told(url: str, path: Path) -> None:
    """While another program writes, adding waits for the time given and then says what to do."""
    with Store(url, lock_timeout=0.05) as store:
        other = sqlite3.connect(path, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="is in use by another program; end that program or try"):
                store.add_games([single(1)])
            other.execute("COMMIT")
            store.add_games([single(1)])
        finally:
            other.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """Another file is neither read nor changed."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    with pytest.raises(StoreError, match="is not a SQLite database; choose another file"):
        Store(f"sqlite:///{path}")
    assert path.read_text() == "dear diary, " * 100


def test_a_claim_is_of_the_file_however_it_is_named(url: str, path: Path, tmp_path: Path) -> None:
    """Another path to the same file is no way round the claim."""
    with Store(url) as first:
        first.claim()
        link = tmp_path / "link.db"
        link.symlink_to(path)
        with (
            Store(f"sqlite:///{link}") as second,
            pytest.raises(StoreError, match="is in use by another server"),
        ):
            second.claim()


def test_a_store_in_memory_is_nobody_elses() -> None:
    """Two stores in memory are two stores."""
    with Store("sqlite://") as first, Store("sqlite://") as second:
        first.claim()
        second.claim()


def damage(path: Path) -> None:
    """Overwrite all but the file's header with nonsense."""
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))


def test_a_damaged_file_is_told(url: str, path: Path) -> None:
    """A file that is damaged inside is recognised."""
    Store(url).close()
    damage(path)
    with pytest.raises(StoreError, match=r"is damaged|is not a SQLite database"):
        Store(url)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """Where a file is in the way of a folder, the error says so."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="its folder can't be created"):
        Store(f"sqlite:///{tmp_path}/file/happycity.db")


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    """A path that names a folder can't be opened."""
    with pytest.raises(StoreError, match="can't be opened; check that its folder exists"):
        Store(f"sqlite:///{tmp_path}")


def test_a_damaged_row_is_told(store: Store, path: Path) -> None:
    """A game that can't be read is an error of the store, not of its caller."""
    store.add_games([single(1)])
    other = sqlite3.connect(path)
    other.execute("UPDATE games SET bots = 'ann'")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="is damaged"):
        store.game(1)


def test_a_claim_is_lost_with_its_file(store: Store, path: Path) -> None:
    """Whoever removes the locked file lets another server in, and the first one notices."""
    store.claim()
    lock = path.with_name(path.name + LOCK_SUFFIX)
    lock.unlink()
    with pytest.raises(StoreError, match="the claim on it is lost"):
        store.check_claim()
    with Store(f"sqlite:///{path}") as second:
        second.claim()
        with pytest.raises(StoreError, match="the claim on it is lost"):
            store.check_claim()
