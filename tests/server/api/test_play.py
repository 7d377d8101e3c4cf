"""Play streams over real gRPC: losing them, and how they end.

What happens to sessions and games then is held by `tests/server/play`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.api.arena import AT_ONCE, Arena, arena_with
from tests.server.cables import Cable
from tests.server.harness import Clock, Outcome, end_of, exchanged, hello

from happycity import Ending
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import PROTOCOL_VERSION
from happycity_server.play.session import Session
from happycity_server.process import listening

FINISHED, DISCONNECTED = match_pb2.ENDING_FINISHED, match_pb2.ENDING_DISCONNECTED
TINY_WINDOW = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1_000))
"""Lets a client that doesn't read hold up its server after little."""


HASTY: dict[str, Any] = {
    "time_control": match_pb2.TimeControl(
        connect_time=duration_message(0.0), decision_time=duration_message(0.1)
    ),
    "failure_policy": match_pb2.FailurePolicy(max_strikes=1000, grace_time=duration_message(0.0)),
}
"""The terms of matches that begin at once, and whose seats are forfeited as soon as the bot is away."""


@pytest.fixture(params=[False, True], ids=["direct", "by gateway"])
def by_gateway(request: pytest.FixtureRequest) -> bool:
    """Return whether a gateway is between the bots and the server, which must make no difference."""
    return bool(request.param)


@pytest.fixture
async def arena(tmp_path: Path, *, by_gateway: bool) -> AsyncIterator[Arena]:
    async with arena_with(tmp_path, by_gateway=by_gateway) as running:
        yield running


def endings(over: play.GameOver) -> list[int]:
    return [seat.ending for seat in over.outcome.result.seats]


@asynccontextmanager
async def running(clock: Clock) -> AsyncIterator[None]:
    task = asyncio.create_task(clock.run())
    yield
    task.cancel()


@pytest.mark.level(2)
@pytest.mark.parametrize("loss", ["cut", "die"])
async def test_lost_connection_is_resumed_in_the_middle_of_a_decision(arena: Arena, loss: str) -> None:
    """The bot comes back, gets the same decision again and finishes; whether its server noticed or not."""
    ben = await arena.connect("ben")
    async with Cable.to(arena.address) as cable:
        anna = await arena.connect("anna", to=cable.address)
        match = await arena.create("anna", "ben")
        decision = await anna.decision()
        getattr(cable, loss)()
        back = await arena.again(anna)
        assert back.received.welcome.match_ids == [match.match_id]
        same = await back.decision()
    assert list(back.received.games_started) == list(anna.received.games_started)
    assert same.clock.time_left_us <= decision.clock.time_left_us
    same.clock.time_left_us = decision.clock.time_left_us
    assert same == decision
    await back.answer(same)
    over, _ = await asyncio.gather(back.play_to_end(), ben.play_to_end())
    assert endings(over) == [FINISHED, FINISHED]
    assert (await arena.record(match.match_id))["endings"] == [Ending.FINISHED.value] * 2


@pytest.mark.level(2)
async def test_stream_of_a_program_that_is_replaced_ends(arena: Arena) -> None:
    anna = await arena.connect("anna")
    await arena.connect("anna")
    ended = await anna.ended()
    assert (ended.status, ended.reason) == (grpc.StatusCode.ABORTED, "REPLACED")
    assert ended.retry_seconds is None  # or two programs of one name would replace each other for ever


async def test_goodbye_ends_in_good_order(arena: Arena) -> None:
    """The bot gets what was under way before its stream ends."""
    anna = await arena.connect("anna")
    await arena.create("anna", "ghost", time_control=AT_ONCE)
    await anna.decision()
    await anna.say(answers=[play.Answer(match_id=77)], goodbye=play.Goodbye())
    await anna.until(lambda received: len(received.notices) == 2)
    assert anna.notices == [play.NOTICE_KIND_UNKNOWN_MATCH, play.NOTICE_KIND_FORFEIT]
    assert await anna.ended() == Outcome()


@pytest.mark.level(2)
async def test_stream_that_its_bot_closes_can_be_resumed(arena: Arena) -> None:
    """However orderly it ends, without a goodbye nothing is forfeited."""
    anna = await arena.connect("anna")
    await arena.create("anna", "anna")
    await anna.decision()
    await anna.call.done_writing()
    assert await anna.ended() == Outcome()
    assert (await (await arena.again(anna)).decision()).decision_id == 1


