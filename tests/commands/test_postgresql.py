"""Runs whose store is in PostgreSQL, and commands that read it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.commands.programs import (
    ALL_GAMES,
    Gate,
    Start,
    command_of,
    follow,
    own_folder,
    own_server,
    played,
    records,
    tournament,
    wait_for_line,
)
from tests.tournament.storage.postgres import Cluster, database_of

GAMES = 16
SOME_GAMES = 6


@pytest.mark.thorough
def test_a_run_that_loses_its_claim_is_resumed_and_read(start: Start, gate: Gate, cluster: Cluster) -> None:
    """It ends with an error; what was stored stays, and ratings, tables and reports are made of the end."""
    url = cluster.new_database()
    gate.let_through(SOME_GAMES)
    run = start(
        "happycity_tournament", "run", "--rounds", str(GAMES // 2), "--seats", "2", "--bots", "random",
        "--bot", command_of("gated"), "--decision-time", "120", "--store", url, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for_line(run, "Ctrl-C stops it")
    follow(own_server(own_folder()), until_games=SOME_GAMES)
    assert cluster.end_connections(database_of(url))
    _, errors = run.communicate()
    assert run.returncode == 2
    (line,) = (line for line in errors.splitlines() if line.startswith("error: "))
    assert "the claim on it is lost" in line
    kept = records(url)
    assert SOME_GAMES <= len(kept) < GAMES

    gate.let_through(ALL_GAMES)
    result = played("resume")
    assert (result["state"], result["games"]) == ("finished", GAMES)
    assert records(url).items() >= kept.items()
    (listed,) = json.loads(tournament("list", url, "--json").output)
    assert (listed["state"], listed["games"]) == ("finished", GAMES)
    assert "gated" in tournament("rate", url).output
    tournament("export", url, "--format", "jsonl", "--out", "games.jsonl")
    assert len(Path("games.jsonl").read_text().splitlines()) == GAMES * 2
    tournament("report", url, "--out", "report.html")
    assert "gated" in Path("report.html").read_text()
