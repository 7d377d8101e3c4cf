"""Whole programs as these tests run them, and the tournaments that they play."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from happycity import Mode
from happycity.records import Json, loads, without_measurements
from happycity_tournament.results import Position
from happycity_tournament.store import Store

Records = dict[Position, Json]
Reference = Callable[[str, Mode], Records]

DEADLINE = 300.0
PATIENT = ("--connect-time", "60", "--decision-time", "60", "--grace", "60")
"""Options of a tournament in which no bot is late for being on a busy machine."""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of ours to its end."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def duel(mode: Mode) -> tuple[str, ...]:
    """Return the options of the tournament that all bots are compared in: 20 games of two."""
    return ("--rounds", "10", "--seats", "2", "--seed", "5", "--mode", mode.value, *PATIENT)


def played(bots: Sequence[str], *, mode: Mode, folder: Path) -> Records:
    """Play a duel on a server of its own; return its records."""
    store = f"sqlite:///{folder / 'games.sqlite'}"
    done = run("happycity_tournament", "run", *bots, *duel(mode), "--store", store, cwd=folder)
    assert done.returncode == 0, done.stderr
    return records(store)


def records(url: str) -> Records:
    """Return the records of a store's only tournament by their place in its schedule, without think times.

    Their endings are looked at: bots that are compared must have played to the end.
    """
    with Store(url) as store:
        found = {
            game.result.fixture.position: without_measurements(loads(store.record(game.id) or ""))
            for game in store.games(1000)
        }
    assert found
    assert all(record["endings"] == ["finished", "finished"] for record in found.values())
    return found


def standings(bots: Sequence[str], *options: str, folder: Path) -> list[dict[str, Any]]:
    """Play a tournament; return the lines of its standings, best first."""
    options = (*PATIENT, *options, "--json", "result.json")
    done = run("happycity_tournament", "run", *bots, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines: list[dict[str, Any]] = json.loads((folder / "result.json").read_text())["standings"]
    return lines
