"""How much one caller may ask for: by itself with made-up times, and on a real server."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server import harness as h
from tests.server.api.tournaments import config as tournament_config
from tests.server.gateways import served

from happycity.v1 import play_service_pb2 as play
from happycity_runtime.tokens import Role
from happycity_server.access.gate import OPEN_STREAM_CALLS, RateLimits
from happycity_server.api.matches import REPLAY_CALLS
from happycity_server.errors import ApiError

GET_MATCH = "/happycity.v1.MatchService/GetMatch"
PLAY = "/happycity.v1.PlayService/Play"
HEALTH = "/grpc.health.v1.Health/Check"
FAR = ("x-forwarded-for", "192.0.2.7")
BOTH_WAYS = pytest.mark.parametrize("by_gateway", [False, True], ids=["direct", "by gateway"])


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
    clock = h.Clock()
    clock.now = 0.0
    rates = RateLimits(rate=rate, burst=burst, clock=clock)
    for now, wait in zip(times, waits, strict=True):
        clock.now = now
        refusing = pytest.raises(ApiError) if wait else nullcontext()
        with refusing as caught:
            rates.take("alice")
        assert (caught.value.details.retry_seconds if caught else 0) == wait


def test_what_costs_more_than_a_burst_is_owed() -> None:
    """It is allowed after a pause, and then it takes longer until the next call."""
    clock = h.Clock()
    began = clock.now
    rates = RateLimits(rate=1.0, burst=3, clock=clock)
    rates.take("alice", 10)
    for passed in (0.0, 7.5):
        clock.now = began + passed
        with pytest.raises(ApiError) as caught:
            rates.take("alice")
        assert caught.value.details.retry_seconds == 8.0 - passed
    clock.now = began + 8.0
    rates.take("alice")


def test_quiet_callers_are_forgotten() -> None:
    """Memory holds those that called lately, not all that ever did, and nobody has to ask for that."""
    clock = h.Clock()
    rates = RateLimits(rate=1.0, burst=2, clock=clock)
    most = 0
    for number in range(5000):
        rates.take("alice" if number == 4900 else f"stranger {number}", 2)
        clock.now += 0.01
        most = max(most, len(rates))
    assert most < 500
    with pytest.raises(ApiError):  # a second ago she had a burst
        rates.take("alice", 1.5)


@BOTH_WAYS
async def test_rates_are_counted_by_token(tmp_path: Path, *, by_gateway: bool) -> None:
    """Two tokens on one machine do not share a rate, and trying wrong ones has the machine's."""
    path = tmp_path / "tokens.json"
    one, other = (h.bearer(h.issued_token(path, Role.OBSERVER, name)) for name in ("one", "other"))
    wrong = (*h.bearer("hc_00000000_wrong"), FAR)
    values: dict[str, Any] = {"tokens": path, "calls_per_second": 0.001, "calls_burst": 1}
    async with served(tmp_path, by_gateway=by_gateway, **values) as channel:
        outcomes = [await h.called(channel, GET_MATCH, who) for who in (one, one, other, wrong, wrong)]
    reasons = [outcome.reason for outcome in outcomes]
    assert reasons == ["UNKNOWN_MATCH", "RATE_LIMITED", "UNKNOWN_MATCH", "UNAUTHENTICATED", "RATE_LIMITED"]
    assert outcomes[1].status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert 0 < (outcomes[1].retry_seconds or 0) <= 1000


@BOTH_WAYS
async def test_streams_count_as_calls(tmp_path: Path, *, by_gateway: bool) -> None:
    """A bot that connects again and again is slowed down; on an open server more streams may come at once."""
    path = tmp_path / "tokens.json"
    one = h.bearer(h.issued_token(path, Role.BOT, "one"))
    values: dict[str, Any] = {"calls_per_second": 0.001, "calls_burst": 2}
    async with served(tmp_path, by_gateway=by_gateway, tokens=path, **values) as channel:
        reasons = [(await h.called(channel, PLAY, one)).reason for _ in range(3)]
    assert reasons == ["HELLO_EXPECTED", "HELLO_EXPECTED", "RATE_LIMITED"]
    async with served(tmp_path, by_gateway=by_gateway, **values) as channel:
        often = range(round(2 / OPEN_STREAM_CALLS) + 1)
        reasons = [(await h.called(channel, PLAY, (FAR,))).reason for _ in often]
    assert reasons == [*["HELLO_EXPECTED"] * (len(reasons) - 1), "RATE_LIMITED"]


@pytest.mark.level(2)
async def test_games_that_are_played_again_cost_more(tmp_path: Path) -> None:
    """To show a finished game that is not kept counts as several calls; while it is kept, as one."""
    async with h.serving(tmp_path, house="one=random,two=random") as (_, channel):
        await h.met(channel, "one", "two", "one")
    values: dict[str, Any] = {"calls_per_second": 0.001, "calls_burst": REPLAY_CALLS + 5}
    async with h.serving(tmp_path, **values) as (_, channel):
        matches, reasons = h.matches_at(channel), []
        for number in (1, 1, 2, 1):  # a call begins when it is made, so each is made after the one before
            watch = matches.WatchMatch(match_id=number)
            reasons.append((await h.outcome_of(watch.read())).reason)
    assert reasons == ["", "", "RATE_LIMITED", ""]


@BOTH_WAYS
async def test_streams_of_an_address_are_limited(tmp_path: Path, *, by_gateway: bool) -> None:
    """One stream too many is refused; when one has ended there is room again."""
    async with served(tmp_path, by_gateway=by_gateway, streams_per_peer=2) as channel:
        first = await h.connected(channel, "one", (FAR,))
        second = await h.connected(channel, "two", (FAR,))
        outcome = await h.called(channel, PLAY, (FAR,))
        assert (outcome.reason, outcome.metadata) == ("TOO_MANY_STREAMS", {"limit": "2"})
        assert outcome.retry_seconds == 1.0
        await first.write(play.PlayRequest(goodbye=play.Goodbye()))
        assert (await h.end_of(first)).status is grpc.StatusCode.OK
        third = await h.connected(channel, "three", (FAR,))
        other = await h.connected(channel, "four", (("x-forwarded-for", "192.0.2.8"),))
        for call in (second, third, other):
            call.cancel()


async def test_open_matches_and_tournaments_are_limited(tmp_path: Path) -> None:
    """More than may be open at once are refused, however fast they are asked for."""
    async with h.serving(tmp_path, open_matches=2, open_tournaments=1) as (_, channel):
        matches, tournaments = h.matches_at(channel), h.tournaments_at(channel)
        config = tournament_config("absent1", "absent2")
        for calls, allowed in (
            ([matches.CreateMatch(**h.terms("absent1", "absent2")) for _ in range(5)], 2),
            ([tournaments.CreateTournament(config=config) for _ in range(5)], 1),
        ):
            outcomes = await asyncio.gather(*map(h.outcome_of, calls))
            reasons = sorted(outcome.reason for outcome in outcomes)
            assert reasons == [*[""] * allowed, *["TOO_MANY_OPEN"] * (5 - allowed)]
