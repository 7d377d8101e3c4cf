"""`tournament list`, `show`, `stop`, `add`, `withdraw` and `delete`: what they do and print."""

from __future__ import annotations

import json
from asyncio import CancelledError
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tournament.conftest import Run
from tests.tournament.runs import LEAGUE, make_run

from happycity_tournament.arena.run_folder import Run as RunFolder
from happycity_tournament.bots.lineup import BotEntry
from happycity_tournament.bots.processes import ProcessError
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.running.snapshot import Snapshot
from happycity_tournament.storage import Store

BOTS = ", ".join(LEAGUE.bots)
STORE = "runs/20261122-080000/games.sqlite"
LISTED = {
    "tournament",
    "title",
    "state",
    "games",
    "games_total",
    "bots",
    "participations",
    "created",
    "remarks",
}


def json_of(run: Run, *arguments: object) -> Any:
    status, output, errors = run(*arguments, "--json")
    assert status == 0, errors
    return json.loads(output)


# Every kind of place -------------------------------------------------------------------------------------


@pytest.fixture(params=["folder", "server", "stopped folder", "stopped store"])
def which(request: pytest.FixtureRequest, run: Run) -> tuple[str, ...]:
    """Return the arguments for a tournament with five finished games, wherever it is."""
    if "stopped" in request.param:
        opened = make_run("20261122-080000", state=TournamentState.INTERRUPTED, games=5)
        return (str(opened.folder),) if "folder" in request.param else ("1", "--store", STORE)
    opened, address = request.getfixturevalue("open_run")
    return (str(opened.folder),) if request.param == "folder" else ("1", "--server", address)


def test_a_tournament_is_changed_stopped_and_deleted(run: Run, which: tuple[str, ...]) -> None:
    """Each command does and answers the same, on a server and without one."""
    added = json_of(run, "add", *which, "--join", "guest")
    assert set(added) == LISTED
    assert added["bots"] == [*LEAGUE.bots, "guest"]
    assert added["participations"] == [{"bot": "guest", "first_round": 3, "last_round": None}]
    status, output, _ = run("add", *which, "--join", "other", "--join", "third")
    assert status == 0
    assert output.splitlines()[1:] == [f"{bot} takes part from round 3 on" for bot in ("other", "third")]

    withdrawn = json_of(run, "withdraw", *which[:1], "third", *which[1:])
    assert {"bot": "third", "first_round": 3, "last_round": 2} in withdrawn["participations"]
    status, output, _ = run("withdraw", *which[:1], "bot-3", *which[1:])
    assert (status, output.splitlines()[1:]) == (0, ["bot-3 was withdrawn after round 2"])

    stopped = json_of(run, "stop", *which)
    assert (set(stopped), stopped["state"], stopped["games"]) == (LISTED, "stopped", 5)
    status, output, errors = run("stop", *which)
    assert (status, output) == (0, "tournament 1: 5 of 12 games, stopped\n")
    resumed = "1 --server ADDRESS" if "--store" in which else " ".join(which)
    assert errors.splitlines()[-1] == f"continue with: tournament resume {resumed}"

    shown = json_of(run, "show", *which)
    assert shown["config"]["seed"] == 7
    assert (shown["state"], shown["games"]) == ("stopped", 5)
    rated = {line["bot"] for line in shown["final"]["ratings"]}
    assert {line["bot"] for line in shown["standings"]} == rated == {*LEAGUE.bots, "guest", "other", "third"}
    assert run("delete", *which) == (0, "deleted: tournament 1 with 5 games\n", "")
    assert run("show", *which)[0] == 2


