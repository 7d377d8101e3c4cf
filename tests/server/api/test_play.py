"""Play streams over real gRPC: losing and resuming them, and how they end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.api.arena import AT_ONCE, Arena, arena_with
from tests.server.harness import Clock, Outcome, refused

from happycity import Ending
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.match import duration_message
from happycity_server.play.lobby import SWEEP_SECONDS
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


def endings(over: play.GameOver) -> list[int]:
    return [seat.ending for seat in over.result.seats]


@asynccontextmanager
async def running(clock: Clock) -> AsyncIterator[None]:
    """Let time pass while the context lasts."""
    task = asyncio.create_task(clock.run())
    yield
    task.cancel()


class Cable:
    """A connection to the server that can be pulled, or be dead without anybody noticing."""

    def __init__(self, address: str) -> None:
        self._target = address.rsplit(":", 1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self._alive = asyncio.Event()
        self._alive.set()

    @classmethod
    @asynccontextmanager
    async def to(cls, address: str) -> AsyncIterator[tuple[Cable, str]]:
        """Lay a cable to an address; yields it and the address of its other end."""
        cable = cls(address)
        server = await asyncio.start_server(cable._plug, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        try:
            yield cable, f"{host}:{port}"
        finally:
            cable.pull()
            server.close()

    def pull(self) -> None:
        """End all connections at once."""
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()

    def die(self) -> None:
        """Carry nothing from now on, without ending the connections."""
        self._alive.clear()

    async def _plug(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(self._target[0], int(self._target[1]))
        self._writers += [writer, there_writer]
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            self._tasks.add(asyncio.create_task(self._carry(source, sink)))

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                await self._alive.wait()
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()


# Losing and resuming -------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["pull", "die"])
async def test_lost_connection_is_resumed_in_the_middle_of_a_decision(arena: Arena, loss: str) -> None:
    """The bot comes back, gets the same decision again and finishes; whether its server noticed or not."""
    ben = await arena.connect("ben")
    async with Cable.to(arena.address) as (cable, end):
        anna = await arena.connect("anna", to=end)
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


async def test_resumed_bot_gets_what_it_missed(arena: Arena) -> None:
    """The welcome names the matches that go on; what runs is started and asked again, what ended is over."""
    anna, ben = await arena.connect("anna"), await arena.connect("ben")
    ended, running_on = [await arena.create("anna", "ben", time_control=AT_ONCE) for _ in range(2)]
    await anna.until(lambda received: len(received.decisions) == 2)
    anna.call.cancel()
    await ben.until(lambda received: len(received.games_started) == 2)
    away = await arena.connect("anna", resume_token=anna.received.welcome.resume_token)
    await away.say(resigns=[play.Resign(match_id=ended.match_id)])
    away.call.cancel()
    await ben.play_to_end()
    result = (await arena.finished(ended.match_id)).result
    for _ in range(2):  # whether the first one reads it, the server doesn't know
        back = await arena.again(anna)
        assert sorted(back.received.welcome.match_ids) == [ended.match_id, running_on.match_id]
        await back.until(lambda received: received.games_over)
        assert [started.match_id for started in back.received.games_started] == [running_on.match_id]
        assert [decision.match_id for decision in back.received.decisions] == [running_on.match_id]
        assert list(back.received.games_over) == [play.GameOver(match_id=ended.match_id, result=result)]
    new = await arena.connect("anna")
    assert not new.received.welcome.match_ids
    await new.decision()
    assert not new.received.games_over


async def test_answer_that_arrived_before_the_loss_counts_once(arena: Arena) -> None:
    """The bot sends its last answer again to be sure, and the game continues from there."""
    anna = await arena.connect("anna")
    await arena.create("anna", "anna")
    decision = await anna.decision()
    await anna.answer(decision, 1)
    await anna.decision()
    back = await arena.again(anna)
    assert back.received.welcome.match_ids == [decision.match_id]
    await back.answer(decision, 1)
    assert endings(await back.play_to_end()) == [FINISHED, FINISHED]
    assert not back.received.notices


async def test_bot_that_closes_its_side_may_come_back(arena: Arena) -> None:
    """A stream that ends without a goodbye, however orderly, can be resumed."""
    anna = await arena.connect("anna")
    await arena.create("anna", "anna")
    await anna.decision()
    await anna.call.done_writing()
    assert await anna.ended() == Outcome()
    back = await arena.again(anna)
    assert len(back.received.welcome.match_ids) == 1
    assert (await back.decision()).decision_id == 1


async def test_new_program_takes_over_and_the_older_stream_is_refused(arena: Arena) -> None:
    """Nothing is forfeited: the new program plays the running game to its end."""
    anna = await arena.connect("anna")
    await arena.create("anna", "anna")
    decision = await anna.decision()
    successor = await arena.connect("anna")
    assert not successor.received.welcome.match_ids
    ended = await anna.ended()
    assert (ended.status, ended.reason) == (grpc.StatusCode.ABORTED, "REPLACED")
    assert ended.retry_seconds is None  # or two programs of one name would replace each other for ever
    assert (await successor.decision()).moves == decision.moves
    assert list(successor.received.games_started) == list(anna.received.games_started)
    await successor.answer(decision)
    assert endings(await successor.play_to_end()) == [FINISHED, FINISHED]


async def test_goodbye_forfeits_at_once_and_ends_in_good_order(arena: Arena) -> None:
    """The bot gets what was under way; the opponent doesn't wait for it, whatever the grace time."""
    ben, anna = await arena.connect("ben"), await arena.connect("anna")
    await arena.create("anna", "ben", failure_policy={"grace_time": duration_message(3600.0)})
    await anna.decision()
    await anna.say(answers=[play.Answer(match_id=77)], goodbye=play.Goodbye())
    await anna.until(lambda received: len(received.notices) == 2)
    assert anna.notices == [play.NOTICE_KIND_UNKNOWN_MATCH, play.NOTICE_KIND_FORFEIT]
    assert await anna.ended() == Outcome()
    over = await ben.play_to_end()
    assert endings(over) == [DISCONNECTED, FINISHED]
    assert over.result.seats[0].reason == "the bot said goodbye"


