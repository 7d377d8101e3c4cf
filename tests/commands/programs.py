"""Whole programs as tests start them, and the tournaments that they play."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc

from happycity.records import loads, without_measurements
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity_tournament.results import Position
from happycity_tournament.store import Store

if TYPE_CHECKING:  # subscripted in annotations only
    Program: TypeAlias = "subprocess.Popen[str]"
else:
    Program = subprocess.Popen
Start = Callable[..., Program]
Records = dict[Position, Any]

DEADLINE = 60.0


def serve(
    start: Start, url: str, *options: str, listen: str = "127.0.0.1:0", **to: Any
) -> tuple[Program, str]:
    """Start a server and wait until it listens; return it and its address."""
    server = start("happycity", "serve", "--listen", listen, "--store", url, "--grace", "0", *options, **to)
    assert server.stdout is not None
    return server, str(json.loads(server.stdout.readline())["listening"])


def create(address: str, config: pb.TournamentConfig) -> int:
    """Set a tournament up and return its id."""
    with grpc.insecure_channel(address) as channel:
        created = TournamentServiceStub(channel).CreateTournament(pb.CreateTournamentRequest(config=config))
        return int(created.tournament.tournament_id)


def follow(address: str, tournament_id: int, *, until_games: int | None = None) -> pb.WatchTournamentResponse:
    """Watch a tournament until it has so many games, or to its end; return the last update."""
    with grpc.insecure_channel(address) as channel:
        request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval_ms=10)
        for update in TournamentServiceStub(channel).WatchTournament(request, timeout=DEADLINE):
            last = update
            if until_games is not None and update.tournament.games_finished >= until_games:
                break
    assert isinstance(last, pb.WatchTournamentResponse)
    return last


def records(url: str, tournament_id: int) -> Records:
    """Return all records of a tournament by their place in the schedule, without think times."""
    with Store(url) as store:
        found: Records = {}
        for game in store.games(100_000, tournament_id=tournament_id):
            record = store.record(game.id)
            assert record is not None
            assert game.result.fixture.position not in found
            found[game.result.fixture.position] = without_measurements(loads(record))
        return found


def children(program: Program) -> dict[int, list[str]]:
    """Return the processes that a program has started, by their ids, with their command lines."""
    found = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    return {int(child): Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0") for child in found}
