"""How much one caller may ask for: by itself with made-up times, and on a real server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.harness import (
    PATIENT,
    bearer,
    between,
    called,
    connected,
    end_of,
    issued_token,
    refused,
    serving,
)

from happycity import Config
from happycity.runtime.tokens import Role
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.messages import config_message
from happycity_server.access.gate import OPEN_STREAM_CALLS, RateLimits
from happycity_server.api.matches import REPLAY_CALLS
from happycity_server.errors import ApiError, Reason

GET_MATCH = "/happycity.v1.MatchService/GetMatch"
PLAY = "/happycity.v1.PlayService/Play"
WATCH_MATCH = "/happycity.v1.MatchService/WatchMatch"
HEALTH = "/grpc.health.v1.Health/Check"


class FakeClock:
    """Stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


# By themselves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "burst", "times", "waits"),
    [
        pytest.param(
            2.0, 3, (0.0, 0.0, 0.0, 0.0, 0.25, 0.5, 0.5), (0, 0, 0, 0.5, 0.25, 0, 0.5), id="burst, then rate"
        ),
        pytest.param(100.0, 2, (0.0, 1000.0, 1000.0, 1000.0), (0, 0, 0, 0.01), id="a pause earns one burst"),
    ],
)
def test_burst_and_rate(rate: float, burst: int, times: Sequence[float], waits: Sequence[float]) -> None:
    """A caller may have a burst at once, and then the rate; a refusal says how long to wait."""
    clock = FakeClock()
    rates = RateLimits(rate=rate, burst=burst, clock=clock)
    for now, wait in zip(times, waits, strict=True):
        clock.now = now
        refusing = pytest.raises(ApiError) if wait else nullcontext()
        with refusing as caught:
            rates.take("alice")
        assert (caught.value.details.retry_seconds if caught else 0) == wait


def test_what_costs_more_than_a_burst_is_owed() -> None:
    """It is allowed after a pause, and then it takes longer until the next call."""
    clock = FakeClock()
    rates = RateLimits(rate=1.0, burst=3, clock=clock)
    rates.take("alice", 10)
    for clock.now in (0.0, 7.5):
        with pytest.raises(ApiError) as caught:
            rates.take("alice")
        assert caught.value.details.retry_seconds == 8.0 - clock.now
    clock.now = 8.0
    rates.take("alice")


def test_callers_have_rates_of_their_own() -> None:
    """One caller's calls cost another nothing; the refusal says when to try again."""
    clock = FakeClock()
    rates = RateLimits(rate=4.0, burst=1, clock=clock)
    rates.take("alice")
    with pytest.raises(ApiError) as caught:
        rates.take("alice")
    assert caught.value.reason is Reason.RATE_LIMITED
    assert caught.value.details.retry_seconds == 0.25
    rates.take("bob")
    clock.now = 0.25
    rates.take("alice")


def test_quiet_callers_are_forgotten() -> None:
    """Memory holds those that called lately, not all that ever did."""
    clock = FakeClock()
    rates = RateLimits(rate=1.0, burst=2, clock=clock)
    for caller in ("alice", "bob"):
        rates.take(caller)
    clock.now = 0.5
    rates.take("bob")
    clock.now = 1.0
    rates.sweep()
    assert len(rates) == 1
    clock.now = 2.0
    rates.sweep()
    assert len(rates) == 0


# On a real server ----------------------------------------------------------------------------------------


@asynccontextmanager
async def channel_to(folder: Path, **values: Any) -> AsyncIterator[grpc.aio.Channel]:
    """Run a server and give a channel to it."""
    async with serving(folder, **values) as (_, channel):
        yield channel


async def test_too_many_calls_are_refused(tmp_path: Path) -> None:
    """The refusal of a caller that is too fast says when to try again."""
    async with channel_to(tmp_path, calls_per_second=0.001, calls_burst=2) as channel:
        outcomes = [await called(channel, GET_MATCH) for _ in range(3)]
    assert [outcome.reason for outcome in outcomes] == ["UNKNOWN_MATCH", "UNKNOWN_MATCH", "RATE_LIMITED"]
    assert outcomes[-1].status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert outcomes[-1].retry_seconds is not None
    assert 0 < outcomes[-1].retry_seconds <= 1000


