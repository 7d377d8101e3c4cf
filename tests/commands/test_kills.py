"""Runner and server of a tournament, killed again and again: nothing is lost and nothing is played twice."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    wait_for,
)

KILLS = 20
ROUNDS = 150
GAMES = 2 * ROUNDS
CONCURRENCY = 4
SPARE = 3 * CONCURRENCY
"""More games than are played beyond those that a kill waits for, however late it comes."""
RUN = (
    "run", "--bots", "random", "--bot", GATED, "--seats", "2", "--rounds", str(ROUNDS), "--seed", "11",
    "--concurrency", str(CONCURRENCY), "--connect-time", "120", "--decision-time", "120",
)  # fmt: skip
VICTIMS = ("runner", "server", "both")

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes as Linux has it")


def test_results_do_not_depend_on_kills(start: Start, tmp_path: Path, new_url: Callable[[], str]) -> None:
    """After 20 kills of runner, server or both, each with a `resume`, all is as in an undisturbed run."""
    undisturbed = Tournament(start, tmp_path / "undisturbed", new_url())
    undisturbed.play()
    expected = undisturbed.records()
    assert len(expected) == GAMES

    killed = Tournament(start, tmp_path / "killed", new_url())
    rng = random.Random("kills")
    kept: Records = {}
    told = []
    for left in reversed(range(KILLS)):
        victim = rng.choice(VICTIMS)
        games = len(kept) + rng.randint(0, (GAMES - len(kept)) // (left + 1) - SPARE)
        killed.play_until_killed(victim, games=games, more=games - len(kept))
        before, kept = kept, killed.records()
        told.append(f"{victim} after {games}, {len(kept)} stored")
        assert games <= len(kept) < GAMES, told
        assert kept.items() >= before.items(), told
    killed.play()
    assert killed.records() == expected, told
    assert killed.standings == undisturbed.standings, told


class Tournament:
    """A tournament in a store and a folder of its own; each time it is played it goes on where it was."""

    def __init__(self, start: Start, folder: Path, url: str) -> None:
        folder.mkdir()
        self._start = start
        self._folder = folder
        self._url = url

    @property
    def standings(self) -> Any:
        """What the runner told in the end."""
        return json.loads((self._folder / "result.json").read_text())["standings"]

    def records(self) -> Records:
        """Return what is stored, after making sure that no game is there twice."""
        return records(self._url, 1)

    def play(self) -> None:
        """Play to the end."""
        let_through(self._folder, ALL_GAMES)
        run = self._run("--json", "result.json")
        _, errors = run.communicate(timeout=DEADLINE)
        assert run.returncode == 0, errors

    def play_until_killed(self, victim: str, *, games: int, more: int) -> None:
        """Play until so many games are stored, then kill -9; return when all processes have ended.

        Args:
            victim: one of `VICTIMS`.
            games: how many are to be stored.
            more: how many of them are missing; not many more are played.
        """
        let_through(self._folder, more + CONCURRENCY)
        run = self._run()
        assert run.stderr is not None
        told = []
        for line in run.stderr:
            told.append(line)
            if re.search(r"waiting for |\d games", line):  # now there is a tournament
                break
        else:
            raise AssertionError(told)
        processes = children(run)
        (server,) = (child for child, command in processes.items() if "serve" in command)
        handles = {child: os.pidfd_open(child) for child in processes}
        follow(self._address(), 1, until_games=games)
        if victim != "server":
            run.kill()
        if victim != "runner":
            signal.pidfd_send_signal(handles[server], signal.SIGKILL)
        # Those that run can end now; a server that stops would else wait for them.
        let_through(self._folder, more + 2 * CONCURRENCY)
        _, errors = run.communicate(timeout=DEADLINE)
        assert run.returncode == (2 if victim == "server" else -signal.SIGKILL), errors
        wait_for(handles.pop(server))  # without its runner it stops by itself
        for handle in handles.values():  # a dead runner's bots would look for the server for a minute
            kill(handle)

    def _run(self, *options: str) -> Program:
        runs = [*(self._folder / "runs").glob("*")]
        command = ("resume", str(runs[0])) if runs else (*RUN, "--store", self._url)
        return self._start(
            "happycity_tournament", *command, *options, cwd=self._folder, stderr=subprocess.PIPE
        )

    def _address(self) -> str:
        """Return where the newest of the run's servers listens."""
        (plan,) = (self._folder / "runs").glob("*/plan.json")
        return str(json.loads(plan.read_text())["address"])