async def test_bot_that_does_not_come_back_forfeits(arena: Arena) -> None:
    """The opponent waits for the grace time of the match and no longer."""
    ben, anna = await arena.connect("ben"), await arena.connect("anna")
    await arena.create("anna", "ben", failure_policy={"grace_time": duration_message(0.1)})
    await anna.decision()
    anna.call.cancel()
    async with running(arena.clock):
        over = await ben.play_to_end()
    assert endings(over) == [DISCONNECTED, FINISHED]
    assert over.result.seats[0].reason == "away for 0.1 s"


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


# Signs of life -------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_dead_connection_is_noticed_by_its_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cable that carries nothing looks open, but HTTP/2's keepalive ends it, and the seat is forfeited."""
    hasty = [(option, 1000) for option, _ in listening._KEEPALIVE]
    monkeypatch.setattr(listening, "_KEEPALIVE", hasty)
    async with arena_with(tmp_path) as arena, Cable.to(arena.address) as (cable, end):
        await arena.connect("anna", to=end)
        cable.die()
        terms = {
            "time_control": match_pb2.TimeControl(
                connect_time=duration_message(0.0), decision_time=duration_message(3600.0)
            ),
            "failure_policy": HASTY["failure_policy"],
        }
        match = await arena.create("ghost", "anna", **terms)
        async with running(arena.clock):
            match = await arena.finished(match.match_id)
        assert [seat.ending for seat in match.result.seats] == [match_pb2.ENDING_ABSENT, DISCONNECTED]


async def test_answered_pings_measure_the_round_trip(tmp_path: Path) -> None:
    """The bot's next decision has the last one."""
    async with arena_with(tmp_path, ping_interval=0.05) as arena:
        anna = await arena.connect("anna")
        for _ in range(8):
            anna.received.ClearField("ping")
            arena.clock.now += 0.05
            await anna.until(lambda received: received.HasField("ping"))
            arena.clock.now += 0.01
            await anna.say(pong=play.Pong(nonce=anna.received.ping.nonce))
            await anna.settle()
        await arena.create("anna", "ghost", time_control=AT_ONCE)
        assert (await anna.decision()).clock.round_trip_us == pytest.approx(10_000, abs=1)


