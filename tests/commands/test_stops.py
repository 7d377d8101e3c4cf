"""Runs that end early: by signals, by kills, and because their store is gone."""

import json
import os
import resource
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.commands import programs
from tests.commands.programs import ALL_GAMES, Gate, Program, Start, command_of

from happycity_runtime.transport import Access
from happycity_tournament.client.connection import ServerError, call_server
from happycity_tournament.storage.store import Store

SOME_GAMES = 6
NESTED = f"nested=sh -c 'sleep 1000 & exec {command_of('first_move').partition('=')[2]}'"
"""A bot that starts another process."""
RUN = (
    "run", "--rounds", "100", "--seats", "2", "--bots", "", "--bot", command_of("gated"), "--bot", NESTED,
    "--decision-seconds", "120", "--json",
)  # fmt: skip

pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs Linux's /proc")


def begin(start: Start, gate: Gate) -> tuple[Program, Path]:
    """Start a run of which some games are stored and the others wait; return it and its folder.

    Its parent ignores signals.
    """
    gate.let_through(SOME_GAMES)
    run = start("happycity_tournament", *RUN, shell='trap "" INT TERM; exec "$@"', stderr=subprocess.PIPE)
    programs.wait_for_line(run, "Ctrl-C stops it")
    folder = programs.own_folder()
    programs.follow(programs.own_server(folder), until_games=SOME_GAMES)
    return run, folder


def test_a_signal_stops_a_run_in_good_order(start: Start, gate: Gate) -> None:
    run, folder = begin(start, gate)
    with pytest.raises(ServerError, match="this server needs a token"):  # bots have theirs, strangers none
        call_server(replace(programs.own_server(folder), access=Access()), lambda server: server.stop(1))
    run.send_signal(signal.SIGINT)
    programs.wait_for_line(run, " to be finished in at most ")
    gate.let_through(ALL_GAMES)
    output, errors = run.communicate()
    assert run.returncode == 130
    assert errors.splitlines()[-1] == f"continue with: tournament resume {folder}"
    assert "stopped: " in errors
    result = json.loads(output)
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        assert store.progress(1).games == result["games"]
    assert SOME_GAMES <= result["games"] < 200  # the others have 3 s, which a busy machine may need
    assert programs.processes() == {}
    assert not (folder / "server.json").exists()


def test_a_second_signal_breaks_a_run_off(start: Start, gate: Gate) -> None:
    """Running games are not waited for; one line says where the others are, and no process is left."""
    run, folder = begin(start, gate)
    run.send_signal(signal.SIGTERM)
    programs.wait_for_line(run, " to be finished in at most ")
    run.send_signal(signal.SIGTERM)
    output, errors = run.communicate()
    assert (run.returncode, output) == (130, "")
    assert errors.splitlines()[-1] == (
        f"aborted; finished games are in sqlite:///{folder}/games.sqlite; "
        f"continue with: tournament resume {folder}"
    )
    assert programs.processes() == {}


def kill_server(run: Program, store: Path) -> None:
    os.kill(programs.server_of(run), signal.SIGKILL)


def delete_store(run: Program, store: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        store.with_name(store.name + suffix).unlink()


def forbid_growth(run: Program, store: Path) -> None:
    """Let the server write no longer files than there are: for it that is like a full disk."""
    resource.prlimit(programs.server_of(run), resource.RLIMIT_FSIZE, (65_536, 65_536))  # its log stays below


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (kill_server, "the server ended with signal SIGKILL: there is no error in its output"),
        (delete_store, "the claim on it is lost"),
        (forbid_growth, "can't be read or written; check the disk"),
    ],
)
def test_a_run_that_can_not_store_its_games_ends_with_the_reason(
    start: Start, gate: Gate, damage: Callable[[Program, Path], None], reason: str
) -> None:
    """It ends at once with an error in one line and never says that they are stored; no process is left."""
    run, folder = begin(start, gate)
    damage(run, folder / "games.sqlite")
    gate.let_through(SOME_GAMES)
    output, errors = run.communicate()
    assert (run.returncode, output) == (2, "")
    (line,) = (line for line in errors.splitlines() if line.startswith("error: "))
    assert reason in line
    assert line.endswith(f"continue with: tournament resume {folder}") is (damage is not delete_store)
    assert programs.processes() == {}


def test_all_bots_are_stopped_at_once() -> None:
    """A bot that takes its time keeps no other one waiting."""
    os.mkfifo("end")
    _, _, program = command_of("first_move").partition("=")
    first = f"first=sh -c 'trap \"echo ended > end\" TERM; {program} & wait'"
    last = f"last=sh -c 'trap \"cat end > seen\" TERM; {program} & wait'"
    programs.played("run", "--rounds", "1", "--seats", "2", "--bots", "", "--bot", first, "--bot", last)
    assert Path("seen").read_text() == "ended\n"
