"""Which tournament, and which games, a command is about: the same arguments for all commands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League
from tests.tournament.runs import LEAGUE

from happycity.errors import ConfigError
from happycity.runtime.transport import Access
from happycity_tournament.arena.run_folder import RemoteServer
from happycity_tournament.arena.run_folder import Run as RunFolder
from happycity_tournament.cli.locate import find_game
from happycity_tournament.cli.options import load_play
from happycity_tournament.cli.settings import ConnectionSettings, RunSettings
from happycity_tournament.storage import Store

STORE = "runs/20261122-080000/games.sqlite"
HUGE = "9" * 30
"""More than any id."""
ENDLESS = "9" * 5000
"""More digits than Python reads."""


def json_of(run: Run, *arguments: object) -> Any:
    """Run a command that prints JSON, and return that."""
    status, output, errors = run(*arguments, "--json")
    assert (status, errors) == (0, "")
    return json.loads(output)


def files_below(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Where the tournament is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("runs/20261122-080000",),
        pytest.param(("runs/20261122-080000/",), marks=pytest.mark.thorough),
        (STORE,),
        pytest.param((f"sqlite:///{STORE}",), marks=pytest.mark.thorough),
        pytest.param(("--store", STORE), marks=pytest.mark.thorough),
        pytest.param(("1", "--store", STORE), marks=pytest.mark.thorough),
        ("1", "--store", f"sqlite:///{STORE}"),
    ],
)
@pytest.mark.usefixtures("finished_run")
def test_a_tournament_that_nobody_plays_is_found(
    run: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """It is the same for all commands, which claim, make and change nothing."""
    with Store.existing(f"sqlite:///{STORE}") as store:
        before = files_below(tmp_path)
        shown = json_of(run, "show", *arguments)
        assert (shown["tournament"], shown["state"], shown["games"]) == (1, "finished", 12)
        status, output, _ = run("rate", *arguments, "--json", "-")
        assert (status, json.loads(output)["games"]) == (0, 12)
        out = tmp_path / "out"
        assert run("export", *arguments, "--format", "csv", "--out", out)[::2] == (0, f"{out}: 12 games\n")
        assert run("report", *arguments, "--out", out)[::2] == (0, f"{out}: a report of 12 games\n")
        out.unlink()
        assert not store.is_claimed()
        assert files_below(tmp_path) == before


@pytest.mark.parametrize("how", ["latest", "folder", "store", "id", "server"])
def test_a_tournament_in_progress_is_found(
    run: Run, open_run: tuple[RunFolder, str], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The server of the run is asked; only without it, and for reading, the store is."""
    monkeypatch.setattr("happycity_tournament.storage.claims.PATIENCE_SECONDS", 0.01)
    opened, address = open_run
    arguments: dict[str, tuple[object, ...]] = {
        "latest": (),
        "folder": (opened.folder,),
        "store": (STORE,),
        "id": ("1", "--server", address),
        "server": ("--server", address),
    }
    shown = json_of(run, "show", *arguments[how])
    state = "running" if how == "store" else "waiting"  # as it was when it was interrupted
    assert (shown["tournament"], shown["state"], shown["games"]) == (1, state, 5)
    assert shown["missing_bots"] == ([] if how == "store" else list(LEAGUE.bots))
    if how == "store":
        status, _, errors = run("stop", *arguments[how])
        assert (status, "is in use by another server" in errors) == (2, True)


def test_games_are_read_from_a_server(run: Run, open_run: tuple[RunFolder, str], tmp_path: Path) -> None:
    """A stopped tournament is exported from there as from its store."""
    opened, address = open_run
    assert run("stop", opened.folder)[0] == 0
    for name, arguments in {"server": ("1", "--server", address), "store": (STORE,)}.items():
        assert run("export", *arguments, "--format", "records", "--out", name)[0] == 0
    assert Path("server").read_text() == Path("store").read_text()
    status, _, errors = run("report", "--tournament", "1", "--server", address, "--out", "page.html")
    assert (status, errors) == (0, "page.html: a report of 5 games\n")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the files of a folder, with the times when they were changed."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_reading_works_in_a_read_only_folder(run: Run, finished_run: RunFolder) -> None:
    """Neither folder nor store changes, also where the superuser reads, whom no permission stops."""
    store, folder = finished_run.folder / "games.sqlite", finished_run.folder
    store.chmod(0o400)
    folder.chmod(0o500)
    try:
        before = contents(folder)
        for command in (("show",), ("rate",), ("list",)):
            assert run(*command)[0] == 0
            assert contents(folder) == before, command
    finally:
        folder.chmod(0o700)


