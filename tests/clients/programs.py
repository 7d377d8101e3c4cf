"""Whole programs as these tests run them, and the tournaments that they play."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.commands.programs import Records, records
from tests.programs import run
from tests.waiting import PATIENT

from happycity import Mode

Reference = Callable[[str, Mode], Records]


def duel(mode: Mode) -> tuple[str, ...]:
    """Return the options of the tournament that all bots are compared in: 20 games of two."""
    return ("--rounds", "10", "--seats", "2", "--seed", "5", "--mode", mode.value, *PATIENT)


def played(bots: Sequence[str], *, mode: Mode, folder: Path) -> Records:
    """Return the records of a duel by their place in its schedule; bots must have played to the end."""
    store = f"sqlite:///{folder / 'games.sqlite'}"
    done = run("run", *bots, *duel(mode), "--store", store, module="happycity_tournament", cwd=folder)
    assert done.returncode == 0, done.stderr
    by_place = records(store)
    assert {tuple(record["endings"]) for record in by_place.values()} == {("finished", "finished")}
    return by_place


def standings(bots: Sequence[str], *options: str, folder: Path) -> list[dict[str, Any]]:
    """Play a tournament; return the lines of its standings, best first."""
    options = (*PATIENT, *options, "--json")
    done = run("run", *bots, *options, module="happycity_tournament", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines: list[dict[str, Any]] = json.loads(done.stdout)["standings"]
    return lines
