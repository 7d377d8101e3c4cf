"""A server with workers: real processes, and bots that are connected to some of them, to all or to none."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from structlog.testing import capture_logs
from tests.server.conftest import RandomMove
from tests.server.harness import (
    PlayCall,
    called,
    connected,
    next_response,
    serving,
    settings,
)

from happycity import Config
from happycity.runtime.child import Child
from happycity.runtime.transport import Access
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import bot_service_pb2, match_pb2, match_service_pb2
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2 import Answer, Decision, PlayRequest, PlayResponse
from happycity.wire.messages import config_message
from happycity.worker.v1 import worker_service_pb2
from happycity_client import Settings, play
from happycity_server.app import RunningServer, run_server
from happycity_server.places import remote
from happycity_server.workers import keeper
from happycity_server.workers.local import LocalLauncher, WorkerSettingsError
from happycity_tournament.config import TournamentState
from happycity_tournament.storage import Store

Bots = Sequence[tuple[str, str]]
Update = tournament_pb.WatchTournamentResponse

POLLED: Mapping[str, Any] = {"calls_burst": 1_000_000}
"""A setting of servers that a test calls until something is there, however slow the machine is."""


def child_worker() -> int:
    """Return the process id of the worker that this process has started."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            command = (process / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() and b"happycity_server.workers" in command:
            return int(process.name)
    raise AssertionError("there is no worker")


@asynccontextmanager
async def playing(bots: Bots, *, games: int = 0, access: Access | None = None) -> AsyncIterator[None]:
    """Let bots play, names and addresses, while the context lasts."""
    own = [
        Settings(name=name, server=address, games=games, access=access or Access()) for name, address in bots
    ]
    tasks = [asyncio.create_task(play(RandomMove, settings)) for settings in own]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def everywhere(server: RunningServer, *names: str) -> Bots:
    """Return bots of which each is connected to the server and to its workers, as those of a run are."""
    return [(name, address) for address in (server.address, *server.workers) for name in names]


def at_the_server(logs: Sequence[MutableMapping[str, Any]]) -> int:
    """Return how many games the server itself has played, by its log; its workers have logs of their own."""
    return sum(entry["event"] == "match_over" for entry in logs)


async def begun(channel: grpc.aio.Channel, *bots: str, rounds: int) -> int:
    """Create a tournament for two seats; return its id."""
    config = tournament_pb.TournamentConfig(
        bots=bots,
        game=config_message(Config(players=2)),
        seed=7,
        random_rounds=tournament_pb.RandomRounds(rounds=rounds),
    )
    request = tournament_pb.CreateTournamentRequest(config=config)
    created = await TournamentServiceStub(channel).CreateTournament(request)
    return created.tournament_id


async def first_game(channel: grpc.aio.Channel, tournament_id: int) -> None:
    """Wait until a game of a tournament is finished."""
    request = tournament_pb.WatchTournamentRequest(tournament_id=tournament_id)
    watching = TournamentServiceStub(channel).WatchTournament(request)
    async for update in watching:
        if update.progress.games_finished:
            break
    watching.cancel()


async def over(channel: grpc.aio.Channel, tournament_id: int) -> tournament_pb.WatchTournamentResponse:
    """Watch a tournament to its end; return the last message."""
    request = tournament_pb.WatchTournamentRequest(tournament_id=tournament_id)
    last = Update()
    async for update in TournamentServiceStub(channel).WatchTournament(request):
        last = update
    return last


async def test_match_at_a_worker_is_seen_at_the_server(tmp_path: Path) -> None:
    """Lists and the bots' list show what a worker plays; its deal stays secret."""
    async with (
        serving(tmp_path, workers=1) as (server, channel),
        grpc.aio.insecure_channel(server.workers[0]) as worker,
    ):
        anna, _ = await connected(worker, "anna"), await connected(worker, "ben")
        await begun(channel, "anna", "ben", rounds=1)
        while not (await next_response(anna)).games_started:
            pass
        matches = MatchServiceStub(channel)
        listed = await matches.ListMatches(match_service_pb2.ListMatchesRequest())
        assert [match.match_id for match in listed.matches] == [2, 1]
        got = await matches.GetMatch(match_service_pb2.GetMatchRequest(match_id=1))
        assert got.state in (match_pb2.MATCH_STATE_WAITING, match_pb2.MATCH_STATE_RUNNING)
        bots = (await BotServiceStub(channel).ListBots(bot_service_pb2.ListBotsRequest())).bots
        assert [(bot.name, bot.connected) for bot in bots] == [("anna", True), ("ben", True)]
        secret = await called(channel, "/happycity.v1.MatchService/GetMatchRecord", request=b"\x08\x01")
        assert secret.reason == "MATCH_RUNNING"


