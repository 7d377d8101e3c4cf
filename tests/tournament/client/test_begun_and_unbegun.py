"""Where runs are made, which of them is the latest, and what is left of one that never began."""

import time
from pathlib import Path

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import START
from tests.tournament.runs import make_run

from happycity import HappyCityError
from happycity_tournament.client import run_folder, session
from happycity_tournament.storage.store import Store


@pytest.mark.parametrize("runs", ["a link to nothing", "a link to itself", "a file", "a folder's file"])
def test_a_place_where_no_run_can_be_made_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, runs: str
) -> None:
    """The command ends with one line, whatever is in the way."""
    match runs:
        case "a link to nothing":
            Path("runs").symlink_to("/nonexistent/place")
        case "a link to itself":
            Path("runs").symlink_to("runs")
        case "a file":
            Path("runs").touch()
        case _:
            Path("file").touch()
            monkeypatch.setattr(run_folder, "RUNS", Path("file/runs"))
    status, output, errors = run("run", "--rounds", 1, "--bots", "random,greedy")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"error: {run_folder.RUNS}")


def test_a_link_to_a_folder_holds_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("disk").mkdir()
    Path("runs").symlink_to("disk")
    assert run_folder.new_folder().is_dir()


def test_a_folder_is_named_after_the_time_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = set()
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        names.add(run_folder.new_folder().name[:11])  # date and hour
    monkeypatch.undo()
    time.tzset()
    assert len(names) <= 2
    assert max(names) <= time.strftime("%Y%m%d-%H", time.gmtime())


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("20261122-090000", "20261122-080000"),
        ("2027-plan", "20261122-080000"),
        ("first", "a copy of it"),
        ("20261122-080000-9", "20261122-080000-10"),
        ("zürich", "-1"),
    ],
)
def test_the_latest_run_is_the_one_that_was_created_last(run: Run, older: str, newer: str) -> None:
    """Neither the names of folders nor the times of files decide: people rename, copy and travel."""
    for name, created_at in ((newer, START + 1), (older, START)):
        make_run(name, created_at=created_at)
    assert json_of(run, "list")[0]["run"] == f"runs/{newer}"
    assert run("games")[1] == run("games", f"runs/{newer}")[1]
    assert str(run_folder.latest_run()) == f"runs/{newer}"


def test_a_run_whose_time_is_unknown_is_not_passed_over(run: Run) -> None:
    """It may be the latest one, so the command that means the latest one names it."""
    make_run("20261122-080000")
    Path("runs/0").mkdir()
    Path("runs/0/run.json").write_text("{}")
    status, _, errors = run("games")
    assert status == 2
    assert errors.startswith("error: runs/0/run.json can't be read as a run: ")


@pytest.mark.parametrize("end", [KeyboardInterrupt(), HappyCityError("the server ended")])
def test_a_run_that_never_began_leaves_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    async def play_new(*_: object, folder: Path, **__: object) -> None:
        Store.create(run_folder.own_store(folder)).close()
        (folder / "server.log").touch()
        raise end

    monkeypatch.setattr(session, "play_new", play_new)
    status, _, errors = run("run", "--rounds", 1, "--bots", "random,greedy")
    assert status != 0
    assert errors.splitlines()[-1].startswith(("error: the server ended", "aborted before the first game"))
    assert not list(run_folder.RUNS.iterdir())


def test_the_folder_whose_output_says_why_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play_new(*_: object, folder: Path, **__: object) -> None:
        (folder / "bot-a.log").write_text("no module")
        raise HappyCityError(f"bot a ended with status 1 (output: {folder}/bot-a.log)")

    monkeypatch.setattr(session, "play_new", play_new)
    run("run", "--rounds", 1, "--bots", "random,greedy")
    (folder,) = run_folder.RUNS.iterdir()
    assert (folder / "bot-a.log").exists()


@pytest.mark.parametrize("has_store", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        "games",
        "show",
        "resume",
        "stop",
        "delete",
        "rate",
        "report --out x.html",
        "export --format csv --out x",
    ],
)
def test_what_a_killed_start_leaves_is_named_by_every_command(
    run: Run, words: str, *, has_store: bool
) -> None:
    """Its files are not taken for games."""
    folder = run_folder.new_folder()
    for name in ("commitment.json", "tokens.json", "server.log"):
        (folder / name).write_text("{}")
    if has_store:
        Store.create(run_folder.own_store(folder)).close()
    name, *flags = words.split()
    status, output, errors = run(name, folder, *flags)
    assert (status, output, errors.count("\n")) == (2, "", 1), errors
    assert str(folder) in errors
    assert "record" not in errors
