"""Whole programs as these tests run them, and the tournaments that they play."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.programs import run

from happycity import Mode
from happycity.records.record import Json, loads
from happycity_tournament.games import Position
from happycity_tournament.storage.store import Store

Records = dict[Position, Json]
Reference = Callable[[str, Mode], Records]

PATIENT = ("--connect-seconds", "60", "--decision-seconds", "60", "--grace-seconds", "60")
"""Options of a tournament in which no bot is late for being on a busy machine."""


def duel(mode: Mode) -> tuple[str, ...]:
    """Return the options of the tournament that all bots are compared in: 20 games of two."""
    return ("--rounds", "10", "--seats", "2", "--seed", "5", "--mode", mode.value, *PATIENT)


def played(bots: Sequence[str], *, mode: Mode, folder: Path) -> Records:
    store = f"sqlite:///{folder / 'games.sqlite'}"
    done = run("run", *bots, *duel(mode), "--store", store, module="happycity_tournament", cwd=folder)
    assert done.returncode == 0, done.stderr
    return records(store)


def records(url: str, *, tournament_id: int = 1) -> Records:
    """Return the records of a tournament by their place in its schedule, without think times.

    Bots that are compared must have played to the end.
    """
    by_place: Records = {}
    with Store.existing(url) as store:
        for game, text in store.all_games(tournament_id=tournament_id, with_records=True):
            record = loads(text or "")
            assert record["endings"] == ["finished", "finished"]
            del record["clock"]
            by_place[game.fixture.position] = record
    assert by_place
    return by_place


def standings(bots: Sequence[str], *options: str, folder: Path) -> list[dict[str, Any]]:
    """Play a tournament; return the lines of its standings, best first."""
    options = (*PATIENT, *options, "--json")
    done = run("run", *bots, *options, module="happycity_tournament", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines: list[dict[str, Any]] = json.loads(done.stdout)["standings"]
    return lines