def test_refusals_cost_one_line(run: Run, which: tuple[str, ...]) -> None:
    """They are the same on a server and without one, and change nothing."""
    for arguments, problem in {
        ("add", *which, "--join", "bot-1"): "bots: 'bot-1' takes part already",
        ("add", *which, "--join", "a", "--join", "a"): "bots: 'a' is named more than once",
        ("withdraw", *which[:1], "nobody", *which[1:]): "bot: 'nobody' doesn't take part",
        ("withdraw", *which[:1], "bot-0", *which[1:]): "too few for a table of 4 seats",
    }.items():
        status, output, errors = run(*arguments)
        assert (status, output, errors.count("\n")) == (2, "", 1), errors
        assert problem in errors
    assert json_of(run, "show", *which)["config"]["participations"] == []


# Runs ----------------------------------------------------------------------------------------------------


def test_a_run_keeps_who_is_to_be_started(run: Run) -> None:
    """Bots that join a run that nobody plays are started when it is resumed, those that left are not."""
    opened = make_run("20261122-080000", state=TournamentState.STOPPED, games=5)
    assert run("add", "--bots", "greedy", "--bot", "mine=python bot.py")[0] == 0
    assert run("withdraw", "bot-2")[0] == 0
    before = opened.lineup.without_bot("bot-2")
    added = (BotEntry(name="greedy", builtin="greedy"), BotEntry(name="mine", command="python bot.py"))
    assert RunFolder.load(opened.folder).lineup == before.with_bots(added)


def test_a_bot_of_a_store_is_started_by_nobody(run: Run) -> None:
    """A store alone doesn't say what to start when its tournament is resumed."""
    make_run("20261122-080000", state=TournamentState.STOPPED, games=5)
    status, _, errors = run("add", "1", "--store", STORE, "--bots", "greedy")
    assert status == 0
    assert "no bot was started" in errors


def test_a_finished_tournament_stays_as_it_is(run: Run, finished_run: RunFolder) -> None:
    """Stopping it is no error, and nobody can join it any more."""
    assert json_of(run, "stop")["state"] == "finished"
    status, _, errors = run("add", "--join", "guest")
    assert (status, errors) == (2, "error: tournament 1 is finished\n")
    assert RunFolder.load(finished_run.folder).lineup.names == LEAGUE.bots


def test_a_deleted_run_leaves_other_files_alone(run: Run, finished_run: RunFolder) -> None:
    """What the run has made is removed, and its folder only if nothing else is in it."""
    for name in ("server.log", "bots.log", "notes.txt"):
        (finished_run.folder / name).touch()
    assert run("delete", finished_run.folder)[0] == 0
    assert [path.name for path in finished_run.folder.iterdir()] == ["notes.txt"]
    assert run("delete", "runs/20261122-070000")[0] == 0
    assert not Path("runs/20261122-070000").exists()


def test_a_deleted_run_leaves_other_tournaments_of_its_store(run: Run, finished_run: RunFolder) -> None:
    """The store stays as long as it holds anything."""
    with Store.create(f"sqlite:///{STORE}") as store:
        LEAGUE.add_to(store)
    assert run("delete", finished_run.folder)[0] == 0
    assert [path.name for path in finished_run.folder.glob("*.sqlite")] == ["games.sqlite"]
    assert json_of(run, "show", STORE)["tournament"] == 2


# Lists ---------------------------------------------------------------------------------------------------


def test_runs_are_listed_newest_first(run: Run, finished_run: RunFolder) -> None:
    """With state, games and bots; a run that can't be read has its problem there."""
    for number in (2, 10):  # numbers in names count
        make_run(f"20261122-080000-{number}")
    broken = Path("runs/20261122-060000")
    broken.mkdir()
    (broken / "run.json").write_text("{}")
    listed = json_of(run, "list")
    names = ["080000-10", "080000-2", "080000", "070000", "060000"]
    assert [Path(entry["run"]).name for entry in listed] == [f"20261122-{name}" for name in names]
    assert [entry["state"] for entry in listed] == ["finished", "finished", "finished", "stopped", None]
    assert set(listed[0]) == LISTED | {"run"}
    assert "can't be read as a run" in listed[-1]["remarks"][0]
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
        listed = json_of(run, "list", "--store", "games.sqlite")
        assert [(entry["tournament"], entry["state"]) for entry in listed] == [
            (3, "unreadable"),
            (2, "stopped"),
            (1, "interrupted"),
        ]
        assert all(set(entry) == LISTED for entry in listed)
        assert "can't be read" in listed[0]["remarks"][0]
        assert listed[0]["created"] == "1970-01-01T00:00:00+00:00"
        store.claim()
        assert json_of(run, "list", "--store", url)[2]["state"] == "running"
    status, _, errors = run("show", "3", "--store", url)
    assert (status, "can't be read" in errors, errors.count("\n")) == (2, True, 1)
    assert run("delete", "3", "--store", url)[:2] == (0, "deleted: tournament 3 with 0 games\n")


