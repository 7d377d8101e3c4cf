"""What only a SQLite file can meet with."""

import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.tournament.games import RECORD, single_game, stored_games, with_records
from tests.tournament.storage.test_claims import refuse

from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "games.sqlite"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    entries = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    return {**entries, ".": (b"", folder.stat().st_mtime_ns)}


def add(store: Store, match_id: int) -> None:
    store.add_games(with_records([single_game(match_id)]))


def test_other_programs_see_what_is_committed(store: Store, path: Path) -> None:
    """A second connection reads committed games while the store is open, in its write-ahead log."""
    add(store, 1)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM games").fetchone() == (1,)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_in_memory_is_shared_by_threads_and_by_no_other_store() -> None:
    """Without a file the store lasts until it is closed; another one is empty and can be claimed too."""
    with Store.create("sqlite://") as store, Store.create("sqlite://") as other:
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(add, store, 1).result()
        assert (store.in_memory, store.next_match_id(), other.next_match_id()) == (True, 2, 1)
        store.claim()
        other.claim()
        assert not store.is_claimed()


def test_a_locked_file_is_waited_for(url: str, path: Path) -> None:
    """While another program writes, adding waits as long as was asked for, and then says what to do."""
    with Store.create(url, lock_timeout=0.05) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="is in use by another program; end that program or try"):
                add(store, 1)
            other.execute("COMMIT")
        add(store, 1)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    for method in (Store.create, Store.existing):
        with pytest.raises(StoreError, match="is not a SQLite database; choose another file"):
            method(f"sqlite:///{path}")
    assert path.read_text() == "dear diary, " * 100
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_file_is_recognised(url: str, path: Path) -> None:
    Store.create(url).close()
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    with pytest.raises(StoreError, match=r"is damaged|is not a SQLite database"):
        Store.create(url)


@pytest.mark.parametrize(
    ("name", "message"),
    [("file/happycity.db", "its folder can't be created"), (".", "can't be opened; check that its folder")],
)
def test_a_path_that_cannot_be_opened_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=message):
        Store.create(f"sqlite:///{tmp_path}/{name}")


def read_all(store: Store) -> None:
    assert store.games(10) == [single_game(50), *stored_games(1)[::-1]]
    assert store.results(1) == [game for game, _ in store.all_games(tournament_id=1)] == stored_games(1)
    assert [entry.id for entry in store.tournaments(None, bot="ann")] == [1]
    assert store.progress(1).games == 8
    assert (store.record(50), store.next_match_id(), store.is_claimed()) == (RECORD, 51, False)


@pytest.fixture
def filled(url: str) -> str:
    with Store.create(url) as store:
        store.create_tournament({"bots": ["ann"]}, games_total=8, created_at=0.0)
        store.add_games(with_records([*stored_games(1), single_game(50)]))
    return url


def test_readers_follow_a_server(url: str, path: Path) -> None:
    Store.create(url).close()
    with Store.existing(url) as early:
        assert early.next_match_id() == 1
        with Store.create(url) as server, Store.existing(url) as late:
            server.claim()
            add(server, 7)
            assert early.next_match_id() == late.next_match_id() == 8
            assert early.is_claimed()
            assert late.is_claimed()
            add(server, 8)
            assert early.game(8) == late.game(8) == single_game(8)
        assert early.next_match_id() == 9
        assert not early.is_claimed()


def test_the_log_of_a_killed_server_is_read(url: str, path: Path) -> None:
    """Games that are in the write-ahead log only count, and reading leaves the log as it is."""
    with Store.create(url) as server:
        add(server, 7)
        names = [f"{path.name}{suffix}" for suffix in ("", "-wal", "-shm")]
        contents = [(path.parent / name).read_bytes() for name in names]
    for name, content in zip(names, contents, strict=True):  # as a kill leaves them
        (path.parent / name).write_bytes(content)
    with Store.existing(url) as store:
        assert store.game(7) == single_game(7)
    assert (path.parent / names[1]).read_bytes() == contents[1]
    assert path.read_bytes() == contents[0]


def test_a_file_that_changes_while_it_is_read_is_an_error(filled: str, path: Path) -> None:
    """A resting file is read without locks; so a server that starts and changes it meanwhile is noticed."""
    with Store.existing(filled) as reader:
        games = reader.all_games()
        next(games)
        with Store.create(filled) as server:
            add(server, 60)  # written to the file itself when the server closes it
        with pytest.raises(StoreError, match="was changed while it was read; try again"):
            list(games)
        assert reader.game(60) == single_game(60)


def test_a_claim_is_of_the_file_however_it_is_named(url: str, path: Path, tmp_path: Path) -> None:
    """Another path to the same file does not get round the claim."""
    link = tmp_path / "link.sqlite"
    with Store.create(url) as store, Store.existing(url) as reader:
        assert not reader.is_claimed()
        assert [entry.name for entry in path.parent.glob("*.lock")] == []  # asking makes no file
        store.claim()
        link.symlink_to(path)
        with Store.create(f"sqlite:///{link}") as second:
            assert second.is_claimed()
            refuse(second)


def test_a_commit_survives_a_kill_without_a_sync_of_its_own(url: str) -> None:
    """`synchronous` is NORMAL (1): FULL (2) syncs the disk at every commit, OFF (0) may lose the file."""
    with Store.create(url) as store:
        store.claim()
        with store.writing() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1


def test_reading_a_resting_store_changes_nothing(filled: str, path: Path) -> None:
    """Neither file nor folder changes: no table, journal, lock or log; so neither needs to be writable.

    The superuser may write all the same, so it is the folder's contents that show it.
    """
    before = files(path.parent)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with Store.existing(filled) as store:
            read_all(store)
            assert files(path.parent) == before
        assert files(path.parent) == before
    finally:
        path.parent.chmod(0o700)


def test_a_claim_is_lost_with_its_files(url: str, path: Path) -> None:
    """A server whose files are removed or cut notices it: nothing that it stores may be kept.

    With the lock file removed another server gets in.
    """
    losses: dict[str, Callable[[], None]] = {
        "lock": path.with_name("games.sqlite.lock").unlink,
        "cut": lambda: os.truncate(path, path.stat().st_size - 4096),
        "removed": path.unlink,
    }
    for how, lose in losses.items():
        path.unlink(missing_ok=True)
        with Store.create(url) as store:
            store.claim()
            lose()
            if how == "lock":
                with Store.create(url) as second:
                    second.claim()
                    second.check_claim()
            with pytest.raises(StoreError, match="the claim on it is lost") as caught:
                store.check_claim()
            assert caught.value.for_all


@pytest.mark.level(2)
def test_a_server_can_start_while_others_look(url: str) -> None:
    """Asking whether a store is claimed claims nothing: no claim fails, however often others ask."""
    Store.create(url).close()
    stop = threading.Event()
    answers: set[bool] = set()

    def ask() -> None:
        with Store.existing(url) as reader:
            while not stop.is_set():
                answers.add(reader.is_claimed())

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        claims = 0
        while claims < 30 or answers != {True, False}:
            claims += 1
            with Store.create(url) as server:
                server.claim()
                server.check_claim()
    finally:
        stop.set()
        asking.join()
