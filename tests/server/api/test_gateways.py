"""Gateways: who may be one, what the server believes of one, and what bots notice of it.

`test_play.py` has that streams begin and end by a gateway as they do without.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from tests.server import harness as h
from tests.server.api.arena import AT_ONCE, Arena, arena_with
from tests.server.gateways import gateway, joined
from tests.server.play.arena import Arena as LocalArena
from tests.server.test_metrics import scraped

from happycity import TimeControl
from happycity.gateway.v1beta1 import gateway_service_pb2 as pb
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity_runtime.addresses import TrustedProxies
from happycity_runtime.event_loop import end_tasks, running
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_server.access.gate import Authenticator, Gate, RateLimits
from happycity_server.access.roles import PUBLIC_SERVICES, method_of
from happycity_server.access.token_file import revoke_token
from happycity_server.api.play import PlayService
from happycity_server.errors import ApiError, ListenError
from happycity_server.places.protocol import CHECK_SECONDS, SILENT_CHECKS, VERSION, until_silent
from happycity_server.play.outbox import HOP_SECONDS
from happycity_server.workers import gateway as program
from happycity_server.workers.gateway import GatewayService

GET_MATCH = "/happycity.v1.MatchService/GetMatch"
PLAY = "/happycity.v1.PlayService/Play"


def spoken(*messages: tuple[int, bytes, int]) -> dict[str, Any]:
    """Return the fields of messages, each with its stream and the microsecond in which it was read."""
    speaking, requests, read_at_us = zip(*messages, strict=True)
    return {"speaking": speaking, "requests": requests, "read_at_us": read_at_us}


class ScriptedGateway:
    """A gateway that says what the test wants, without gRPC, with one bot on stream 1."""

    def __init__(self, service: GatewayService) -> None:
        self.received = play.PlayResponse()
        self.ended: list[pb.Ended] = []
        self._said, self._answers = asyncio.Queue[pb.CarryRequest](), asyncio.Queue[pb.CarryResponse]()
        self._taken = asyncio.Event()  # the server asks for more
        context: Any = SimpleNamespace(read=self._next, write=self._answers.put)
        self.carrying = asyncio.create_task(service.Carry(None, context))

    async def _next(self) -> pb.CarryRequest:
        self._taken.set()
        return await self._said.get()

    async def say(self, **parts: Any) -> None:
        await self._said.put(pb.CarryRequest(**parts))

    async def join(self) -> None:
        await self.say(hello=pb.Hello(name="scripted", version=VERSION))
        await self.read()

    async def send(self, *requests: play.PlayRequest, read_at_us: int) -> None:
        """Send messages of the bot, and that all was written to it."""
        messages = [(1, request.SerializeToString(), read_at_us) for request in requests]
        await self.say(written=[1], **spoken(*messages))

    async def read(self) -> None:
        response = await self._answers.get()
        self.ended += response.ended
        for batch in response.batches:
            self.received.MergeFrom(play.PlayResponse.FromString(batch))

    async def decision(self) -> play.Decision:
        """Read until a decision is asked; return it."""
        while not self.received.decisions:
            await self.read()
        decision = play.Decision()
        decision.CopyFrom(self.received.decisions[-1])
        del self.received.decisions[:]
        return decision

    async def answer(self, decision: play.Decision, *, read_at: float) -> None:
        """Answer a decision, and let the server take that."""
        answer = play.Answer(match_id=decision.match_id, decision_id=decision.decision_id)
        await self.send(play.PlayRequest(answers=[answer]), read_at_us=max(0, int(read_at * 1e6)))
        await self.taken()

    async def taken(self) -> None:
        """Wait until the server has taken what was said."""
        self._taken.clear()
        await self._taken.wait()

    async def greet(self, name: str) -> None:
        """Let a bot come, and read its welcome."""
        hello = h.hello(name)
        await self.say(opened=[pb.Opened(stream=1, address="192.0.2.1")])
        await self.send(hello, read_at_us=0)
        while not self.received.HasField("welcome"):
            await self.read()
        await self.say(written=[1])


@pytest.fixture
def local() -> LocalArena:
    """Return a lobby whose time the test moves."""
    return LocalArena()


@pytest.fixture
async def own(local: LocalArena) -> AsyncIterator[ScriptedGateway]:
    """Join a lobby, of which all callers may do everything."""
    scripted = ScriptedGateway(service_of(local))
    await scripted.join()
    yield scripted
    await end_tasks(scripted.carrying)


def service_of(local: LocalArena) -> GatewayService:
    gate = Gate(
        Authenticator(None, now=lambda: datetime.now(UTC), is_open=True),
        rates=RateLimits(rate=100.0, burst=1000, clock=lambda: local.now),
        streams_per_token=10,
        streams_per_peer=10,
        proxies=TrustedProxies(),
    )
    service = PlayService(local.lobby, hello_seconds=10.0, is_hosted=lambda bot: False)
    return GatewayService(gate, service, pb.Conditions(), lambda: local.now)


@pytest.mark.parametrize(
    ("under_way", "claimed", "charged"),
    [
        pytest.param(0.2, 0.2, 2.0, id="the way to the server isn't charged"),
        pytest.param(0.0, 2.0, 2.0 - HOP_SECONDS, id="a lie about the past goes so far"),
        pytest.param(0.0, -1000.0, 2.0, id="and none about the future"),
    ],
)
async def test_time_of_a_bot_at_a_gateway(
    local: LocalArena, own: ScriptedGateway, under_way: float, claimed: float, charged: float
) -> None:
    """The moment that a gateway names counts as far as the server's own clock allows."""
    await own.greet("anna")
    match = await local.match("anna", "anna")
    decision = await own.decision()
    local.wait(2.0 + under_way)
    await own.answer(decision, read_at=local.now - claimed)
    assert match.referee._last_think_us[decision.view.seat] == pytest.approx(charged * 1e6, abs=2)