async def test_bot_that_does_not_read_gets_the_reason(tmp_path: Path) -> None:
    """Its stream ends with a reason that allows another attempt at once, and it may resume."""
    async with arena_with(tmp_path, stall_time=0.3) as arena:
        anna = await arena.connect("anna", options=TINY_WINDOW)
        await anna.say(answers=[play.Answer(match_id=number) for number in range(1000, 1100)])
        match = await arena.create("anna", "ghost", **HASTY)
        async with running(arena.clock):
            match = await arena.finished(match.match_id)
        assert match.result.seats[0].ending == DISCONNECTED
        ended = await anna.ended()
        assert (ended.status, ended.reason) == (grpc.StatusCode.ABORTED, "STALLED")
        assert ended.retry_seconds == 0.0


# Streams that the contract does not allow ----------------------------------------------------------------


async def end_of_raw(arena: Arena, *messages: bytes) -> Outcome:
    """Send raw messages and close the stream; return how it ended."""

    # Where a message is written to a stream that ends, grpc.aio raises an error of its own.
    def exchanged() -> Outcome:
        with grpc.insecure_channel(arena.address) as channel:
            method: Any = channel.stream_stream("/happycity.v1.PlayService/Play")
            try:
                for _ in method(iter(messages)):
                    pass
            except grpc.RpcError as error:
                ended: Any = error  # a call too
                return refused(ended)
        return Outcome()

    return await asyncio.to_thread(exchanged)


def hello(**fields: Any) -> bytes:
    return play.PlayRequest(hello=play.Hello(**{"name": "anna", **fields})).SerializeToString()


def said(**parts: Any) -> bytes:
    return play.PlayRequest(**parts).SerializeToString()


REFUSED = grpc.StatusCode.INVALID_ARGUMENT
UNEXPECTED = Outcome(REFUSED, "HELLO_EXPECTED")


def invalid(*fields: str) -> Outcome:
    return Outcome(REFUSED, "INVALID_FIELD", fields=fields)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((), UNEXPECTED),
        ((b"",), UNEXPECTED),
        ((said(answers=[play.Answer(match_id=1)]), hello()), UNEXPECTED),
        ((b"\xff\xff\xff",), invalid()),
        ((hello(), b"\xff\xff\xff"), invalid()),
        ((hello(), hello()), invalid("hello")),
        ((hello(), said(answers=[play.Answer()] * 20_000)), invalid("answers")),
        ((hello(), said(resigns=[play.Resign()] * 20_000)), invalid("resigns")),
        ((hello(name=""),), invalid("hello.name")),
        ((hello(name="a b"),), invalid("hello.name")),
        ((hello(name="a" * 65),), invalid("hello.name")),
        ((hello(max_games=0),), invalid("hello.max_games")),
        ((hello(max_games=1), b"", b""), Outcome()),
        ((hello(max_games=2**32 - 1), said(goodbye=play.Goodbye())), Outcome()),
        ((hello(resume_token="ü" * 300), b""), Outcome()),
        ((hello(name=None),), invalid("hello.name")),
    ],
)
async def test_stream_ends_as_the_contract_says(
    arena: Arena, messages: tuple[bytes, ...], expected: Outcome, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever a bot sends, the server answers with a typed reason and has no error of its own."""
    ended = await end_of_raw(arena, *messages)
    assert (ended.status, ended.reason, ended.fields) == (expected.status, expected.reason, expected.fields)
    output = capfd.readouterr()
    assert "Traceback" not in output.out + output.err


async def test_hello_must_come_in_time(tmp_path: Path) -> None:
    """A stream without a hello ends."""
    async with arena_with(tmp_path, hello_time=0.05) as arena:
        call: Any = PlayServiceStub(arena.channel).Play()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert "no hello within 0.05 s" in str(caught.value.details())


# The server's own delays ---------------------------------------------------------------------------------


async def test_delay_of_the_server_costs_no_strike(arena: Arena) -> None:
    """The server is stuck for longer than the limit of a decision that is answered already."""
    anna = await arena.connect("anna")
    terms = match_pb2.TimeControl(
        connect_time=duration_message(0.0),
        decision_time=duration_message(2.0),
        margin=duration_message(0.0),
    )
    await arena.create("anna", "ghost", time_control=terms)
    answering = asyncio.create_task(anna.answer(await anna.decision()))
    await asyncio.sleep(0)  # the answer is on its way, and the server has not read it
    arena.clock.now += 3.0
    time.sleep(2 * SWEEP_SECONDS)  # noqa: ASYNC251 - bot and server are stuck together
    await answering
    assert endings(await anna.play_to_end())[0] == FINISHED
    assert anna.notices == [play.NOTICE_KIND_SERVER_LATE]