async def test_rates_are_counted_by_token(tmp_path: Path) -> None:
    """Two tokens on one machine do not share a rate, and trying wrong ones has the machine's."""
    path = tmp_path / "tokens.json"
    one, other = (bearer(issued_token(path, Role.OBSERVER, name)) for name in ("one", "other"))
    wrong = bearer("hc_00000000_wrong")
    async with channel_to(tmp_path, tokens=path, calls_per_second=0.001, calls_burst=1) as channel:
        reasons = [(await called(channel, GET_MATCH, who)).reason for who in (one, one, other, wrong, wrong)]
    assert reasons == ["UNKNOWN_MATCH", "RATE_LIMITED", "UNKNOWN_MATCH", "UNAUTHENTICATED", "RATE_LIMITED"]


async def test_streams_count_as_calls(tmp_path: Path) -> None:
    """A bot that connects again and again is slowed down; on an open server more streams may come at once."""
    path = tmp_path / "tokens.json"
    one = bearer(issued_token(path, Role.BOT, "one"))
    values = {"calls_per_second": 0.001, "calls_burst": 2}
    async with channel_to(tmp_path, tokens=path, **values) as channel:
        reasons = [(await called(channel, PLAY, one)).reason for _ in range(3)]
    assert reasons == ["HELLO_EXPECTED", "HELLO_EXPECTED", "RATE_LIMITED"]
    async with channel_to(tmp_path, **values) as channel:
        reasons = [(await called(channel, PLAY)).reason for _ in range(round(2 / OPEN_STREAM_CALLS) + 1)]
    assert reasons == [*["HELLO_EXPECTED"] * (len(reasons) - 1), "RATE_LIMITED"]


async def test_games_that_are_played_again_cost_more(tmp_path: Path) -> None:
    """To show a finished game that is not kept counts as several calls; while it is kept, as one."""
    async with channel_to(tmp_path, house="one=random,two=random") as channel:
        stub = MatchServiceStub(channel)
        for _ in range(2):
            match = await stub.CreateMatch(between("one", "two"))
            await stub.WaitMatch(match_pb.WaitMatchRequest(match_id=match.match_id))
    values = {"calls_per_second": 0.001, "calls_burst": REPLAY_CALLS + 5}
    async with channel_to(tmp_path, **values) as channel:
        watches = [match_pb.WatchMatchRequest(match_id=number).SerializeToString() for number in (1, 1, 2, 1)]
        reasons = [(await called(channel, WATCH_MATCH, request=watch)).reason for watch in watches]
    assert reasons == ["", "", "RATE_LIMITED", ""]


async def test_streams_of_an_address_are_limited(tmp_path: Path) -> None:
    """One stream too many is refused; when one has ended there is room again."""
    async with channel_to(tmp_path, streams_per_peer=2) as channel:
        first = await connected(channel, "one")
        second = await connected(channel, "two")
        outcome = await called(channel, PLAY)
        assert (outcome.reason, outcome.metadata) == ("TOO_MANY_STREAMS", {"limit": "2"})
        assert outcome.retry_seconds == 1.0
        await first.write(play.PlayRequest(goodbye=play.Goodbye()))
        assert (await end_of(first)).status is grpc.StatusCode.OK
        third = await connected(channel, "three")
        for call in (second, third):
            call.cancel()


async def test_streams_of_a_token_are_limited(tmp_path: Path) -> None:
    """The same token has so many streams, whatever other tokens have."""
    path = tmp_path / "tokens.json"
    one, other = (bearer(issued_token(path, Role.BOT, name)) for name in ("one", "other"))
    async with channel_to(tmp_path, tokens=path, streams_per_token=1) as channel:
        first = await connected(channel, "one", one)
        second = await connected(channel, "other", other)
        assert (await called(channel, PLAY, one)).reason == "TOO_MANY_STREAMS"
        for call in (first, second):
            call.cancel()


