"""Tournaments that were stopped or interrupted and continue: the end is as if nothing had happened."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.commands import programs
from tests.commands.programs import (
    ALL_GAMES,
    ARENA,
    STORE,
    Gate,
    Program,
    Records,
    Start,
    Undisturbed,
    records,
)
from tests.tournament.servers import arena

from happycity import Config
from happycity.records.record import Json
from happycity_tournament.client.connection import call_server
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.storage.store import Store

GAMES = 24
SOME_GAMES = 4
CONCURRENCY = 4
RUN = programs.gated_run(GAMES, at_once=CONCURRENCY)


@dataclass(frozen=True)
class End:
    records: Records
    standings: list[Json]
    rating: Json


def end_of(url: str, result: Json) -> End:
    assert (result["state"], result["games"], result["games_voided"]) == ("finished", GAMES, 0)
    return End(records(url, result["tournament"]), programs.standings_of(result), result["rating"])


@pytest.fixture
def expected(undisturbed: Callable[[int], Undisturbed]) -> End:
    """Return the end of the run that nothing has disturbed."""
    result = undisturbed(GAMES).result
    return End(undisturbed(GAMES).records, programs.standings_of(result), result["rating"])


def begin(start: Start, gate: Gate, *options: str) -> tuple[Program, Path]:
    gate.let_through(SOME_GAMES)
    run = start("happycity_tournament", *RUN, *options, stderr=subprocess.PIPE)
    programs.wait_for_line(run, "Ctrl-C stops it")
    folder = programs.own_folder()
    programs.follow(programs.own_server(folder), until_games=SOME_GAMES)
    return run, folder


@pytest.mark.level(3)
def test_a_run_that_was_stopped_is_resumed(start: Start, gate: Gate, expected: End) -> None:
    """By default that is the latest run; exactly what is missing is played, nothing if it is finished."""
    run, folder = begin(start, gate)
    call_server(programs.own_server(folder), lambda connection: connection.stop(1))
    gate.let_through(ALL_GAMES)  # no other game begins
    assert run.wait() == 130
    url = f"sqlite:///{folder}/games.sqlite"
    kept = records(url)
    assert SOME_GAMES <= len(kept) < GAMES

    assert end_of(url, programs.played("resume")) == expected
    assert expected.records.items() >= kept.items()
    before = (folder / "bots.log").read_text().count("connected to")
    assert before
    again = programs.tournament("resume", "--json")
    assert "nothing is left to play: the tournament is finished" in again.errors
    assert "watch: " not in again.errors
    assert end_of(url, json.loads(again.output)) == expected
    assert (folder / "bots.log").read_text().count("connected to") == before  # no bot has played


@pytest.mark.level(3)
def test_a_run_on_a_server_outlives_that_server(start: Start, gate: Gate, expected: End) -> None:
    gate.let_through(SOME_GAMES)
    server = programs.serve(start)
    run = start(
        "happycity_tournament", *RUN, "--server", ARENA.address, "--json", stderr=subprocess.PIPE,
    )  # fmt: skip
    programs.wait_for_line(run, "Ctrl-C stops it")
    programs.follow(ARENA, until_games=SOME_GAMES)
    server.kill()
    programs.wait_for_line(run, "the server is gone ")
    server.wait()
    kept = records()
    assert SOME_GAMES <= len(kept) < GAMES
    gate.let_through(ALL_GAMES)
    programs.serve(start)
    output, errors = run.communicate()
    assert run.returncode == 0, errors
    assert "the server is back" in errors
    assert end_of(STORE, json.loads(output)) == expected
    assert expected.records.items() >= kept.items()


CONFIG = TournamentConfig(
    bots=("random", "random2"), game=Config(players=2), format=RandomRounds(rounds=2), seed=1
)


def add_to_store(config: TournamentConfig, state: TournamentState) -> None:
    with Store.create(STORE) as store:
        store.set_state(store.create_tournament(config.json(), games_total=4, created_at=0.0), state)


def test_a_tournament_is_resumed_on_a_server(tmp_path: Path) -> None:
    add_to_store(CONFIG, TournamentState.STOPPED)
    with arena(tmp_path, {"random": "random", "random2": "random"}) as opened:
        result = programs.played("resume", f"grpc://{opened.address}#1")
    assert (result["state"], result["games"]) == ("finished", 4)
    assert not Path("runs").exists()


def test_other_tournaments_of_the_store_are_left_alone() -> None:
    add_to_store(replace(CONFIG, bots=("absent", "away")), TournamentState.RUNNING)
    programs.played(
        *["run", "--rounds", "1", "--seats", "2", "--bots", "random,random2=random", "--store"], STORE
    )
    listed = json.loads(programs.tournament("list", STORE, "--json").output)
    assert [(row["tournament"], row["state"], row["games"]) for row in listed] == [
        (2, "finished", 2), (1, "interrupted", 0)
    ]  # fmt: skip