def test_a_moved_run_takes_its_store_along(run: Run, finished_run: RunFolder) -> None:
    """The store that a run makes is looked for in its folder."""
    moved = finished_run.folder.rename("elsewhere")
    assert json_of(run, "show", moved)["games"] == 12


def test_a_run_on_a_server_is_found_there(run: Run, open_run: tuple[RunFolder, str]) -> None:
    """Its folder says where that is."""
    opened, address = open_run
    folder = Path("runs/20261122-090000")
    folder.mkdir()
    remote = RemoteServer(address=address, access=Access())
    RunFolder(folder=folder, tournament_id=1, venue=remote, lineup=opened.lineup).save()
    assert json_of(run, "show")["games"] == 5
    assert json_of(run, "list")[0]["remarks"] == [f"on {address}"]
    status, _, errors = run("show", folder, "--store", STORE)
    assert (status, errors) == (2, f"error: --store: the tournament of {folder} is on the server {address}\n")


def test_a_server_that_the_run_does_not_know_is_named(run: Run, open_run: tuple[RunFolder, str]) -> None:
    """Only its own users know where it is."""
    opened, _ = open_run
    os.rename(opened.folder / "server.json", "hidden")
    status, _, errors = run("show")
    os.rename("hidden", opened.folder / "server.json")
    assert status == 2
    assert "name the tournament by its id on that server: 1 --server ADDRESS" in errors


def test_several_tournaments_need_a_choice(run: Run, tmp_path: Path) -> None:
    """In a store that is named without an id, and for a report."""
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        for rounds in (1, 2):
            League(LEAGUE.bots, rounds=rounds).add_to(store)
    url = f"sqlite:///{tmp_path}/games.sqlite"
    for arguments, problem in {
        ("show", "games.sqlite"): " has 2 tournaments; name one by its id: ID --store ",
        ("report", "games.sqlite", "--out", "x"): " has 2 tournaments; name one with --tournament",
        ("show", "3", "--store", "games.sqlite"): " has no tournament 3",
    }.items():
        status, _, errors = run(*arguments)
        assert (status, problem in errors) == (2, True), errors
    assert json_of(run, "show", "2", "--store", url)["games"] == 8
    for arguments in (("games.sqlite", "--tournament", "2"), ("2", "--store", url)):
        assert run("report", *arguments, "--out", "x")[::2] == (0, "x: a report of 8 games\n")


# The server of the environment ---------------------------------------------------------------------------


@pytest.fixture
def server_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the environment name a server at which nothing listens; return its address."""
    monkeypatch.setattr("happycity_tournament.arena.connection.CONNECT_SECONDS", 0.1)
    monkeypatch.setenv("HAPPYCITY_SERVER", "grpc://127.0.0.1:9")
    return "grpc://127.0.0.1:9"


def test_commands_use_the_server_of_the_environment(
    run: Run, open_run: tuple[RunFolder, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is not named otherwise is looked for there, and not among the runs of this folder."""
    _, address = open_run
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HAPPYCITY_SERVER", address)
    for arguments in ((), ("1",)):
        assert json_of(run, "show", *arguments)["games"] == 5
    assert [entry["tournament"] for entry in json_of(run, "list")] == [1]


