"""Tournaments that ended early and go on, and the commands that look after them: whole programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.commands.programs import (
    ALL_GAMES,
    DEADLINE,
    GATED,
    Program,
    Records,
    Start,
    children,
    follow,
    kill,
    let_through,
    records,
    serve,
    start_gated,
    wait_for,
    wait_for_state,
)

from happycity.records import Json
from happycity_tournament.store import Store

GAMES = 120
SOME_GAMES = 20
CONCURRENCY = 4
RUN = (
    "run", "--rounds", str(GAMES // 3), "--seats", "3", "--seed", "11", "--concurrency", str(CONCURRENCY),
    "--connect-time", "120", "--decision-time", "120",
)  # fmt: skip
BOTS = ("--bots", "random,random2=random", "--bot", GATED)


@dataclass(frozen=True)
class Ended:
    """What is left of a tournament."""

    records: Records
    standings: list[Json]
    final: Json


def ended(folder: Path, url: str) -> Ended:
    told = json.loads((folder / "result.json").read_text())
    assert (told["state"], told["games"], told["games_voided"]) == ("finished", GAMES, 0)
    return Ended(records(url, told["tournament"]), told["standings"], told["final"])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Play the tournament in one go."""
    folder = tmp_path_factory.mktemp("undisturbed")
    let_through(folder, ALL_GAMES)
    tournament(folder, *RUN, *BOTS, "--store", "sqlite:///games.sqlite", "--json", "result.json")
    return ended(folder, f"sqlite:///{folder}/games.sqlite")


def tournament(folder: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command of `tournament` to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "happycity_tournament", *arguments],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def begin(start: Start, folder: Path, *options: str) -> tuple[Program, Path]:
    """Start a run and wait until some of its games are finished; return it and its folder.

    It begins no more than a few others until all games are let through.
    """
    let_through(folder, SOME_GAMES + CONCURRENCY)
    run = start("happycity_tournament", *RUN, *BOTS, *options, stderr=subprocess.PIPE)
    assert run.stderr is not None
    assert run.stderr.readline()  # the first progress: the tournament is there
    (own,) = folder.glob("runs/*")
    follow(json.loads((own / "plan.json").read_text())["address"], 1, until_games=SOME_GAMES)
    return run, own


def test_a_run_that_was_stopped_is_resumed(start: Start, tmp_path: Path, undisturbed: Ended) -> None:
    """Ctrl-C says how to go on; then exactly what is missing is played, and the end is the same."""
    run, folder = begin(start, tmp_path)
    url = f"sqlite:///{folder}/games.sqlite"
    run.send_signal(signal.SIGINT)
    wait_for_state(url, 1, "stopped")
    let_through(tmp_path, ALL_GAMES)  # so those that run can end; no other begins any more
    _, errors = run.communicate(timeout=DEADLINE)
    assert run.returncode == 130
    command = f"tournament resume {folder.relative_to(tmp_path)}"
    assert errors.splitlines()[-1] == f"go on with: {command}"
    kept = records(url, 1)
    assert SOME_GAMES <= len(kept) < GAMES

    shown = json.loads(tournament(tmp_path, "show", str(folder), "--json").stdout)
    assert (shown["state"], shown["games"], shown["games_total"]) == ("stopped", len(kept), GAMES)
    done = tournament(tmp_path, *command.split()[1:], "--json", "result.json")
    assert f"{GAMES} of {GAMES} games" in done.stdout
    assert undisturbed.final["model"] in done.stdout
    assert ended(tmp_path, url) == undisturbed
    assert undisturbed.records.items() >= kept.items()

    before = (folder / "bot-random-random2.log").stat().st_mtime_ns
    again = tournament(tmp_path, *command.split()[1:], "--json", "-")
    assert json.loads(again.stdout)["standings"] == undisturbed.standings
    assert (folder / "bot-random-random2.log").stat().st_mtime_ns == before  # nobody was started


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="finds the run's bots as Linux has them")
def test_a_run_that_was_killed_is_resumed(start: Start, tmp_path: Path, undisturbed: Ended) -> None:
    """Its server ends by itself; whoever resumes at once waits for that. The folder may have been moved."""
    run, folder = begin(start, tmp_path)
    processes = children(run)
    assert len(processes) == 3
    handles = {child: os.pidfd_open(child) for child in processes}
    (server,) = (child for child, command in processes.items() if "serve" in command)
    run.kill()
    run.wait(DEADLINE)
    moved = folder.rename(tmp_path / "moved")
    let_through(tmp_path, ALL_GAMES)
    again = start(
        "happycity_tournament", "resume", str(moved), "--json", "result.json", stderr=subprocess.PIPE
    )
    wait_for(handles.pop(server))
    for handle in handles.values():  # its bots would look for it for a minute
        kill(handle)
    _, errors = again.communicate(timeout=DEADLINE)
    assert again.returncode == 0, errors
    assert ended(tmp_path, f"sqlite:///{moved}/games.sqlite") == undisturbed