def test_tournaments_of_a_server_are_listed(run: Run, open_run: tuple[RunFolder, str]) -> None:
    """A run in progress is listed from its store, a tournament on a server from there."""
    _, address = open_run
    (listed,) = json_of(run, "list", "--server", address)
    assert (listed["state"], listed["games"], listed["bots"]) == ("waiting", 5, list(LEAGUE.bots))
    (running,) = json_of(run, "list")
    assert (running["state"], running["games"]) == ("running", 5)
    assert BOTS in run("list", "--server", address)[1]


# Show ----------------------------------------------------------------------------------------------------


def test_a_tournament_is_shown_with_its_ratings(run: Run, finished_run: RunFolder) -> None:
    """A person sees what was played, by which bots, and with what result."""
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
    assert (config.bots, config.json()) == (LEAGUE.bots, shown["config"])
    assert [line["rank"] for line in shown["standings"]] == [1, 2, 3, 4]


def test_a_seed_is_hidden_while_its_deals_are_in_play(run: Run) -> None:
    """The deals of an interrupted tournament will still be played."""
    make_run("20261122-080000", state=TournamentState.INTERRUPTED, games=5)
    assert json_of(run, "show")["config"]["seed"] is None
    assert "seed hidden until the end" in run("show")[1]


def test_a_tournament_without_games_has_no_ratings(run: Run) -> None:
    """Every bot is listed all the same."""
    make_run("20261122-080000", state=TournamentState.WAITING, games=0)
    shown = json_of(run, "show")
    assert shown["final"] is None
    assert [line["games"] for line in shown["standings"]] == [0] * 4
    assert "interrupted: 0 of 12 games" in run("show")[1]


# Bots that are started -----------------------------------------------------------------------------------


def test_the_end_of_a_bot_is_reported(run: Run, open_run: tuple[RunFolder, str]) -> None:
    """A program that ends instead of playing costs a line with its last one."""
    opened, _ = open_run
    status, _, errors = run("add", "--bot", "mine=sh -c 'echo no strategy >&2; exit 7'")
    assert status == 2
    line = f"error: bot mine ended with status 7: no strategy (output: {opened.folder}/bot-mine.log)"
    assert errors.splitlines()[-1].startswith(line)


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ProcessError("bot mine ended"), 2, "error: bot mine ended; "),
        (CancelledError(), 130, "ended: mine; "),
    ],
)
@pytest.mark.parametrize("joins", [True, False])
def test_the_end_of_add_says_whether_the_bot_takes_part(
    run: Run,
    open_run: tuple[RunFolder, str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    text: str,
    *,
    joins: bool,
) -> None:
    """A bot that has joined has to be withdrawn, or its seats are forfeited; it is started by `resume`."""
    opened, _ = open_run

    async def join_tournament(*_: object, joined: Callable[[], None], **__: object) -> Snapshot:
        if joins:
            joined()
        raise error

    monkeypatch.setattr("happycity_tournament.cli.manage.join_tournament", join_tournament)
    ended, _, errors = run("add", "--bot", "mine=sh")
    last = errors.splitlines()[-1]
    assert ended == status
    assert (f"tournament withdraw {opened.folder} mine" in last) is joins
    assert last.startswith(text) or not joins
    assert ("mine" in RunFolder.load(opened.folder).lineup.names) is joins