@pytest.mark.parametrize("value", ["", None])
@pytest.mark.usefixtures("finished_run")
def test_an_empty_server_of_the_environment_is_none(
    run: Run, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """Then the latest run is meant."""
    if value is not None:
        monkeypatch.setenv("HAPPYCITY_SERVER", value)
    assert json_of(run, "show")["games"] == 12


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "runs/20261122-080000"),
        ("show", STORE),
        ("show", f"sqlite:///{STORE}"),
        ("show", "--store", STORE),
        ("show", "1", "--store", STORE),
        ("list", "--store", STORE),
        ("games", "runs/20261122-080000"),
        ("rate", STORE),
        ("rate", "runs/20261122-070000", "runs/20261122-080000"),
        ("compare", "runs/20261122-070000", "runs/20261122-080000"),
        ("export", STORE, "--format", "csv", "--out", "out"),
        ("report", "--store", STORE, "--out", "out"),
    ],
)
@pytest.mark.usefixtures("finished_run", "server_of_the_environment")
def test_what_the_command_line_names_wins_over_the_server_of_the_environment(
    run: Run, arguments: tuple[str, ...]
) -> None:
    """A run, a store or a file; the server is not even asked."""
    status, _, errors = run(*arguments)
    assert (status, "127.0.0.1:9" in errors) == (0, False), errors


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("show",), "no server answers at grpc://127.0.0.1:9"),
        (("show", "7"), "no server answers at grpc://127.0.0.1:9"),
        (("rate",), "no server answers at grpc://127.0.0.1:9"),
        (("list",), "no server answers at grpc://127.0.0.1:9"),
        (("run", "--bots", "random,greedy"), "no server answers at grpc://127.0.0.1:9"),
        (("show", ENDLESS), "9' is not the id of a tournament on grpc://127.0.0.1:9"),
        (("show", "nowhere"), "'nowhere' is not the id of a tournament on grpc://127.0.0.1:9"),
        (("show", "--server", "127.0.0.1:8"), "no server answers at 127.0.0.1:8"),
        (("show", "1", "--store", "none.sqlite"), "none.sqlite can't be opened: there is no such file"),
        (("list", "--store", "none.sqlite"), "none.sqlite can't be opened: there is no such file"),
    ],
)
@pytest.mark.usefixtures("finished_run", "server_of_the_environment")
def test_problems_name_what_was_meant(run: Run, arguments: tuple[str, ...], problem: str) -> None:
    """The server of the environment, a flag that replaces it, or the store that is named instead."""
    status, _, errors = run(*arguments)
    assert (status, problem in errors) == (2, True), errors


LEAGUES = {
    "away.toml": "server = '127.0.0.1:8'\n",
    "store.toml": "store = 'postgresql://x'\n",
    "nowhere.toml": "rounds = 3\n",
}


@pytest.mark.parametrize(
    ("file", "flags", "place"),
    [
        ("away.toml", {}, "127.0.0.1:8"),
        ("store.toml", {}, "postgresql://x"),
        ("nowhere.toml", {}, "grpc://127.0.0.1:9"),
        (None, {}, "grpc://127.0.0.1:9"),
        ("away.toml", {"server": "127.0.0.1:7"}, "127.0.0.1:7"),
        ("nowhere.toml", {"store": "postgresql://y"}, "postgresql://y"),
        (None, {"store": "postgresql://y", "server": None}, "postgresql://y"),
    ],
)
@pytest.mark.usefixtures("server_of_the_environment")
def test_a_tournament_is_played_where_flags_or_file_say(
    tmp_path: Path, file: str | None, flags: dict[str, object], place: str
) -> None:
    """On the server or with the store that they name; if they name neither, on that of the environment."""
    if file is not None:
        (tmp_path / file).write_text(LEAGUES[file])
    settings = load_play(RunSettings, flags, file=None if file is None else tmp_path / file)
    assert [settings.server, settings.store].count(None) == 1
    assert (settings.server or settings.store) == place


@pytest.mark.parametrize("command", [("show",), ("list",), ("run",), ("resume",)])
@pytest.mark.parametrize("address", ["arena.example", "https://arena.example:443"])
def test_an_address_that_is_none_costs_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], address: str
) -> None:
    """The line begins with the variable or the flag, whichever it was."""
    expected = f"'{address}' is not an address such as grpc://127.0.0.1:50051 or grpcs://arena.example:443\n"
    assert run(*command, "--server", address)[::2] == (2, f"error: --server: {expected}")
    monkeypatch.setenv("HAPPYCITY_SERVER", address)
    assert run(*command)[::2] == (2, f"error: HAPPYCITY_SERVER: {expected}")


