"""The server as a whole: what it may listen on, how it is seen by stock tools, and how it stops."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs
from tests.server import harness as h

from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_runtime.tokens import Role, TokenError
from happycity_server.access.roles import CONTRACT
from happycity_server.app import Clocks, run_server
from happycity_server.config import ServerSettings
from happycity_server.errors import ListenError

HEALTH = "/grpc.health.v1.Health/Check"
SERVICES = [service for service in CONTRACT if service != h.HOSTING]


async def refused_start(folder: Path, **values: Any) -> str:
    with pytest.raises((ListenError, TokenError)) as caught:
        async with run_server(h.settings(folder, **values)):
            pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
async def test_other_machines_are_not_listened_to_without_tokens_and_tls(tmp_path: Path, listen: str) -> None:
    """The error says what is missing, and what to do."""
    text = await refused_start(tmp_path, listen=listen)
    assert text == (
        f"listen: {listen} can be reached from other machines, so the server needs "
        "tokens (happycity token create --role organiser --name NAME) and TLS (--tls-cert and --tls-key); "
        "--insecure does without where the network is trusted"
    )
    path = tmp_path / "tokens.json"
    h.issued_token(path, Role.ORGANISER, "olga")
    text = await refused_start(tmp_path, listen=listen, tokens=path)
    assert "so the server needs TLS (--tls-cert and --tls-key); " in text


async def test_insecure_server_listens_to_other_machines(tmp_path: Path) -> None:
    """With --insecure, the server listens to all; the log says so."""
    with capture_logs() as lines:
        values = h.settings(tmp_path, listen="0.0.0.0:0", insecure=True)
        # On a clock that stands still, or the log might say first that the server was late.
        async with run_server(values, clocks=Clocks(steady=h.Clock())) as server:
            address = server.address.replace("0.0.0.0", "127.0.0.1")
            async with grpc.aio.insecure_channel(address) as channel:
                assert (await h.called(channel, HEALTH)).status is grpc.StatusCode.OK
    assert [line["event"] for line in lines[:3]] == ["listening", "access_open", "insecure"]


async def test_default_tokens_file_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On loopback a server without tokens is open, unless the default file exists; --open reads none."""
    monkeypatch.chdir(tmp_path)
    for is_open, reason in ((False, ""), (False, "UNAUTHENTICATED"), (True, "")):
        async with h.serving(tmp_path, open=is_open) as (_, channel):
            assert (await h.called(channel, "/happycity.v1.MatchService/ListMatches")).reason == reason
        h.issued_token(tmp_path / "runs" / "tokens.json", Role.BOT, "alice")


async def test_named_tokens_file_must_exist(tmp_path: Path) -> None:
    """A slip in its path does not open the server."""
    text = await refused_start(tmp_path, tokens=tmp_path / "missing.json")
    assert "there is no file" in text
    assert "happycity token create" in text


@pytest.mark.level(2)
async def test_used_socket_is_not_taken_over(tmp_path: Path) -> None:
    """A socket in the file system counts as loopback; one that nobody listens on is taken over."""
    listen = f"unix:{tmp_path}/server.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(f"{tmp_path}/server.sock")
    async with run_server(h.settings(tmp_path, listen=listen)) as server:
        assert server.address == listen
        other = f"sqlite:///{tmp_path}/other.sqlite"
        refusal = await refused_start(tmp_path, listen=listen, store=other)
        assert f"listen: {listen} can't be listened on" in refusal
        async with grpc.aio.insecure_channel(listen) as channel:
            (await h.connected(channel, "one")).cancel()


async def started_match(channel: grpc.aio.Channel) -> list[h.PlayCall]:
    """Begin a match between two bots that never respond; return their streams when both know of it."""
    calls = [await h.connected(channel, name) for name in ("one", "two")]
    await h.matches_at(channel).CreateMatch(**h.terms("one", "two"))
    for call in calls:
        assert (await h.next_response(call)).games_started
    return calls


async def test_no_clock_holds_for_all_matches(tmp_path: Path) -> None:
    """With it a decision has no limit, whatever the match asks for; the log warns of it."""
    with capture_logs() as lines:
        async with h.serving(tmp_path, no_clock=True) as (_, channel):
            call, _ = [await h.connected(channel, name) for name in ("one", "two")]
            await h.matches_at(channel).CreateMatch(**h.terms("one", "two"))
            decisions: list[play.Decision] = []
            while not decisions:
                decisions.extend((await h.next_response(call)).decisions)  # seat 0 begins
            assert not decisions[0].clock.HasField("time_left_us")
            call.cancel()
    assert ("no_clock", "warning") in [(line["event"], line["log_level"]) for line in lines]


@asynccontextmanager
async def stoppable(
    values: ServerSettings, force: asyncio.Event | None = None
) -> AsyncIterator[tuple[grpc.aio.Channel, asyncio.Event]]:
    """Run a server until an event is set, or the context left; yields a channel to it and the event."""
    stop = asyncio.Event()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def serve() -> None:
        async with run_server(values, force=force) as server:
            address.set_result(server.address)
            await stop.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(serve())
        async with grpc.aio.insecure_channel(await address) as channel:
            yield channel, stop
            stop.set()


async def test_running_matches_are_voided_after_the_grace(tmp_path: Path) -> None:
    """Bots that don't finish in time get a voided match, and the reason for the end of their stream."""
    async with stoppable(h.settings(tmp_path, grace=0.05)) as (channel, stop):
        calls = await started_match(channel)
        stop.set()
        for call in calls:
            reasons: list[int] = []
            while not reasons:
                reasons = [over.outcome.void_reason for over in (await h.next_response(call)).games_over]
            assert reasons == [match_pb2.VOID_REASON_SHUTDOWN]
            assert (await h.end_of(call)).reason == "SHUTTING_DOWN"


@pytest.mark.level(2)
async def test_nothing_starts_while_the_server_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Server and services are NOT_SERVING first; then running matches go on, and nothing else begins."""
    # Watchers never end by themselves.
    monkeypatch.setattr("happycity_server.process.listening.STREAM_CLOSE_SECONDS", 0.1)
    force = asyncio.Event()
    async with stoppable(h.settings(tmp_path, grace=3600.0), force) as (channel, stop):
        calls = await started_match(channel)
        stub = health_pb2_grpc.HealthStub(channel)
        watches = [stub.Watch(health_pb2.HealthCheckRequest(service=service)) for service in ("", *SERVICES)]
        for watch in watches:
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        stop.set()
        for watch in watches:
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        matches = h.matches_at(channel)
        while (refusal := await h.outcome_of(matches.CreateMatch(**h.terms("one", "two")))).reason == "":
            pass  # the lobby closes a moment after health
        assert (refusal.status, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
        assert (await h.outcome_of(h.connected(channel, "late"))).reason == "SHUTTING_DOWN"
        assert not any(call.done() for call in calls)
        force.set()
        for watch in watches:
            assert (await h.end_of(watch)).status is not grpc.StatusCode.OK
