"""Whole programs as tests start them, and the tournaments that they play."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from ipaddress import IPv4Address
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

DEADLINE = 120.0

# Where no other test's server listens, so that one that is started again finds its port free.
HOST = IPv4Address("127.0.0.0") + os.getpid() if sys.platform == "linux" else "127.0.0.1"

BOTS = Path(__file__).parent / "bots"
GATED = f"gated={sys.executable} {BOTS / 'gated.py'}"
"""A bot, as `--bot` takes it, that begins no more games than `let_through` says in the folder it runs in."""
ALL_GAMES = 1_000_000


def let_through(folder: Path, games: int) -> None:
    """Let the gated bots of a folder play so many games each, those that they have played counted."""
    unfinished = folder / "gate.tmp"
    unfinished.write_text(str(games))
    unfinished.replace(folder / "gate")  # or a bot might read half of it


def start_gated(start: Start, address: str, *, bots: Path = BOTS) -> Program:
    """Start the bot of a folder's `gated.py`; it runs in the test's own folder."""
    own = {"PYTHONPATH": str(bots), "HAPPYCITY_SERVER": address, "HAPPYCITY_NAME": "gated"}
    return start("gated", env={**os.environ, **own})


def serve(start: Start, url: str, *options: str, listen: str = f"{HOST}:0", **to: Any) -> tuple[Program, str]:
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
        stub = TournamentServiceStub(channel)
        for update in stub.WatchTournament(request, timeout=DEADLINE, wait_for_ready=True):
            last = update
            if until_games is not None and update.tournament.games_finished >= until_games:
                break
    assert isinstance(last, pb.WatchTournamentResponse)
    return last


def wait_for_state(url: str, tournament_id: int, state: str) -> None:
    """Wait until a tournament is stored in a state; nothing tells of that, so it is looked for."""
    deadline = time.monotonic() + DEADLINE
    with Store(url) as store:
        while (stored := store.tournament(tournament_id)) is None or stored.state != state:
            assert time.monotonic() < deadline, stored
            time.sleep(0.01)


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


def wait_for(handle: int) -> None:
    """Wait for the end of a process that is not this one's child, by its handle (`os.pidfd_open`)."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    assert poll.poll(1000 * DEADLINE), "the process doesn't end"
    os.close(handle)


def kill(handle: int) -> None:
    """Kill a process that is not this one's child, unless it has ended."""
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        os.close(handle)
    else:
        wait_for(handle)
