"""A server with workers: real processes, with their bots."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs
from tests.server.api.tournaments import config
from tests.server.conftest import playing
from tests.server.harness import Service, issued_token, serving, settings, tournaments_at
from tests.server.process.test_tls import issue

from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_server.app import run_server
from happycity_server.places import protocol
from happycity_server.process import programs
from happycity_tournament.config import TournamentState
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.storage.store import Store

POLLED: Mapping[str, Any] = {"calls_burst": 1_000_000}
"""A setting of servers that a test calls until something is there, however slow the machine is."""


def child_worker() -> int:
    """Return the process id of a worker that this process has started."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            command = (process / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() and b"worker" in command:
            return int(process.name)
    raise AssertionError("there is no worker")


def children_of(process: int) -> list[int]:
    """Return the ids of the processes that a process has started."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for children in tasks for child in children.read_text().split()]


RUN = Lineup(bots=(BotEntry(name="anna", builtin="random"), BotEntry(name="ben", builtin="random")))
"""The bots of a run, which its workers start."""


@asynccontextmanager
async def running(
    folder: Path, *, workers: int = 1, tell_user: Callable[[str], None] = lambda text: None, **values: Any
) -> AsyncIterator[grpc.aio.Channel]:
    """Serve as for a run: its bots play here too, while the context lasts."""
    async with (
        run_server(settings(folder, workers=workers, **values), lineup=RUN, tell_user=tell_user) as server,
        grpc.aio.insecure_channel(server.address) as channel,
        playing(server.address, *RUN.names),
    ):
        yield channel


def at_the_server(logs: Sequence[MutableMapping[str, Any]]) -> int:
    """Return how many games the server itself has played, by its log; its workers have logs of their own."""
    return sum(entry["event"] == "match_over" for entry in logs)


async def begun(
    channel: grpc.aio.Channel, *bots: str, rounds: int, begin_incomplete: bool = False, metadata: Any = ()
) -> int:
    """Create a tournament for two seats; return its id. It may begin without bots at the server itself."""
    made = config(*bots, rounds=rounds, begin_incomplete=begin_incomplete, seed=7, concurrency=None)
    if begin_incomplete:
        made.time_control.connect_time.FromMilliseconds(1)
    return int((await tournaments_at(channel).CreateTournament(metadata, config=made)).tournament_id)


async def over(
    channel: grpc.aio.Channel, tournament_id: int, metadata: Any = (), games: int | None = None
) -> pb.WatchTournamentResponse:
    """Watch a tournament to its end, or until `games` are finished; return the last message."""
    update = pb.WatchTournamentResponse()
    watching = tournaments_at(channel).WatchTournament(metadata, tournament_id=tournament_id)
    async for update in watching:
        if games is not None and update.progress.games_finished >= games:
            break
    watching.cancel()
    return update


def nothing_was_lost(last: pb.WatchTournamentResponse, games: int) -> bool:
    """Return whether all games of a tournament were played, and none of them forfeited."""
    played = (last.progress.games_finished, last.progress.games_voided)
    return played == (games, 0) and not any(line.forfeits for line in last.standings)


@pytest.mark.level(3)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_games_of_a_lost_worker_begin_again(tmp_path: Path, number: signal.Signals) -> None:
    """A worker that is killed, or shut down by others, costs no game, and nobody forfeits one.

    It is started again, and its bots have ended with it.
    """
    remarks: asyncio.Queue[str] = asyncio.Queue()
    async with running(tmp_path, tell_user=remarks.put_nowait, **POLLED) as channel:
        assert await remarks.get() == "1 worker plays"
        tournament_id = await begun(channel, *RUN.names, rounds=150)
        await over(channel, tournament_id, games=1)
        worker = child_worker()
        bots = [os.pidfd_open(child) for child in children_of(worker)]
        os.kill(worker, number)
        said = [await remarks.get()]
        while said[-1] != "worker 1 plays":
            said.append(await remarks.get())
        last = await over(channel, tournament_id)
    assert len(bots) == 2
    for handle in bots:  # the bots, and what kills them
        select.select([handle], [], [])
        os.close(handle)
    assert nothing_was_lost(last, 300)
    with Store.existing(f"sqlite:///{tmp_path}/games.sqlite") as store:
        assert store.require_tournament(tournament_id).state is TournamentState.FINISHED


async def test_worker_that_does_not_start_costs_no_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server plays alone, doesn't wait, and says how the worker ended."""
    monkeypatch.setattr(programs, "worker_program", lambda name, *_: no_program(name))
    monkeypatch.setattr(protocol, "START_SECONDS", 3600.0)
    remarks: asyncio.Queue[str] = asyncio.Queue()
    async with running(tmp_path, tell_user=remarks.put_nowait) as channel:
        last = await over(channel, await begun(channel, *RUN.names, rounds=2))
        said = await remarks.get()
    assert last.progress.games_finished == 4
    assert said == "worker 1 has ended (status 3) before it played; it starts again, and others begin"


def no_program(name: str) -> programs.Program:
    return programs.Program(kind="worker", name=name, command=("sh", "-c", "exit 3"), environment={})