async def test_calls_that_wait_are_limited_as_streams(tmp_path: Path) -> None:
    """A call that waits for the end of a match counts while it waits, like a watcher of the match."""
    async with channel_to(tmp_path, streams_per_peer=2) as channel:
        stub = MatchServiceStub(channel)
        match = await stub.CreateMatch(between("absent1", "absent2"))
        request = match_pb.WaitMatchRequest(match_id=match.match_id)
        waiting = [asyncio.create_task(outcome_of(stub.WaitMatch, request)) for _ in range(3)]
        done, served = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == ["TOO_MANY_STREAMS"]
        assert (await called(channel, PLAY)).reason == "TOO_MANY_STREAMS"
        for task in served:
            task.cancel()
        await asyncio.wait(served)


async def test_open_matches_are_limited(tmp_path: Path) -> None:
    """More matches than may be open at once are refused, however fast they are asked for."""
    request = between("absent1", "absent2")
    async with channel_to(tmp_path, open_matches=2) as channel:
        stub = MatchServiceStub(channel)
        outcomes = await asyncio.gather(
            *(outcome_of(stub.CreateMatch, request) for _ in range(5)), return_exceptions=False
        )
    assert sorted(outcomes) == ["", "", *["TOO_MANY_OPEN"] * 3]


async def test_open_tournaments_are_limited(tmp_path: Path) -> None:
    """The same holds for tournaments."""
    request = tournament_pb.CreateTournamentRequest(
        config=tournament_pb.TournamentConfig(
            bots=["absent1", "absent2"],
            game=config_message(Config(players=2)),
            random_rounds=tournament_pb.RandomRounds(rounds=1),
            time_control=PATIENT,
        )
    )
    async with channel_to(tmp_path, open_tournaments=1) as channel:
        stub = TournamentServiceStub(channel)
        outcomes = await asyncio.gather(*(outcome_of(stub.CreateTournament, request) for _ in range(4)))
    assert sorted(outcomes) == ["", *["TOO_MANY_OPEN"] * 3]


async def outcome_of(method: Callable[[Any], Any], request: object) -> str:
    """Return the reason for which a call is refused, or nothing."""
    try:
        await method(request)
    except grpc.aio.AioRpcError as error:
        return refused(error).reason
    return ""


async def test_message_that_is_too_large_ends_its_stream_only(tmp_path: Path) -> None:
    """A message above the limit is refused by gRPC itself; other streams of the connection go on."""
    async with channel_to(tmp_path, message_bytes=10_000) as channel:
        call, other = await connected(channel, "large"), await connected(channel, "other")
        await call.write(play.PlayRequest(resigns=[play.Resign(reason="x" * 10_000)]))
        assert (await end_of(call)).status is grpc.StatusCode.RESOURCE_EXHAUSTED
        await other.write(play.PlayRequest(goodbye=play.Goodbye()))
        assert (await end_of(other)).status is grpc.StatusCode.OK


async def test_stream_without_a_hello_is_ended(tmp_path: Path) -> None:
    """A stream whose hello does not come in time is ended."""
    async with channel_to(tmp_path, hello_time=0.05) as channel:
        outcome = await end_of(PlayServiceStub(channel).Play())
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "HELLO_EXPECTED")


@pytest.mark.parametrize(
    "bytes_sent",
    [
        pytest.param(b"\x00\xffGET / HTTP/1.0\r\n\r\n" * 100, id="noise"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(508), id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 900, id="broken HTTP/2"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_garbage_disturbs_no_other_connection(tmp_path: Path, bytes_sent: bytes) -> None:
    """Bytes that are not HTTP/2 end their own connection at most: the streams of others continue."""
    async with serving(tmp_path) as (server, channel):
        call = await connected(channel, "one")
        host, _, port = server.address.rpartition(":")
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(bytes_sent)
            assert (await called(channel, HEALTH)).status is grpc.StatusCode.OK
        await call.write(play.PlayRequest(goodbye=play.Goodbye()))
        assert (await end_of(call)).status is grpc.StatusCode.OK