async def test_watcher_gets_every_step_and_finds_the_match_in_the_store(tmp_path: Path) -> None:
    """A match at a worker ends for its watcher with the result once it is stored; no step is missing.

    So it does for a caller that only waits for the end.
    """
    async with serving(tmp_path, workers=1, **POLLED) as (server, channel):
        (address,) = server.workers
        async with playing([("anna", address), ("ben", address)]):
            tournament_id = await begun(channel, "anna", "ben", rounds=1)
            matches = MatchServiceStub(channel)
            while not (await matches.ListMatches(match_service_pb2.ListMatchesRequest())).matches:
                pass
            waiting = matches.WaitMatch(match_service_pb2.WaitMatchRequest(match_id=1))
            steps = [
                response
                async for response in matches.WatchMatch(match_service_pb2.WatchMatchRequest(match_id=1))
            ]
            got = await matches.GetMatch(match_service_pb2.GetMatchRequest(match_id=1))
            last = await over(channel, tournament_id)
            assert await waiting == got
        assert got.state == match_pb2.MATCH_STATE_FINISHED
        assert steps[-1].end.result == got.result
        assert [step.step.decisions for step in steps[:-1]] == list(range(steps[-1].end.decisions + 1))
        assert last.progress.games_finished == 2


async def sent_in_a_tournament(folder: Path, *, workers: int) -> tuple[dict[str, bytes], list[bytes]]:
    """Play a tournament of two games at a worker, or without one.

    Returns what each bot got of its games and what a watcher of the first game got, without times.
    """
    async with (
        serving(folder, workers=workers, **POLLED) as (server, channel),
        grpc.aio.insecure_channel((server.workers or [server.address])[0]) as place,
    ):
        streams = {name: await connected(place, name) for name in ("anna", "ben")}
        tournament_id = await begun(channel, *streams, rounds=1)
        matches = MatchServiceStub(channel)
        while not (await matches.ListMatches(match_service_pb2.ListMatchesRequest())).matches:
            pass
        watching = asyncio.create_task(steps_of(channel, 1))
        for _ in range(2):  # when these are answered, the watch has begun
            await matches.GetMatch(match_service_pb2.GetMatchRequest(match_id=1))
        answering = {name: asyncio.create_task(answer_all(stream)) for name, stream in streams.items()}
        steps = await watching
        await over(channel, tournament_id)
        return {name: (await task).SerializeToString() for name, task in answering.items()}, steps


async def steps_of(channel: grpc.aio.Channel, match_id: int) -> list[bytes]:
    """Return what a watcher of a match gets, without times."""
    steps = []
    request = match_service_pb2.WatchMatchRequest(match_id=match_id)
    async for update in MatchServiceStub(channel).WatchMatch(request):
        update.step.ClearField("think_us")
        steps.append(update.step.SerializeToString())
    return steps


async def answer_all(stream: PlayCall) -> PlayResponse:
    """Play two games; return all that came until their ends, in one message."""
    received = PlayResponse()
    while len(received.games_over) < 2:
        response = await next_response(stream)
        await stream.write(
            PlayRequest(
                answers=[
                    Answer(
                        match_id=asked.match_id,
                        decision_id=asked.decision_id,
                        move=asked.decision_id % len(asked.moves),
                    )
                    for asked in response.decisions
                ]
            )
        )
        for decision in response.decisions:
            decision.ClearField("clock")
        received.MergeFrom(response)
    received.ClearField("ping")
    for part in (received.games_started, received.decisions, received.games_over):
        part.sort(key=lambda message: message.match_id)
    return received


async def test_worker_sends_what_the_server_would(tmp_path: Path) -> None:
    """Bots and watchers get the same bytes, so they learn no more of what is hidden than without workers."""
    folders = [tmp_path / "alone", tmp_path / "worker"]
    for folder in folders:
        folder.mkdir()
    alone, at_worker = [
        await sent_in_a_tournament(folder, workers=workers) for workers, folder in enumerate(folders)
    ]
    assert at_worker == alone
    assert all(sent for sent in at_worker[0].values())
    assert len(at_worker[1]) > 20


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
async def test_games_of_a_lost_worker_begin_again(tmp_path: Path, number: signal.Signals) -> None:
    """A worker that is killed, or shut down by others, costs no game, and nobody forfeits one.

    It comes back at the same address.
    """
    async with serving(tmp_path, workers=1) as (server, channel):
        async with playing(everywhere(server, "anna", "ben")):
            tournament_id = await begun(channel, "anna", "ben", rounds=40)
            await first_game(channel, tournament_id)
            os.kill(child_worker(), number)
            last = await over(channel, tournament_id)
        assert (last.progress.games_finished, last.progress.games_voided) == (80, 0)
        assert not any(line.forfeits for line in last.standings)
    with Store.existing(f"sqlite:///{tmp_path}/games.sqlite") as store:
        assert store.require_tournament(tournament_id).state is TournamentState.FINISHED


