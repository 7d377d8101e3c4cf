"""A server whose store is in PostgreSQL, and commands that read it: whole programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.commands.programs import (
    ALL_GAMES,
    DEADLINE,
    Start,
    create,
    follow,
    let_through,
    records,
    serve,
    start_gated,
)
from tests.tournament.postgres import Cluster, database_of

from happycity import Config
from happycity.v1 import match_service_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.wire import config_message
from happycity_tournament.store import Store

BOTS = ("random", "random2", "gated")
CONCURRENCY = 4


def tournament(rounds: int) -> pb.TournamentConfig:
    return pb.TournamentConfig(
        bots=BOTS, game=config_message(Config(players=3)), rounds=rounds, seed=11, concurrency=CONCURRENCY,
        time_control=match_service_pb2.TimeControl(connect_ms=120_000, decision_ms=120_000),
    )  # fmt: skip


def start_bots(start: Start, address: str) -> None:
    start("happycity", "bot", "random", "random2=random", "--server", address)
    start_gated(start, address)


def tell(folder: Path, *arguments: str) -> str:
    """Return what an offline command prints."""
    command = [sys.executable, "-m", "happycity_tournament", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_tournament_is_played_and_read(start: Start, tmp_path: Path, cluster: Cluster) -> None:
    """A server keeps a tournament in PostgreSQL, and ratings, exports and reports are made of it there."""
    let_through(tmp_path, ALL_GAMES)
    url = cluster.new_database()
    server, address = serve(start, url)
    start_bots(start, address)
    tournament_id = create(address, tournament(10))
    last = follow(address, tournament_id)
    assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
    assert len(records(url, tournament_id)) == last.tournament.games_finished == 30

    assert all(bot in tell(tmp_path, "rate", url) for bot in BOTS)  # while the server has its claim
    server.terminate()
    assert server.wait(DEADLINE) == 0
    tell(tmp_path, "export", url, "--format", "jsonl", "--out", "games.jsonl")
    assert len((tmp_path / "games.jsonl").read_text().splitlines()) == 30 * 3
    tell(tmp_path, "report", url, "--out", "report.html")
    assert "gated" in (tmp_path / "report.html").read_text()


def test_a_second_server_is_refused(start: Start, cluster: Cluster) -> None:
    """It ends with one line and status 2; after a kill of the first the store is free at once."""
    url = cluster.new_database()
    first, _ = serve(start, url)
    second = start("happycity", "serve", "--listen", "127.0.0.1:0", "--store", url, stderr=subprocess.PIPE)
    _, errors = second.communicate(timeout=DEADLINE)
    assert second.returncode == 2
    (line,) = errors.splitlines()
    assert line.endswith("is in use by another server; stop that one or choose another store")
    first.kill()
    first.wait(DEADLINE)
    serve(start, url)


def test_a_server_that_loses_its_claim_ends(start: Start, tmp_path: Path, cluster: Cluster) -> None:
    """It stores nothing more and ends with status 2; the next server plays what is missing."""
    let_through(tmp_path, 20 + CONCURRENCY)
    url = cluster.new_database()
    server, address = serve(start, url, "--log", "json", stderr=subprocess.PIPE)
    start_bots(start, address)
    tournament_id = create(address, tournament(90))
    follow(address, tournament_id, until_games=20)
    assert cluster.end_connections(database_of(url))
    _, errors = server.communicate(timeout=DEADLINE)
    assert server.returncode == 2
    *logged, line = errors.splitlines()
    assert line.startswith("error: database postgresql+psycopg://")
    assert "the claim on it is lost" in line
    entries = [json.loads(entry) for entry in logged if entry.startswith("{")]  # the driver may have its say
    assert "store_lost" in [entry["event"] for entry in entries]
    kept = records(url, tournament_id)
    assert len(kept) < 270

    let_through(tmp_path, ALL_GAMES)
    serve(start, url, listen=address)
    last = follow(address, tournament_id)
    assert (last.tournament.games_finished, last.tournament.games_voided) == (270, 0)
    assert records(url, tournament_id).items() >= kept.items()


def test_an_idle_server_notices_that_its_claim_is_lost(start: Start, cluster: Cluster) -> None:
    """It needs no game to store for that."""
    url = cluster.new_database()
    server, _ = serve(start, url)
    cluster.end_connections(database_of(url))
    assert server.wait(DEADLINE) == 2
    with Store(url) as store:
        store.claim()