@pytest.mark.level(3)
async def test_games_of_a_worker_that_hangs_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that says nothing any longer is killed, and started again."""
    monkeypatch.setattr(protocol, "SILENT_CHECKS", 5)
    remarks: asyncio.Queue[str] = asyncio.Queue()
    async with running(tmp_path, tell_user=remarks.put_nowait) as channel:
        await remarks.get()
        tournament_id = await begun(channel, *RUN.names, rounds=150)
        await over(channel, tournament_id, games=1)
        os.kill(child_worker(), signal.SIGSTOP)
        while await remarks.get() != "worker 1 plays":
            pass
        last = await over(channel, tournament_id)
    assert nothing_was_lost(last, 300)


@pytest.mark.level(2)
async def test_games_of_bots_at_the_workers_are_divided(tmp_path: Path) -> None:
    """Server and worker play them at the same time."""
    remarks: asyncio.Queue[str] = asyncio.Queue()
    with capture_logs() as logs:
        async with running(tmp_path, tell_user=remarks.put_nowait) as channel:
            await remarks.get()
            last = await over(channel, await begun(channel, *RUN.names, rounds=100))
    assert nothing_was_lost(last, 200)
    assert 0 < at_the_server(logs) < 200


@pytest.mark.level(2)
async def test_worker_joins_over_tls_with_a_token(tmp_path: Path) -> None:
    """A worker that anybody starts plays too, over the one port of the server, until that ends."""
    tls, tokens = issue(tmp_path, "tls"), tmp_path / "tokens.json"
    token, organiser = issued_token(tokens, Role.WORKER, "rack"), issued_token(tokens, Role.ORGANISER, "olga")
    files = {"tls_cert": tls.cert, "tls_key": tls.key}
    own = settings(tmp_path, tokens=tokens, house="greedy,easy=random", **files, **POLLED)
    access, remarks = Access(token=organiser, ca=tls.ca), asyncio.Queue[str]()
    log, lost = list[bytes](), asyncio.Event()
    with capture_logs() as logs:
        async with (
            run_server(own, tell_user=remarks.put_nowait) as server,
            access.channel(f"grpcs://{server.address}") as channel,
        ):
            environment = {
                "HAPPYCITY_SERVER": f"grpcs://{server.address}",
                "HAPPYCITY_TOKEN": token,
                "HAPPYCITY_CA": str(tls.ca),
            }
            program = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "happycity", "worker", "--name", "rack"),
                env={**os.environ, **environment},
                stderr=subprocess.PIPE,
                limit=1 << 20,  # its whole log
            )
            assert program.stderr is not None
            reading = asyncio.create_task(lines_of(program.stderr, log, lost))
            assert await remarks.get() == "rack plays"
            tournament_id = await begun(channel, "greedy", "easy", rounds=100, metadata=access.metadata)
            last = await over(channel, tournament_id, access.metadata)
        await lost.wait()
        program.terminate()
        await reading
        assert await program.wait() == 0
    assert last.progress.games_finished == 200
    assert 0 < at_the_server(logs) < 200
    assert sum(b'"match_over"' in line for line in log) == 200 - at_the_server(logs)


@pytest.mark.level(2)
async def test_worker_that_is_refused_ends_with_one_line(tmp_path: Path) -> None:
    """Another attempt would not change its token."""
    tokens = tmp_path / "tokens.json"
    token = issued_token(tokens, Role.BOT, "anna")
    async with serving(tmp_path, tokens=tokens) as (server, _):
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "happycity", "worker", "--join", server.address),
            env={**os.environ, "HAPPYCITY_TOKEN": token},
            stderr=subprocess.PIPE,
        )
        _, errors = await program.communicate()
    assert program.returncode == 2
    *_, last = errors.decode().splitlines()  # a busy server may have been lost before
    assert last == f"error: {server.address}: the token's role is bot; this call needs worker"


@pytest.mark.level(3)
async def test_house_plays_at_the_server_and_at_each_worker(tmp_path: Path) -> None:
    """The server's own bots are started once beside it and once beside each worker, also with TLS."""
    tls = issue(tmp_path, "tls")
    files = {"tls_cert": tls.cert, "tls_key": tls.key, "client_ca": tls.ca}
    own = settings(tmp_path, workers=2, house="greedy,easy=random", **files)
    access, remarks = Access(ca=tls.ca, cert=tls.cert, key=tls.key), asyncio.Queue[str]()
    with capture_logs() as logs:
        async with (
            run_server(own, tell_user=remarks.put_nowait) as server,
            access.channel(f"grpcs://{server.address}") as channel,
        ):
            assert await remarks.get() == "2 workers play"
            last = await over(channel, await begun(channel, "greedy", "easy", rounds=100))
            bots = (await Service(channel, "happycity.v1.BotService").ListBots()).bots
    shown = [(bot.name, bot.house, bot.connected) for bot in bots]
    assert shown == [("easy", True, True), ("greedy", True, True)]
    assert nothing_was_lost(last, 200)
    assert 0 < at_the_server(logs) < 200


async def lines_of(stream: asyncio.StreamReader, log: list[bytes], lost: asyncio.Event) -> None:
    """Read the log of a worker to its end, and note when it says that its server is lost."""
    async for line in stream:
        log.append(line)
        if b'"server_lost"' in line:
            lost.set()
