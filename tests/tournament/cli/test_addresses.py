"""Addresses of tournaments and games: the same for all commands."""

import os
from pathlib import Path

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import START, League
from tests.tournament.runs import LEAGUE

from happycity.errors import ConfigError
from happycity_runtime.transport import Access
from happycity_tournament.cli.addresses import find_game
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.client.run_folder import Run as RunFolder
from happycity_tournament.storage.store import Store

RUN = "runs/20261122-080000"
STORE = f"{RUN}/games.sqlite"


def files_below(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Return the files of a folder, with the times when they were changed."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("address", ["", "#1", RUN, f"{RUN}/#1", STORE, f"{STORE}#1", f"sqlite:///{STORE}#1"])
@pytest.mark.usefixtures("finished_run")
def test_a_tournament_that_is_not_played_is_found(run: Run, address: str) -> None:
    shown = json_of(run, "show", *((address,) if address else ()))
    assert (shown["tournament"], shown["state"], shown["games"]) == (1, "finished", 12)


@pytest.mark.usefixtures("finished_run")
def test_an_address_is_the_same_for_all_commands(run: Run, tmp_path: Path) -> None:
    """They claim, make and change nothing."""
    out = tmp_path / "out"
    with Store.existing(f"sqlite:///{STORE}") as store:
        before = files_below(tmp_path)
        assert json_of(run, "show", f"{RUN}/#1")["games"] == 12
        assert json_of(run, "rate", f"{RUN}/#1")["games"] == 12
        assert run("export", f"{RUN}/#1", "--format", "csv", "--out", out)[::2] == (0, f"{out}: 12 games\n")
        assert run("report", f"{RUN}/#1", "--out", out)[::2] == (0, f"{out}: a report of 12 games\n")
        out.unlink()
        assert not store.is_claimed()
        assert files_below(tmp_path) == before


@pytest.mark.parametrize("how", ["latest", "folder", "store", "number", "server"])
def test_a_tournament_in_progress_is_found(
    run: Run, open_run: tuple[RunFolder, str], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The server of the run is asked; only without it, and for reading, the store is."""
    monkeypatch.setattr("happycity_tournament.storage.claims.PATIENCE_SECONDS", 0.01)
    opened, server = open_run
    addresses: dict[str, tuple[object, ...]] = {
        "latest": (),
        "folder": (opened.folder,),
        "store": (STORE,),
        "number": (f"grpc://{server}#1",),
        "server": (f"grpc://{server}",),
    }
    shown = json_of(run, "show", *addresses[how])
    state = "running" if how == "store" else "waiting"  # as it was when it was interrupted
    assert (shown["tournament"], shown["state"], shown["games"]) == (1, state, 5)
    assert shown["missing_bots"] == ([] if how == "store" else list(LEAGUE.bots))
    if how == "store":
        status, _, errors = run("stop", *addresses[how])
        assert (status, "is in use by another server" in errors) == (2, True)


@pytest.mark.level(2)
def test_games_are_read_from_a_server(run: Run, open_run: tuple[RunFolder, str]) -> None:
    """A stopped tournament is exported and rated from there as from its store; a running one is secret."""
    opened, server = open_run
    status, _, errors = run("rate", f"grpc://{server}#1")
    assert (status, "its deals are secret until it is over" in errors) == (2, True)
    assert run("stop", opened.folder)[0] == 0
    for name, address in {"server": f"grpc://{server}", "store": STORE}.items():
        assert run("export", address, "--format", "records", "--out", name)[0] == 0
    assert Path("server").read_text() == Path("store").read_text()
    status, _, errors = run("report", f"grpc://{server}#1", "--out", "page.html")
    assert (status, errors) == (0, "page.html: a report of 5 games\n")
    rated = [{**json_of(run, "rate", at), "sources": []} for at in (f"grpc://{server}#1", STORE)]
    assert rated[0] == rated[1]


def test_a_moved_run_takes_its_store_along(run: Run, finished_run: RunFolder) -> None:
    """The store that a run makes is looked for in its folder, also if the folder's name has a #."""
    moved = finished_run.folder.rename("else#1")
    assert json_of(run, "show", moved)["games"] == 12


def test_a_run_on_a_server_is_found_there(run: Run, open_run: tuple[RunFolder, str]) -> None:
    opened, address = open_run
    folder = Path("runs/20261122-090000")
    folder.mkdir()
    remote = RemoteServer(address=address, access=Access())
    RunFolder(folder=folder, tournament_id=1, created_at=START + 1, venue=remote, lineup=opened.lineup).save()
    assert json_of(run, "show")["games"] == 5
    assert json_of(run, "list")[0]["remarks"] == [f"on {address}"]


def test_a_server_that_the_run_does_not_know_is_named(run: Run, open_run: tuple[RunFolder, str]) -> None:
    """Only its own users know where it is."""
    opened, _ = open_run
    os.rename(opened.folder / "server.json", "hidden")
    status, _, errors = run("show")
    os.rename("hidden", opened.folder / "server.json")
    assert status == 2
    assert "name the tournament on that server: grpc://HOST:PORT#1" in errors


def test_of_several_tournaments_the_latest_is_meant(run: Run, tmp_path: Path) -> None:
    """Ratings take all of them; what is deleted has to be named."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        for rounds in (1, 2):
            League(LEAGUE.bots, rounds=rounds).add_to(store)
    assert [json_of(run, "show", at)["games"] for at in ("games.sqlite", f"{url}#1")] == [8, 4]
    assert run("report", "games.sqlite", "--out", "x")[::2] == (0, "x: a report of 8 games\n")
    assert json_of(run, "rate", "games.sqlite")["games"] == 12
    status, _, errors = run("delete", "games.sqlite")
    assert (status, "has 2 tournaments; name one by its number: " in errors) == (2, True)


@pytest.fixture
def server_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the environment name a server at which nothing listens; return its address."""
    monkeypatch.setattr("happycity_tournament.client.connection.CONNECT_SECONDS", 0.1)
    monkeypatch.setenv("HAPPYCITY_SERVER", "grpc://127.0.0.1:9")
    return "grpc://127.0.0.1:9"


def test_commands_use_the_server_of_the_environment(
    run: Run, open_run: tuple[RunFolder, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, address = open_run
    monkeypatch.setenv("HAPPYCITY_SERVER", address)
    for arguments in ((), ("#1",)):
        assert json_of(run, "show", *arguments)["games"] == 5
    assert [entry["tournament"] for entry in json_of(run, "list")] == [1]
    monkeypatch.setenv("HAPPYCITY_SERVER", "")
    assert [entry["run"] for entry in json_of(run, "list")] == [RUN]


@pytest.mark.level(2)
@pytest.mark.usefixtures("finished_run", "server_of_the_environment")
def test_an_address_wins_over_the_server_of_the_environment(run: Run) -> None:
    for command in (
        f"show {RUN}",
        f"show sqlite:///{STORE}",
        f"list {STORE}",
        f"games {RUN}",
        f"rate runs/20261122-070000 {RUN}",
        f"compare runs/20261122-070000 {RUN}",
        f"export {STORE} --format csv --out out",
        f"report {STORE}#1 --out out",
    ):
        status, _, errors = run(*command.split())
        assert (status, "127.0.0.1:9" in errors) == (0, False), (command, errors)
    for command in ("show", "show #7", "rate", "list", "games", "run --bots random,greedy"):
        status, _, errors = run(*command.split())
        assert (status, "nothing listens on 127.0.0.1:9" in errors) == (2, True), (command, errors)


@pytest.mark.parametrize("command", ["show", "list", "run", "resume"])
def test_a_wrong_server_of_the_environment_costs_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for address in ("arena.example", "https://arena.example:443"):
        monkeypatch.setenv("HAPPYCITY_SERVER", address)
        problem = "is not an address such as grpc://127.0.0.1:50051 or grpcs://arena.example:443\n"
        assert run(command)[::2] == (2, f"error: HAPPYCITY_SERVER: '{address}' {problem}")


def test_a_number_may_have_any_length(run: Run) -> None:
    """Python refuses to read one of thousands of digits."""
    status, _, errors = run("games", f"games.sqlite#{'9' * 5000}")
    assert (status, errors.endswith("9' is not the number of a tournament\n")) == (2, True)


@pytest.mark.parametrize("word", ["a" * 300, "1" * 300, "a" * 5000, "a/" * 3000, f"{'a' * 300}#2", "a\0b"])
@pytest.mark.parametrize("command", ["show", "rate", "games", "list", "resume", "stop", "report --out x"])
def test_a_word_of_any_length_costs_one_short_line(run: Run, command: str, word: str) -> None:
    """No file system has room for it as a path."""
    status, output, errors = run(*command.split(), word)
    assert (status, output, errors.count("\n"), "too long" in errors) == (2, "", 1, False), errors
    assert len(errors) < 250
    with pytest.raises(ConfigError):
        find_game(word, None)


def test_without_runs_there_is_nothing_to_show(run: Run) -> None:
    missing = "error: there is no run in runs/; name a tournament, or start one with: tournament run\n"
    assert run("show") == (2, "", missing)
    assert run("list") == (0, "no runs\n", "")
    assert json_of(run, "list") == []


def test_a_game_without_a_record_is_refused(tmp_path: Path) -> None:
    """Whatever a command would do with the game, it has nothing to go by."""
    url = League(("a", "b"), seats=2, rounds=1, with_records=False).store(tmp_path / "games.sqlite")
    with pytest.raises(ConfigError, match="game 1 was stored without a record"):
        find_game(url, "1")