def test_a_server_goes_on_with_a_tournament(start: Start, tmp_path: Path, undisturbed: Ended) -> None:
    """On a running server a tournament is listed, shown, stopped and resumed by its id."""
    let_through(tmp_path, SOME_GAMES + CONCURRENCY)
    _, address = serve(start, "sqlite:///games.sqlite")
    run = start(
        "happycity_tournament", *RUN, "--server", address, "--bots", "",
        "--join", "random", "--join", "random2", "--join", "gated", stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stderr is not None
    assert run.stderr.readline()
    start("happycity", "bot", "random", "random2=random", "--server", address)
    start_gated(start, address)
    follow(address, 1, until_games=SOME_GAMES)
    at = ("--server", address)

    stop = start("happycity_tournament", "stop", "1", *at, "--json")
    wait_for_state(f"sqlite:///{tmp_path}/games.sqlite", 1, "stopped")
    let_through(tmp_path, ALL_GAMES)  # so those that run can end; no other begins any more
    output, _ = stop.communicate(timeout=DEADLINE)
    assert stop.returncode == 0
    stopped = json.loads(output)
    assert (stopped["tournament"], stopped["state"]) == (1, "stopped")
    assert SOME_GAMES <= stopped["games"] < GAMES
    assert run.wait(DEADLINE) == 130  # whoever follows it is told
    (listed,) = json.loads(tournament(tmp_path, "list", *at, "--json").stdout)
    assert listed == stopped
    offline = json.loads(tournament(tmp_path, "list", "--store", "games.sqlite", "--json").stdout)
    assert offline == [listed]
    shown = json.loads(tournament(tmp_path, "show", "1", *at, "--json").stdout)
    stored = json.loads(tournament(tmp_path, "show", "1", "--store", "games.sqlite", "--json").stdout)
    assert shown == stored
    assert len(shown["final"]["ratings"]) == 3
    assert shown["config"]["seed"] == 11

    tournament(tmp_path, "resume", "1", *at, "--json", "result.json")
    assert ended(tmp_path, f"sqlite:///{tmp_path}/games.sqlite") == undisturbed
    done = tournament(tmp_path, "stop", "1", *at)
    assert done.stdout == f"tournament 1: {GAMES} of {GAMES} games, finished\n"


def test_others_of_the_same_store_are_left_alone(tmp_path: Path) -> None:
    """A run on a store with an unfinished tournament plays its own, and the other one waits for its bots."""
    store = ("--store", "sqlite:///games.sqlite")
    run = ("run", "--rounds", "1", "--bots", "random,random2=random", *store)
    tournament(tmp_path, *run)
    with Store(f"sqlite:///{tmp_path}/games.sqlite") as games:
        stored = games.tournament(1)
        assert stored is not None
        games.create_tournament({**stored.config, "bots": ["absent", "away"]}, 0.0)
    tournament(tmp_path, *run)
    listed = json.loads(tournament(tmp_path, "list", *store, "--json").stdout)
    assert [(one["tournament"], one["state"], one["games"]) for one in listed] == [
        (3, "finished", 2), (2, "interrupted", 0), (1, "finished", 2)
    ]  # fmt: skip


def test_no_secret_is_in_a_plan(start: Start, tmp_path: Path) -> None:
    """Neither the token nor a password is kept."""
    _, address = serve(start, "sqlite:///games.sqlite", listen="127.0.0.1:0")
    options = ("--rounds", "1", "--bots", "random,random2=random", "--server", address, "--token", "hc_x")
    tournament(tmp_path, "run", *options)
    (plan,) = tmp_path.glob("runs/*/plan.json")
    assert "hc_x" not in plan.read_text()
    told = json.loads(plan.read_text())
    assert (told["server"], told["store"], told["tournament"]) == (address, None, 1)
    shown = tournament(tmp_path, "show", str(plan.parent))
    assert "tournament 1, finished" in shown.stdout
