"""The programs of a tournament, killed again and again: nothing is lost and nothing is played twice."""

import json
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import programs
from tests.commands.programs import ALL_GAMES, Gate, Program, Records, Start, Undisturbed

VICTIMS = ("run", "server", "both")

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes as Linux has it")


@pytest.mark.level(3)
@pytest.mark.parametrize(
    ("kills", "games", "at_once"), [(3, 24, 2), pytest.param(15, 300, 4, marks=pytest.mark.nightly)]
)
def test_results_do_not_depend_on_kills(
    start: Start,
    gate: Gate,
    url: str,
    undisturbed: Callable[[int], Undisturbed],
    kills: int,
    games: int,
    at_once: int,
) -> None:
    """After kills of run, server or both, each with a `resume`, all is as if nothing had happened."""
    expected = undisturbed(games)
    assert len(expected.records) == games
    spare = 3 * at_once
    """At least this many games are missing after a kill, however late it comes."""
    rng = random.Random("kills")
    kept: Records = {}
    history = []
    for kill in range(kills):
        more = rng.randint(0, (games - len(kept)) // (kills - kill) - spare)
        victim = VICTIMS[kill % len(VICTIMS)]
        arguments = ("resume",) if kill else programs.gated_run(games, at_once=at_once, store=url)
        run = start("happycity_tournament", *arguments, stderr=subprocess.PIPE)
        gate.close()
        gate.let_through(more + at_once)
        play_until_killed(run, gate, victim, games=len(kept) + more, at_once=at_once)
        history.append(f"{victim} after {len(kept) + more}")
        before, kept = kept, programs.records(url)
        assert len(before) + more <= len(kept) < games, history
        assert kept.items() >= before.items(), history
    gate.let_through(ALL_GAMES)
    killed = programs.played("resume")
    assert programs.records(url) == expected.records, history
    assert programs.standings_of(killed) == programs.standings_of(expected.result), history


def play_until_killed(run: Program, gate: Gate, victim: str, *, games: int, at_once: int) -> None:
    programs.wait_for_line(run, "Ctrl-C stops it")
    programs.follow(programs.own_server(programs.own_folder()), until_games=games)
    server = programs.server_of(run)
    handle = os.pidfd_open(server)
    if victim != "server":
        run.kill()
    if victim != "run":
        os.kill(server, signal.SIGKILL)
    gate.let_through(2 * at_once)  # a server that stops lets running games end
    _, errors = run.communicate()
    assert run.returncode == (2 if victim == "server" else -signal.SIGKILL), errors
    select.select([handle], [], [])  # without its run a server stops by itself
    os.close(handle)
    programs.kill_processes()


ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
def test_a_ladder_loses_nothing() -> None:
    """No game is lost, all deals are rated, and a backup has its leaderboard.

    How long bots wait depends on the machine, too; `python -m tools ladder-load` measures it.
    """
    options = ("--seconds", "40", "--bots", "12", "--kills", "2", "--departures", "10")
    soak = subprocess.run(
        [sys.executable, "-m", "tools", "ladder-load", *options],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert soak.stdout, soak.stderr
    shown = json.loads(soak.stdout)
    assert [problem for problem in shown["problems"] if "a bot waited" not in problem] == []
    assert shown["kills"] == 2
