"""What only a SQLite file can meet with."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.tournament.games import RECORD, single_game, stored_games, with_records

from happycity_tournament.storage import Store, StoreError


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the contents of a folder, with the times when they were changed."""
    entries = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    return {**entries, ".": (b"", folder.stat().st_mtime_ns)}


def add(store: Store, match_id: int) -> None:
    store.add_games(with_records([single_game(match_id)]))


# Opening to write ----------------------------------------------------------------------------------------


def test_folder_and_file_are_created(url: str, path: Path) -> None:
    """Opening makes the file, and the folder that it is in."""
    Store.create(url).close()
    assert path.exists()


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
    """Another file is neither read nor changed."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    for method in (Store.create, Store.existing):
        with pytest.raises(StoreError, match="is not a SQLite database; choose another file"):
            method(f"sqlite:///{path}")
    assert path.read_text() == "dear diary, " * 100
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_file_is_recognised(url: str, path: Path) -> None:
    """A file whose pages are overwritten is an error in one line."""
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
    """Neither a folder, nor a path through a file, can be a database."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=message):
        Store.create(f"sqlite:///{tmp_path}/{name}")


# Opening to read -----------------------------------------------------------------------------------------


def test_a_store_that_is_not_there_is_not_created(tmp_path: Path) -> None:
    """Opening to read makes neither a file nor a folder."""
    with pytest.raises(StoreError, match="can't be opened: there is no such file"):
        Store.existing(f"sqlite:///{tmp_path}/runs/games.sqlite")
    assert list(tmp_path.iterdir()) == []


def read_all(store: Store) -> None:
    """Use every method that reads."""
    assert store.games(10) == [single_game(50), *stored_games(1)[::-1]]
    assert store.results(1) == [game for game, _ in store.all_games(tournament_id=1)] == stored_games(1)
    assert [entry.id for entry in store.tournaments(None, bot="ann")] == [1]
    assert store.progress(1).games == 8
    assert (store.record(50), store.next_match_id(), store.is_claimed()) == (RECORD, 51, False)


@pytest.fixture
def filled(url: str) -> str:
    """Return the URL of a store with games that no process has open."""
    with Store.create(url) as store:
        store.create_tournament({"bots": ["ann"]}, games_total=8, created_at=0.0)
        store.add_games(with_records([*stored_games(1), single_game(50)]))
    return url


def test_reading_a_resting_store_changes_nothing(filled: str, path: Path) -> None:
    """Neither the file nor its folder changes: no table, no journal mode, no lock and no log is made."""
    before = files(path.parent)
    with Store.existing(filled) as store:
        read_all(store)
        assert files(path.parent) == before
    assert files(path.parent) == before


def test_a_store_can_be_read_where_nothing_can_be_written(filled: str, path: Path) -> None:
    """A file and a folder without any permission to write are enough.

    The superuser may write all the same; that nothing is made is tested by the folder's contents.
    """
    path.chmod(0o400)
    path.parent.chmod(0o500)
    before = files(path.parent)
    try:
        with Store.existing(filled) as store:
            read_all(store)
        assert files(path.parent) == before
    finally:
        path.parent.chmod(0o700)


def test_a_store_that_is_opened_to_read_cannot_be_written_to(filled: str) -> None:
    """A method that writes fails."""
    with Store.existing(filled) as store, pytest.raises(StoreError, match="can only be read"):
        add(store, 60)


def test_readers_follow_a_server(url: str, path: Path) -> None:
    """What a server commits is seen at once, whether the reader was there before it or came later."""
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


# Claims --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
def test_a_claim_is_of_the_file_however_it_is_named(store: Store, path: Path, tmp_path: Path) -> None:
    """Another path to the same file does not get round the claim."""
    store.claim()
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    with Store.create(f"sqlite:///{link}") as second:
        assert second.is_claimed()
        with pytest.raises(StoreError, match="is in use by another server"):
            second.claim()


@pytest.mark.parametrize("name", ["games.sqlite", "games.sqlite.lock"])
def test_a_claim_is_lost_with_its_files(store: Store, path: Path, name: str) -> None:
    """A server whose database or lock file is removed notices it, for nothing that it stores may be kept."""
    store.claim()
    path.with_name(name).unlink()
    with pytest.raises(StoreError, match="the claim on it is lost") as caught:
        store.check_claim()
    assert caught.value.for_all


def test_a_new_lock_file_does_not_restore_a_claim(store: Store, path: Path) -> None:
    """With the lock file removed another server gets in, and the first one still knows that it lost."""
    store.claim()
    path.with_name("games.sqlite.lock").unlink()
    with Store.create(store.url) as second:
        second.claim()
        with pytest.raises(StoreError, match="the claim on it is lost"):
            store.check_claim()
        second.check_claim()


def test_a_claim_is_lost_if_the_file_is_cut(store: Store, path: Path) -> None:
    """A server must not go on with a database that was truncated."""
    store.claim()
    store.check_claim()
    os.truncate(path, path.stat().st_size - 4096)
    with pytest.raises(StoreError, match="the claim on it is lost"):
        store.check_claim()


def test_asking_for_a_claim_makes_no_file(filled: str, path: Path) -> None:
    """A store that no server ever claimed has no lock file afterwards either."""
    with Store.existing(filled) as reader:
        assert not reader.is_claimed()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_commit_survives_a_kill_without_a_sync_of_its_own(url: str) -> None:
    """`synchronous` is NORMAL (1): FULL (2) syncs the disk at every commit, OFF (0) may lose the file."""
    with Store.create(url) as store:
        store.claim()
        with store.writing() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1