@pytest.mark.level(2)
async def test_error_of_the_server_ends_one_stream(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The bot gets INTERNAL without details, which are logged, and may resume its games."""
    anna = await arena.connect("anna")
    await arena.create("anna", "anna")
    decision = await anna.decision()

    def fail(*_: object) -> None:
        raise RuntimeError("a defect of the arena")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "receive", fail)
        await anna.answer(decision)
        ended = await anna.ended()
    assert (ended.status, ended.text) == (
        grpc.StatusCode.INTERNAL,
        "the server failed; its log says why",
    )
    assert "a defect of the arena" in capfd.readouterr().err
    back = await arena.again(anna)
    assert back.received.welcome.match_ids == [decision.match_id]
    assert endings(await back.play_to_end()) == [FINISHED, FINISHED]


@pytest.mark.level(2)
async def test_dead_connection_is_noticed_by_its_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_gateway: bool
) -> None:
    """A cable that carries nothing looks open, but HTTP/2's keepalive ends it, and the seat is forfeited."""
    hasty = [(option, 1000) for option, _ in listening._KEEPALIVE]
    monkeypatch.setattr(listening, "_KEEPALIVE", hasty)
    async with arena_with(tmp_path, by_gateway=by_gateway) as arena, Cable.to(arena.address) as cable:
        await arena.connect("anna", to=cable.address)
        cable.die()
        patient = match_pb2.TimeControl(
            connect_time=duration_message(0.0), decision_time=duration_message(3600.0)
        )
        match = await arena.create("ghost", "anna", **{**HASTY, "time_control": patient})
        async with running(arena.clock):
            match = await arena.finished(match.match_id)
        assert [seat.ending for seat in match.outcome.result.seats] == [match_pb2.ENDING_ABSENT, DISCONNECTED]


async def test_bot_that_does_not_read_gets_the_reason(tmp_path: Path, *, by_gateway: bool) -> None:
    """Its stream ends with a reason that allows another attempt at once, and it may resume."""
    async with arena_with(tmp_path, by_gateway=by_gateway, stall_time=0.3) as arena:
        anna = await arena.connect("anna", options=TINY_WINDOW)
        await anna.say(answers=[play.Answer(match_id=number) for number in range(1000, 1100)])
        match = await arena.create("anna", "ghost", **HASTY)
        async with running(arena.clock):
            match = await arena.finished(match.match_id)
        assert match.outcome.result.seats[0].ending == DISCONNECTED
        ended = await anna.ended()
        assert (ended.status, ended.reason) == (grpc.StatusCode.ABORTED, "STALLED")
        assert ended.retry_seconds == 0.0


REFUSED = grpc.StatusCode.INVALID_ARGUMENT
UNEXPECTED = Outcome(REFUSED, "HELLO_EXPECTED")


def invalid(*fields: str) -> Outcome:
    return Outcome(REFUSED, "INVALID_FIELD", fields=fields)


STREAMS: list[tuple[tuple[play.PlayRequest | bytes, ...], Outcome]] = [
    ((), UNEXPECTED),
    ((b"",), UNEXPECTED),
    ((play.PlayRequest(answers=[play.Answer(match_id=1)]), hello("anna")), UNEXPECTED),
    ((b"\xff\xff\xff",), invalid()),
    ((hello("anna"), b"\xff\xff\xff"), invalid()),
    ((hello("anna"), hello("anna")), invalid("hello")),
    ((hello("anna"), play.PlayRequest(answers=[play.Answer()] * 20_000)), invalid("answers")),
    ((hello("anna"), play.PlayRequest(resigns=[play.Resign()] * 20_000)), invalid("resigns")),
    ((hello(""),), invalid("hello.name")),
    ((hello("a b"),), invalid("hello.name")),
    ((hello("a" * 65),), invalid("hello.name")),
    ((hello("anna", max_games=0),), invalid("hello.max_games")),
    ((hello("anna", max_games=1), b"", b""), Outcome()),
    ((hello("anna", max_games=2**32 - 1), play.PlayRequest(goodbye=play.Goodbye())), Outcome()),
    ((hello("anna", resume_token="ü" * 300), b""), Outcome()),
    ((play.PlayRequest(hello=play.Hello(protocol_version=1)),), invalid("hello.name")),
]


@pytest.mark.level(2)
async def test_streams_end_as_the_contract_says(arena: Arena, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever a bot sends, the server answers with a typed reason and has no error of its own."""
    for messages, expected in STREAMS:
        _, ended = await exchanged(arena.address, *messages)
        assert (ended.status, ended.reason, ended.fields) == (
            expected.status,
            expected.reason,
            expected.fields,
        ), messages
    output = capfd.readouterr()
    assert "Traceback" not in output.out + output.err


OLDER, NEWER = "a protocol from before version 1", "protocol version 2"
ADVICE = {
    0: f"the bot speaks {OLDER}, this server protocol version 1; update the bot's SDK",
    2: f"the bot speaks {NEWER}, this server protocol version 1; use an older SDK, or update the server",
}


@pytest.mark.parametrize("version", ADVICE)
async def test_other_protocol_is_refused(arena: Arena, version: int) -> None:
    """A bot of another version than the server's learns which one is needed; one that says none is older."""
    call = PlayServiceStub(arena.channel).Play()
    await call.write(hello("anna", protocol_version=version))
    ended = await end_of(call)
    assert (ended.status, ended.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PROTOCOL_VERSION")
    assert ended.metadata == {"version": str(version), "needed": str(PROTOCOL_VERSION)}
    assert ended.text == ADVICE[version]


async def test_hello_must_come_in_time(tmp_path: Path, *, by_gateway: bool) -> None:
    async with arena_with(tmp_path, by_gateway=by_gateway, hello_time=0.05) as arena:
        ended = await end_of(PlayServiceStub(arena.channel).Play())
        assert (ended.status, ended.reason) == (REFUSED, "HELLO_EXPECTED")
        assert "no hello within 0.05 s" in ended.text