# What is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("show", "nowhere"), "nowhere: there is no such file or folder; there are: runs/"),
        (
            ("show", "runs/20261122-08000"),
            "there is no such file or folder; did you mean runs/20261122-080000?",
        ),
        (("games", "runs"), "runs: no record in it"),
        (("show", "7"), "7: add --server or --store to say where the tournament with this id is"),
        (("show", HUGE, "--store", STORE), f"'{HUGE}' is not the id of a tournament in the store"),
        (("show", ENDLESS, "--store", STORE), "9' is not the id of a tournament in the store"),
        (("games", ENDLESS, "--store", STORE), "9' is not the id of a tournament in the store"),
        (("show", ENDLESS, "--server", "127.0.0.1:9"), "9' is not the id of a tournament on 127.0.0.1:9"),
        (("show", "one", "--server", "127.0.0.1:9"), "'one' is not the id of a tournament on 127.0.0.1:9"),
        (("show", HUGE, "--server", "127.0.0.1:9"), f"'{HUGE}' is not the id of a tournament on 127.0.0.1:9"),
        (("show", "--server", "127.0.0.1:9"), "no server answers at 127.0.0.1:9"),
        (
            ("show", "1", "--store", "x", "--server", "y:1"),
            "--store, --server: a server has a store of its own",
        ),
        (("list", "--store", "x", "--server", "y:1"), "--store, --server: a server has a store of its own"),
        (("rate", "--store", "x", "--server", "y:1"), "--store, --server: a server has a store of its own"),
        (("list", "--store", "none.sqlite"), "none.sqlite can't be opened: there is no such file"),
        (("list", "--store", "nosuch://x"), "nosuch://x"),
        (("show", STORE, "--store", "x"), f"--store: {STORE} is a store itself"),
        (("rate", STORE, "--store", "x"), f"--store: {STORE} is read without a store; name one of them"),
        (("rate", "1", "--tournament", "2", "--store", STORE), "1, --tournament: name the tournament by one"),
        (
            ("rate", "--tournament", HUGE, "--store", STORE),
            f"'{HUGE}' is not the id of a tournament in the store",
        ),
        (("rate", "nowhere"), "nowhere: there is no such file or folder"),
        (("show", "empty"), "empty/run.json can't be read as a run: "),
        (("resume", "runs"), "runs is not the folder of a run: there is no runs/run.json"),
        (
            ("resume", "--json", "none/x.json"),
            "--json: none/x.json can't be written: No such file or directory",
        ),
        (("delete",), "WHICH: it is missing"),
        (("withdraw", "a", "b", "c"), "name one tournament and one bot"),
        (("add", "--join", "my bot"), "--join: bot name 'my bot': use 1-64 letters, digits or"),
    ],
)
@pytest.mark.usefixtures("finished_run")
def test_bad_arguments_cost_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], problem: str
) -> None:
    """The line says what is wrong, and where."""
    monkeypatch.setattr("happycity_tournament.arena.connection.CONNECT_SECONDS", 0.1)
    Path("empty").mkdir()
    Path("empty/run.json").touch()
    status, output, errors = run(*arguments)
    assert (status, output) == (2, "")
    assert problem in errors
    assert errors.count("\n") == 1


def test_without_runs_there_is_nothing_to_show(run: Run) -> None:
    """The line says how to start one; `list` says that there are none."""
    status, _, errors = run("show")
    assert (status, errors) == (
        2,
        "error: there is no run in runs/; name a tournament, or start one with: tournament run\n",
    )
    assert run("list") == (0, "no runs\n", "")
    assert json_of(run, "list") == []


def test_a_game_without_a_record_is_refused(tmp_path: Path) -> None:
    """Whatever a command would do with the game, it has nothing to go by."""
    url = League(("a", "b"), seats=2, rounds=1, with_records=False).store(tmp_path / "games.sqlite")
    with pytest.raises(ConfigError, match="game 1 was stored without a record"):
        find_game(url, "1", ConnectionSettings(), None)