async def test_answer_that_was_read_in_time_counts(local: LocalArena, own: ScriptedGateway) -> None:
    """It may come a little after the deadline; when none comes, the decision is late a little later."""
    await own.greet("anna")
    match = await local.match("anna", "anna", time=TimeControl(decision_seconds=1.0, margin_seconds=0.0))
    decision = await own.decision()
    local.wait(1.0 + HOP_SECONDS - 0.1)
    await own.answer(decision, read_at=local.now - HOP_SECONDS)
    decision = await own.decision()
    assert not match.referee.incidents
    local.wait(1.0 + HOP_SECONDS + 0.1)
    assert [incident.decision_id for incident in match.referee.incidents] == [decision.decision_id]


async def test_gateway_names_streams_that_are_gone(own: ScriptedGateway) -> None:
    """A stream may have ended meanwhile, so that changes nothing."""
    await own.say(written=[5], closed=[6], **spoken((7, b"\xff", 0)))
    await own.greet("anna")


async def test_gateway_uses_a_number_twice(own: ScriptedGateway) -> None:
    """It is at fault, and has to join again."""
    await own.say(opened=[pb.Opened(stream=1, address="192.0.2.1")] * 2)
    with pytest.raises(ApiError, match=r"opened\.stream: 1 is open already"):
        await own.carrying


async def test_bots_of_a_gateway_fail_alone(own: ScriptedGateway) -> None:
    """A message that can't be read, or comes before the welcome, ends its own stream."""
    opened = [pb.Opened(stream=number, address="192.0.2.1") for number in (2, 3)]
    hello = h.hello("ben").SerializeToString()
    await own.say(opened=opened, **spoken((2, b"\xff\xff", 0), (3, hello, 0), (3, b"", 0)))
    while len(own.ended) < 2:
        await own.read()
    assert {ended.stream for ended in own.ended} == {2, 3}
    assert {ended.code for ended in own.ended} == {grpc.StatusCode.INVALID_ARGUMENT.value[0]}
    await own.greet("anna")


async def test_gateway_of_another_version_is_refused(local: LocalArena) -> None:
    own = ScriptedGateway(service_of(local))
    await own.say(hello=pb.Hello(name="scripted", version="0.0.1"))
    with pytest.raises(ApiError, match=f"install happycity {VERSION} for the gateway"):
        await own.carrying


