"""`tournament list`, `show`, `stop`, `disqualify` and `delete`: what they do and print."""

from pathlib import Path

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import START
from tests.tournament.runs import LEAGUE, make_run

from happycity_tournament.client.run_folder import Run as RunFolder
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.storage.store import Store

BOTS = ", ".join(LEAGUE.bots)
STORE = "runs/20261122-080000/games.sqlite"
LISTED = {"tournament", "title", "state", "games", "games_total", "bots"}
LISTED |= {"disqualified", "created", "remarks"}


@pytest.fixture(params=["folder", "server", "stopped folder", "stopped store"])
def address(request: pytest.FixtureRequest, run: Run) -> str:
    """Return the address of a tournament with five finished games, wherever it is."""
    if "stopped" in request.param:
        opened = make_run("20261122-080000", state=TournamentState.INTERRUPTED, games=5)
        return str(opened.folder) if "folder" in request.param else f"{STORE}#1"
    opened, server = request.getfixturevalue("open_run")
    return str(opened.folder) if request.param == "folder" else f"grpc://{server}#1"


@pytest.mark.level(2)
def test_a_tournament_is_stopped_and_deleted(run: Run, address: str) -> None:
    """Each command does and answers the same, on a server and without one; one that is named twice too."""
    disqualified = json_of(run, "disqualify", "bot-3", address)
    assert (set(disqualified), disqualified["disqualified"]) == (LISTED, ["bot-3"])
    status, output, errors = run("disqualify", "bot3", address)
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert "bot: 'bot3' doesn't take part; did you mean bot-3?" in errors

    stopped = json_of(run, "stop", address)
    assert (set(stopped), stopped["state"], stopped["games"]) == (LISTED, "stopped", 5)
    status, output, errors = run("stop", address)
    assert (status, output) == (0, "tournament 1: 5 of 12 games, stopped\n")
    named = address.replace(STORE, f"sqlite:///{STORE}")
    assert errors.splitlines()[-1] == f"continue with: tournament resume {named}"

    shown = json_of(run, "show", address)
    assert shown["config"]["seed"] == 7
    assert (shown["state"], shown["games"]) == ("stopped", 5)
    assert {line["bot"]: line["disqualified"] for line in shown["standings"]} == {
        bot: bot == "bot-3" for bot in LEAGUE.bots
    }
    assert run("delete", address) == (0, "deleted: tournament 1 with 5 games\n", "")
    assert run("show", address)[0] == 2


def test_a_finished_tournament_stays_as_it_is(run: Run, finished_run: RunFolder) -> None:
    assert json_of(run, "stop")["state"] == "finished"
    status, _, errors = run("disqualify", "bot-1")
    assert (status, errors) == (2, "error: the tournament is finished: no game is left to forfeit\n")
    assert finished_run.folder.exists()


@pytest.mark.level(2)
def test_a_deleted_run_leaves_other_things_alone(run: Run, finished_run: RunFolder) -> None:
    """What the run has made is removed; the folder and the store stay if anything else is in them."""
    for name in ("server.log", "bots.log", "notes.txt"):
        (finished_run.folder / name).touch()
    with Store.create(f"sqlite:///{STORE}") as store:
        LEAGUE.add_to(store)
    assert run("delete", finished_run.folder)[0] == 0
    assert json_of(run, "show", STORE)["tournament"] == 2
    assert run("delete", STORE)[0] == 0
    assert {path.name for path in finished_run.folder.iterdir()} >= {"notes.txt"}
    assert not (finished_run.folder / "server.log").exists()
    assert run("delete", "runs/20261122-070000")[0] == 0
    assert not Path("runs/20261122-070000").exists()


def test_runs_are_listed_newest_first(run: Run, finished_run: RunFolder) -> None:
    for number in (2, 10):
        make_run(f"20261122-080000-{number}", created_at=START + number)
    broken = Path("runs/20261122-060000")
    broken.mkdir()
    (broken / "run.json").write_text("{}")
    listed = json_of(run, "list")
    names = ["060000", "080000-10", "080000-2", "080000", "070000"]
    assert [Path(entry["run"]).name for entry in listed] == [f"20261122-{name}" for name in names]
    assert [entry["state"] for entry in listed] == [None, "finished", "finished", "finished", "stopped"]
    assert set(listed[1]) == LISTED | {"run"}
    assert "can't be read as a run" in listed[0]["remarks"][0]
    status, output, _ = run("list")
    assert status == 0
    for text in (str(finished_run.folder), "12 of 12", "4 of 12", BOTS, "can't be read as a run"):
        assert text in output


def test_tournaments_of_a_store_are_listed(run: Run, tmp_path: Path) -> None:
    """Newest first; what was being played is interrupted unless a server has the store."""
    url = f"sqlite:///{tmp_path}/games.sqlite"
    with Store.create(url) as store:
        for state in (TournamentState.RUNNING, TournamentState.STOPPED):
            LEAGUE.add_to(store, state=state, games=3)
        store.create_tournament({"bots": ["ann"]}, games_total=7, created_at=0.0)
        listed = json_of(run, "list", "games.sqlite")
        assert [(entry["tournament"], entry["state"]) for entry in listed] == [
            (3, "unreadable"),
            (2, "stopped"),
            (1, "interrupted"),
        ]
        assert all(set(entry) == LISTED for entry in listed)
        assert "can't be read" in listed[0]["remarks"][0]
        assert listed[0]["created"] == "1970-01-01T00:00:00+00:00"
        store.claim()
        assert json_of(run, "list", url)[2]["state"] == "running"
    status, _, errors = run("show", f"{url}#3")
    assert (status, "can't be read" in errors, errors.count("\n")) == (2, True, 1)
    assert run("delete", f"{url}#3")[:2] == (0, "deleted: tournament 3 with 0 games\n")


def test_tournaments_of_a_server_are_listed(run: Run, open_run: tuple[RunFolder, str]) -> None:
    _, address = open_run
    (listed,) = json_of(run, "list", f"grpc://{address}")
    assert (listed["state"], listed["games"], listed["bots"]) == ("waiting", 5, list(LEAGUE.bots))
    (running,) = json_of(run, "list")
    assert (running["state"], running["games"]) == ("running", 5)
    assert BOTS in run("list", f"grpc://{address}")[1]


def test_a_tournament_is_shown_with_its_ratings(run: Run, finished_run: RunFolder) -> None:
    status, output, _ = run("show")
    assert status == 0
    for text in (
        "tournament 1, finished, created 20",
        f"bots: {BOTS}",
        "game: 4 seats, family rules, scoring by product",
        "12 of 12 games (3 rounds, 4 seats, seed 7), 480 decisions in ",
        "above next: how much higher a bot is rated than the one below it",
    ):
        assert text in output
    shown = json_of(run, "show")
    config = TournamentConfig.of(shown["config"])
    assert (config.bots, config.seed) == (LEAGUE.bots, 7)
    assert [line["rank"] for line in shown["standings"]] == [1, 2, 3, 4]


def test_an_interrupted_tournament_is_shown(run: Run) -> None:
    """Its seed is hidden: the other deals will still be played. Without games it has no ratings."""
    make_run("20261122-080000", state=TournamentState.INTERRUPTED, games=5)
    assert json_of(run, "show")["config"]["seed"] is None
    assert "seed hidden until the end" in run("show")[1]
    make_run("20261122-090000", state=TournamentState.WAITING, games=0)
    shown = json_of(run, "show")
    assert shown["rating"] is None
    assert [line["games"] for line in shown["standings"]] == [0] * 4
    assert "interrupted: 0 of 12 games" in run("show")[1]