async def test_worker_that_does_not_start_costs_no_game(tmp_path: Path) -> None:
    """The server plays alone until the worker comes to listen, and says why it did not."""
    silent = Child.start(["true"], environment={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with capture_logs() as logs:
        async with (
            run_server(settings(tmp_path, workers=1), launcher=LocalLauncher([silent])) as server,
            grpc.aio.insecure_channel(server.address) as channel,
            playing([("anna", server.address), ("ben", server.address)]),
        ):
            assert server.workers == [""]
            last = await over(channel, await begun(channel, "anna", "ben", rounds=2))
    assert last.progress.games_finished == 4
    (failure,) = [entry for entry in logs if entry["event"] == "worker_not_started"]
    assert failure["problem"] == "worker 1: it ended before it listened; the log says why"


async def test_worker_whose_port_is_taken_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that can't use its settings ends the server before any game."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(keeper, "WORKER_LISTEN", address)
        with pytest.raises(WorkerSettingsError, match=f"^worker 1: .*{address}"):
            async with serving(tmp_path, workers=1):
                pass


@pytest.mark.thorough
async def test_games_of_a_worker_that_hangs_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that says nothing any longer is taken for dead, and replaced."""
    monkeypatch.setattr(remote, "SILENT_CHECKS", 5)
    async with (
        serving(tmp_path, workers=1) as (server, channel),
        playing(everywhere(server, "anna", "ben")),
    ):
        tournament_id = await begun(channel, "anna", "ben", rounds=40)
        await first_game(channel, tournament_id)
        os.kill(child_worker(), signal.SIGSTOP)
        last = await over(channel, tournament_id)
    assert (last.progress.games_finished, last.progress.games_voided) == (80, 0)
    assert not any(line.forfeits for line in last.standings)


async def test_games_of_bots_beside_the_workers_are_divided(tmp_path: Path) -> None:
    """Server and worker play them at the same time."""
    with capture_logs() as logs:
        async with (
            serving(tmp_path, workers=1) as (server, channel),
            playing(everywhere(server, "anna", "ben")),
        ):
            last = await over(channel, await begun(channel, "anna", "ben", rounds=12))
    assert last.progress.games_finished == 24
    assert not any(line.forfeits for line in last.standings)
    assert 0 < at_the_server(logs) < 24


async def test_bots_that_connect_to_the_server_play_there(tmp_path: Path) -> None:
    """They know of no worker, so all of their games are the server's own."""
    with capture_logs() as logs:
        async with (
            serving(tmp_path, workers=1) as (server, channel),
            playing([("anna", server.address), ("ben", server.address)]),
        ):
            last = await over(channel, await begun(channel, "anna", "ben", rounds=12))
    assert last.progress.games_finished == 24
    assert not any(line.forfeits for line in last.standings)
    assert at_the_server(logs) == 24


async def test_bot_that_is_only_at_the_server_is_paired_with_all(tmp_path: Path) -> None:
    """Its games are played at the server, without forfeits, while others play at the worker too."""
    async with serving(tmp_path, workers=1) as (server, channel):
        bots = everywhere(server, "anna", "ben")
        async with playing(bots), playing([("carl", server.address)], games=8):
            last = await over(channel, await begun(channel, "anna", "ben", "carl", rounds=12))
    assert last.progress.games_finished == 24
    assert not any(line.forfeits for line in last.standings)


@pytest.mark.thorough
async def test_house_plays_at_the_server_and_at_each_worker(tmp_path: Path) -> None:
    """The server starts its own bots once for itself and once for each worker, and divides their games."""
    with capture_logs() as logs:
        async with serving(tmp_path, workers=2, house="greedy,easy=random") as (_, channel):
            last = await over(channel, await begun(channel, "greedy", "easy", rounds=40))
            bots = (await BotServiceStub(channel).ListBots(bot_service_pb2.ListBotsRequest())).bots
    started = [entry["bot"] for entry in logs if entry["event"] == "house_bot_started"]
    assert sorted(started) == ["easy"] * 3 + ["greedy"] * 3
    assert [(bot.name, bot.house, bot.connected) for bot in bots] == [
        ("easy", True, True),
        ("greedy", True, True),
    ]
    assert last.progress.games_finished == 80
    assert not any(line.forfeits for line in last.standings)
    assert 0 < at_the_server(logs) < 80


@dataclass(frozen=True)
class Certificates:
    """Files of a server with TLS, and of a bot that it lets in."""

    server: Mapping[str, Path]
    """Settings of the server, which asks bots for certificates."""
    access: Access
    """How a bot gets in."""


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    """Return the files of a CA and of a certificate for 127.0.0.1."""
    authority = trustme.CA()
    ca, both = tmp_path / "ca.pem", tmp_path / "both.pem"
    authority.cert_pem.write_to_path(str(ca))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(both))
    server = {"tls_cert": both, "tls_key": both, "client_ca": ca}
    return Certificates(server, Access(ca=ca, cert=both, key=both))


@pytest.mark.thorough
async def test_house_plays_at_the_workers_of_a_server_with_tls(
    tmp_path: Path, certificates: Certificates
) -> None:
    """A bot that is at a worker alone meets a bot of the house there, also after the worker was replaced."""
    access = certificates.access
    own = settings(tmp_path, workers=1, house="greedy", **POLLED, **certificates.server)
    async with (
        run_server(own) as server,
        access.channel(f"grpcs://{server.address}") as channel,
        playing([("anna", f"grpcs://{server.workers[0]}")], access=access),
    ):
        first = await over(channel, await begun(channel, "anna", "greedy", rounds=1))
        before = await connected_since(channel, "anna")
        os.kill(child_worker(), signal.SIGKILL)
        while await connected_since(channel, "anna") in (None, before):
            pass
        second = await over(channel, await begun(channel, "anna", "greedy", rounds=1))
    assert [last.progress.games_finished for last in (first, second)] == [2, 2]
    assert not any(line.forfeits for last in (first, second) for line in last.standings)


async def connected_since(channel: grpc.aio.Channel, name: str) -> int | None:
    """Return since when a bot is connected, in nanoseconds; None if it isn't."""
    listed = await BotServiceStub(channel).ListBots(bot_service_pb2.ListBotsRequest())
    since = [bot.since.ToNanoseconds() for bot in listed.bots if bot.name == name and bot.connected]
    return since[0] if since else None


async def test_strikes_and_activity_at_a_worker_reach_the_watchers_of_the_tournament(tmp_path: Path) -> None:
    """An illegal answer is an incident, and counts among the bot's strikes."""
    async with (
        serving(tmp_path, workers=1) as (server, channel),
        grpc.aio.insecure_channel(server.workers[0]) as worker,
    ):
        bots = [await connected(worker, name) for name in ("anna", "ben")]
        tournament_id = await begun(channel, "anna", "ben", rounds=1)
        watching = TournamentServiceStub(channel).WatchTournament(
            tournament_pb.WatchTournamentRequest(tournament_id=tournament_id)
        )
        await watching.read()
        asked = [asyncio.create_task(first_decision(bot)) for bot in bots]
        (done, *_), waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        call, decision = done.result()
        answer = Answer(match_id=decision.match_id, decision_id=decision.decision_id, move=99)
        await call.write(PlayRequest(answers=[answer]))
        incidents: list[tournament_pb.MatchIncident] = []
        strikes = 0
        while not (incidents and strikes):
            update = await watching.read()
            assert isinstance(update, Update)
            incidents += update.incidents
            strikes += sum(activity.strikes for activity in update.activity)
        assert incidents[0].match_id == decision.match_id
        for task in waiting:
            task.cancel()
        watching.cancel()


async def first_decision(call: PlayCall) -> tuple[PlayCall, Decision]:
    """Return the first decision that a bot is asked for, with its stream."""
    while not (response := await next_response(call)).decisions:
        pass
    return call, response.decisions[0]


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_nobody_else_can_command_a_worker(tmp_path: Path, token: str) -> None:
    """The address for bots has no WorkerService, and the other one serves only who has the secret."""
    async with (
        serving(tmp_path, workers=1) as (server, _),
        grpc.aio.insecure_channel(server.workers[0]) as channel,
    ):
        call = channel.stream_stream(
            "/happycity.worker.v1.WorkerService/Work",
            request_serializer=worker_service_pb2.WorkRequest.SerializeToString,
            response_deserializer=worker_service_pb2.WorkResponse.FromString,
        )(metadata=(("authorization", f"Bearer {token}"),))
        assert await call.code() is grpc.StatusCode.UNIMPLEMENTED
