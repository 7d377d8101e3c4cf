"""Disks that are full or damaged: what is in the way is named, with what to do."""

import errno
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League
from tests.tournament.runs import make_run

from happycity_runtime.files import replacing
from happycity_tournament.client import run_folder
from happycity_tournament.client.run_folder import RUNS

NO_ROOM = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG]
PLAY = ("run", "--rounds", 1, "--bots", "random,greedy")


def full(number: int) -> OSError:
    """Return the error of a write: without a file, as the system has it."""
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize("number", NO_ROOM)
def test_a_run_that_a_full_disk_ends_says_where_and_how_it_goes_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def make(folder: Path) -> None:
        folder.rmdir()
        make_run(folder.name)

    async def play_new(*_: object, folder: Path, **__: object) -> None:
        make(folder)
        raise full(number)

    monkeypatch.setattr("happycity_tournament.client.session.play_new", play_new)
    monkeypatch.setattr("happycity_tournament.proof.commitment.Commitment.save", lambda *_: None)
    status, _, errors = run(*PLAY)
    (folder,) = RUNS.iterdir()
    assert status == 2
    last = errors.splitlines()[-1]
    assert last.startswith(
        f"error: {folder}: {os.strerror(number)}; free some disk space; finished games are in"
    )
    assert last.endswith(f"continue with: tournament resume {folder}")


@pytest.mark.parametrize("number", NO_ROOM)
def test_a_disk_that_is_full_at_the_start_is_named_and_nothing_is_left(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fsync(_: int) -> None:
        raise full(number)

    monkeypatch.setattr(os, "fsync", fsync)
    status, output, errors = run(*PLAY)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("error: runs/")
    assert errors.endswith(f"/commitment.json: {os.strerror(number)}; free some disk space\n")
    assert not list(RUNS.iterdir())


@pytest.mark.parametrize("name", ["games.csv", "with space.csv", "ü.csv", "-.csv"])
def test_a_file_that_can_not_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fsync(_: int) -> None:
        raise full(errno.ENOSPC)

    monkeypatch.setattr(os, "fsync", fsync)
    path = tmp_path / name
    path.write_text("before")
    with pytest.raises(OSError, match="No space") as caught, replacing(path) as partial:
        partial.write_text("after")
    assert caught.value.filename == str(path)
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("before", [path])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("form", ["csv", "jsonl", "records"])
def test_output_to_a_full_device(run: Run, finished_run: run_folder.Run, form: str) -> None:
    status, _, errors = run("export", "--format", form, "--out", "/dev/full")
    assert (status, errors.count("\n")) == (2, 1)
    assert "No space left on device; free some disk space" in errors


@pytest.mark.parametrize("place", range(1, 8))
@pytest.mark.parametrize("form", ["csv", "jsonl", "records"])
def test_a_damaged_store_is_not_exported_as_if_it_were_whole(run: Run, form: str, place: int) -> None:
    """Also where the damage is in a part that isn't read for this format."""
    store = Path("games.sqlite")
    League(("ann", "bob", "cem", "dee"), rounds=40).store(store)
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    size = store.stat().st_size
    with store.open("r+b") as file:
        file.seek(size * place // 8)
        file.write(b"\xa5" * 20_000)
    status, output, errors = run("export", store, "--format", form, "--out", "x")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert "is damaged; restore a copy of it or choose another file" in errors
    assert not Path("x").exists()


def test_a_whole_store_is_exported(run: Run, finished_run: run_folder.Run) -> None:
    shutil.copy(finished_run.folder / "games.sqlite", "copy.sqlite")
    assert run("export", "copy.sqlite", "--format", "csv", "--out", "x")[0] == 0