async def test_silence_of_a_gateway_is_noticed(local: LocalArena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bots are away after 15 s without a message, and may come by another one."""
    checks = asyncio.Queue[None]()
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await checks.get()

    monkeypatch.setattr(program, "until_silent", partial(until_silent, sleep=sleep))
    own = ScriptedGateway(service_of(local))
    await own.join()
    await own.greet("anna")
    for _ in range(SILENT_CHECKS):  # it says something before each
        checks.put_nowait(None)
        await own.say()
        await own.taken()
    assert local.lobby.is_connected("anna")
    before = len(waited)
    for _ in range(SILENT_CHECKS + 1):
        checks.put_nowait(None)
    await own.carrying
    assert not local.lobby.is_connected("anna")
    assert sum(waited[before:]) <= SILENT_CHECKS * CHECK_SECONDS == 15.0


async def test_gateway_without_bots_gives_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which the server sees that it is there."""
    monkeypatch.setattr(program, "CHECK_SECONDS", 0.001)
    said = asyncio.Queue[pb.CarryRequest]()
    call, channel = SimpleNamespace(write=said.put), grpc.aio.insecure_channel("127.0.0.1:1")
    async with channel, running(program.Gateway(h.settings(tmp_path), Access(), channel)._write(call)):
        assert [await said.get() for _ in range(3)] == [pb.CarryRequest()] * 3


async def test_metrics_of_a_gateway(tmp_path: Path) -> None:
    """It counts what it carries, and the server counts it."""
    own = "127.0.0.1:0"
    async with h.serving(tmp_path, metrics=own) as (server, _), joined(server.address, metrics=own) as at:
        async with grpc.aio.insecure_channel(str(at["listening"])) as channel:
            await h.connected(channel, "anna")
            found = await scraped(str(at["metrics"]))
            assert found["happycity_gateway_streams", ""] == 1
            assert found["happycity_gateway_messages_total", "bots"] == 1
            assert found["happycity_gateway_messages_total", "server"] == 1
            assert found["process_resident_memory_bytes", ""] > 0
        assert server.metrics is not None
        assert (await scraped(server.metrics))["happycity_gateways", ""] == 1


@pytest.mark.level(2)
async def test_limits_hold_by_the_addresses_of_bots(tmp_path: Path) -> None:
    """Calls and streams through a gateway count by their callers, who can't choose their addresses."""
    values: dict[str, Any] = {"calls_per_second": 0.001, "calls_burst": 2, "streams_per_peer": 1}
    path = tmp_path / "tokens.json"
    token = h.issued_token(path, Role.GATEWAY, "gate")
    near = ("x-forwarded-for", "192.0.2.1")
    async with h.serving(tmp_path, tokens=path, public=True, **values) as (server, direct):

        async def asked(channel: grpc.aio.Channel, *metadata: tuple[str, str]) -> str:
            return (await h.called(channel, GET_MATCH, metadata)).reason

        async with gateway(server.address, token) as address, grpc.aio.insecure_channel(address) as channel:
            assert [await asked(channel, near) for _ in range(3)] == ["UNKNOWN_MATCH"] * 2 + ["RATE_LIMITED"]
            assert await asked(channel) == "RATE_LIMITED"  # it is the same machine, whatever it said
            assert await asked(direct, near, ("happycity-gateway", "hc_00000000_x")) == "RATE_LIMITED"
        behind = {"trusted_proxy": "127.0.0.1"}
        async with (
            gateway(server.address, token, **behind) as address,
            grpc.aio.insecure_channel(address) as channel,
        ):
            assert [await asked(channel, near) for _ in range(3)] == ["UNKNOWN_MATCH"] * 2 + ["RATE_LIMITED"]
            wrong, far = h.bearer("hc_00000000_wrong"), ("x-forwarded-for", "192.0.2.2")
            tried = [(await h.called(channel, PLAY, (*wrong, one))).reason for one in (near, far)]
            assert tried == ["RATE_LIMITED", "UNAUTHENTICATED"]


def test_streamed_methods_are_those_of_the_contract() -> None:
    """All others have one message, which the gateway reads before it calls."""
    for service, methods in PUBLIC_SERVICES.items():
        for path in (f"/{service}/{name}" for name in methods):
            assert method_of(path).client_streaming == (path == PLAY or path.endswith(program.STREAMED))


async def test_refused_calls_keep_their_reasons(tmp_path: Path) -> None:
    """Also where the server refuses them before it has read their message, however many do that at once."""
    values: dict[str, Any] = {"calls_per_second": 0.001, "calls_burst": 2, "by_gateway": True}
    async with arena_with(tmp_path, **values) as arena:
        asked = await asyncio.gather(*(h.called(arena.channel, GET_MATCH) for _ in range(100)))
    assert sorted(each.reason for each in asked) == ["RATE_LIMITED"] * 99 + ["UNKNOWN_MATCH"]


@pytest.mark.level(2)
async def test_tokens_hold_through_a_gateway(tmp_path: Path) -> None:
    """A bot shows its own; the gateway's plays nothing, and when that is revoked, its bots are sent away."""
    path = tmp_path / "tokens.json"
    anna, token = h.issued_token(path, Role.BOT, "anna"), h.issued_token(path, Role.GATEWAY, "gate")
    async with (
        h.serving(tmp_path, tokens=path) as (server, _),
        gateway(server.address, token) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        for shown, name, reason in (
            (None, "anna", "UNAUTHENTICATED"),
            ("hc_00000000_x", "anna", "UNAUTHENTICATED"),
            (token, "anna", "WRONG_ROLE"),
            (anna, "ben", "WRONG_NAME"),
        ):
            call = PlayServiceStub(channel).Play(metadata=() if shown is None else h.bearer(shown))
            await call.write(h.hello(name))
            assert (await h.end_of(call)).reason == reason
        own = await h.connected(channel, "anna", h.bearer(anna))
        assert (await h.called(channel, GET_MATCH, h.bearer(anna))).reason == "UNKNOWN_MATCH"
        for internal in ("worker.v1.WorkerService/Work", "gateway.v1beta1.GatewayService/Carry"):
            call = channel.stream_stream(f"/happycity.{internal}")(metadata=h.bearer(token))
            assert (await h.end_of(call)).status is grpc.StatusCode.UNIMPLEMENTED
        revoke_token(path, token.split("_")[1])
        ended = await h.end_of(own)
        assert (ended.status, ended.reason) == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")


async def test_open_server_is_not_opened_to_others_by_a_gateway(tmp_path: Path) -> None:
    """On an open server every caller may do everything, so its gateway listens to this machine alone."""
    async with h.serving(tmp_path) as (_, channel):
        with pytest.raises(ListenError, match="tokens"):
            await program.join({"listen": "0.0.0.0:0"}, Access(), "gate", channel)


async def test_lost_gateway_costs_a_reconnect(arena: Arena) -> None:
    """Its bot goes on by another one, with the same decision, and nothing is forfeited."""
    ben = await arena.connect("ben")
    async with gateway(arena.address) as first:
        anna = await arena.connect("anna", to=first)
        match = await arena.create("anna", "ben")
        decision = await anna.decision()
    ended = await anna.ended()
    assert (ended.status, ended.reason) == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    async with gateway(arena.address) as second:
        token = anna.received.welcome.resume_token
        back = await arena.connect("anna", to=second, resume_token=token)
        assert back.received.welcome.match_ids == [match.match_id]
        same = await back.decision()
        assert same.decision_id == decision.decision_id
        await back.answer(same)
        await asyncio.gather(back.play_to_end(), ben.play_to_end())
    assert [seat.ending for seat in (await arena.finished(match.match_id)).outcome.result.seats] == [
        match_pb2.ENDING_FINISHED
    ] * 2


async def test_practice_and_lists_work_through_a_gateway(tmp_path: Path) -> None:
    """What SDKs call besides playing is passed on, streams and errors included."""
    async with arena_with(tmp_path, by_gateway=True) as arena:
        match = await arena.create("ghost", "ghost", time_control=AT_ONCE)
        watching = arena.matches.WatchMatch(match_id=match.match_id)
        assert (await h.end_of(watching)).status is grpc.StatusCode.OK
        assert (await arena.match(match.match_id)).match_id == match.match_id
        assert (await h.outcome_of(arena.matches.GetMatch(match_id=77))).reason == "UNKNOWN_MATCH"
