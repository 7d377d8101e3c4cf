"""Servers that are killed or stopped in the middle of a tournament, and started again: whole programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import grpc
import pytest
from tests.commands.programs import (
    ALL_GAMES,
    DEADLINE,
    GATED,
    Program,
    Records,
    Start,
    children,
    create,
    follow,
    let_through,
    records,
    serve,
    start_gated,
)

from happycity import Config
from happycity.v1 import match_service_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message
from happycity_tournament.store import Store

BOTS = ("random", "random2", "gated")
ROUNDS = 90
GAMES = 3 * ROUNDS
SOME_GAMES = 20
CONCURRENCY = 8

CONFIG = pb.TournamentConfig(
    bots=BOTS,
    game=config_message(Config(players=3)),
    rounds=ROUNDS,
    seed=11,
    concurrency=CONCURRENCY,
    time_control=match_service_pb2.TimeControl(connect_ms=120_000, decision_ms=120_000),
    failure_policy=match_service_pb2.FailurePolicy(grace_ms=120_000),
)


def start_bots(start: Start, address: str) -> tuple[Program, Program]:
    bots = start("happycity", "bot", "random", "random2=random", "--server", address)
    return bots, start_gated(start, address)


Undisturbed = tuple[Records, list[pb.Standing]]


@pytest.fixture
def undisturbed(start: Start, tmp_path: Path) -> Undisturbed:
    """Play the tournament in one go; return its records and standings."""
    let_through(tmp_path, ALL_GAMES)
    _, address = serve(start, "sqlite:///undisturbed.sqlite")
    start_bots(start, address)
    tournament_id = create(address, CONFIG)
    last = follow(address, tournament_id)
    assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
    return records(f"sqlite:///{tmp_path}/undisturbed.sqlite", tournament_id), list(last.standings)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_tournament_survives_its_server(
    start: Start, tmp_path: Path, undisturbed: Undisturbed, number: signal.Signals
) -> None:
    """Stored games stay, the bots come back and play those that are missing, and the end is the same."""
    let_through(tmp_path, SOME_GAMES + CONCURRENCY)
    server, address = serve(start, "sqlite:///games.sqlite")
    bots = start_bots(start, address)
    tournament_id = create(address, CONFIG)
    follow(address, tournament_id, until_games=SOME_GAMES)
    server.send_signal(number)
    server.wait(DEADLINE)
    assert (server.returncode == -number) if number is signal.SIGKILL else (server.returncode == 0)
    kept = records(f"sqlite:///{tmp_path}/games.sqlite", tournament_id)
    assert SOME_GAMES <= len(kept) < GAMES

    let_through(tmp_path, ALL_GAMES)
    again, same_address = serve(start, "sqlite:///games.sqlite", listen=address)
    assert same_address == address
    last = follow(address, tournament_id)
    assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
    assert (last.tournament.games_finished, last.tournament.games_voided) == (GAMES, 0)
    assert [bot.poll() for bot in bots] == [None, None]
    assert again.poll() is None

    ended = records(f"sqlite:///{tmp_path}/games.sqlite", tournament_id)
    assert ended == undisturbed[0]
    assert ended.items() >= kept.items()
    assert list(last.standings) == undisturbed[1]


def test_nothing_hidden_is_told_of_an_interrupted_tournament(start: Start, tmp_path: Path) -> None:
    """Its seed and records stay secret, and it waits for its bots without playing anything."""
    let_through(tmp_path, SOME_GAMES + CONCURRENCY)
    server, address = serve(start, "sqlite:///games.sqlite")
    bots = start_bots(start, address)
    tournament_id = create(address, CONFIG)
    follow(address, tournament_id, until_games=SOME_GAMES)
    for bot in bots:
        bot.kill()
        bot.wait(DEADLINE)
    server.terminate()
    server.wait(DEADLINE)
    with Store(f"sqlite:///{tmp_path}/games.sqlite") as store:
        stored = store.tournament(tournament_id)
        assert stored is not None
        assert stored.state == "interrupted"
        match_id = store.games(1)[0].id

    serve(start, "sqlite:///games.sqlite", listen=address)
    with grpc.insecure_channel(address) as channel:
        request = pb.GetTournamentRequest(tournament_id=tournament_id)
        tournament = TournamentServiceStub(channel).GetTournament(request).tournament
        assert tournament.state == pb.TOURNAMENT_STATE_WAITING
        assert not tournament.config.HasField("seed")
        matches = MatchServiceStub(channel)
        with pytest.raises(grpc.RpcError) as record:
            matches.GetMatchRecord(match_service_pb2.GetMatchRecordRequest(match_id=match_id))
        with pytest.raises(grpc.RpcError) as watched:
            list(matches.WatchMatch(match_service_pb2.WatchMatchRequest(match_id=match_id)))
    for caught in (record, watched):
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


def test_two_servers_never_share_a_store(start: Start) -> None:
    """The second one is refused in one line with status 2; after a kill of the first the store is free."""
    first, _ = serve(start, "sqlite:///games.sqlite")
    second = start(
        "happycity", "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:///games.sqlite",
        stderr=subprocess.PIPE,
    )  # fmt: skip
    _, errors = second.communicate(timeout=DEADLINE)
    assert second.returncode == 2
    (line,) = errors.splitlines()
    assert line == (
        "error: database sqlite:///games.sqlite is in use by another server; "
        "stop that one or choose another store"
    )
    first.kill()
    first.wait(DEADLINE)
    serve(start, "sqlite:///games.sqlite")


def test_a_run_on_a_server_outlives_a_restart(start: Start, tmp_path: Path) -> None:
    """`tournament run --server` waits for the server to come back and ends with all games."""
    let_through(tmp_path, SOME_GAMES + CONCURRENCY)
    server, address = serve(start, "sqlite:///games.sqlite")
    run = start(
        "happycity_tournament", "run", "--server", address, "--rounds", str(ROUNDS), "--seats", "3",
        "--bots", "random,random2=random", "--bot", GATED, "--concurrency", str(CONCURRENCY),
        "--connect-time", "120", "--decision-time", "120", "--json", "result.json", stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stderr is not None
    assert run.stderr.readline()  # the first progress: the tournament is there
    follow(address, 1, until_games=SOME_GAMES)
    server.kill()
    server.wait(DEADLINE)
    for line in run.stderr:
        if line.startswith("the server is gone "):
            break
    let_through(tmp_path, ALL_GAMES)
    serve(start, "sqlite:///games.sqlite", listen=address)
    out, errors = run.communicate(timeout=DEADLINE)
    assert run.returncode == 0, errors
    assert "the server is back" in errors
    assert f"{GAMES} of {GAMES} games" in out
    told = json.loads((tmp_path / "result.json").read_text())
    assert (told["tournament"], told["games"]) == (1, GAMES)
    assert {line["forfeits"] for line in told["standings"]} == {0}


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds the run's server in /proc")
def test_a_run_whose_own_server_dies_says_where_the_games_are(start: Start) -> None:
    """One line tells how the server ended and names the store; the status is 2."""
    run = start(
        "happycity_tournament", "run", "--rounds", "100000", "--bots", "random,greedy", stderr=subprocess.PIPE
    )
    assert run.stderr is not None
    for line in run.stderr:
        if re.search(r"^[1-9]\d* of ", line):
            break
    os.kill(server_of(run), signal.SIGKILL)
    _, errors = run.communicate(timeout=DEADLINE)
    assert run.returncode == 2
    assert "Traceback" not in errors
    (line,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert re.fullmatch(
        r"error: server ended with status -9: .*\(output: runs/.*/server\.log\); "
        r"the games that were finished are in sqlite:///runs/.*/games\.sqlite; "
        r"go on with: tournament resume runs/.*",
        line,
    )


def server_of(run: Program) -> int:
    """Return the id of the server's process that a run has started."""
    (server,) = (child for child, command in children(run).items() if "serve" in command)
    return server
