"""Play streams over real gRPC: losing and resuming them, and what a bad bot can't do to the server."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.misbehaviour.bots.raw import error_info
from tests.server.conftest import PATIENCE, Clock
from tests.server.trust import FINE, PlayCall, end_of, settings

from happycity import Config
from happycity.records import loads, replay
from happycity.v1 import game_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import config_message
from happycity_server.app import serving
from happycity_server.lobby import SWEEP_SECONDS

SMALL_WINDOW = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_535))
"""Lets a client that doesn't read hold up its server after 64 kB."""
TINY_WINDOW = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1_000))


@dataclass
class Program:
    """A bot's program: a stream, and what came over it."""

    call: PlayCall
    told: play.PlayResponse = field(default_factory=play.PlayResponse)
    seen: int = 0
    """Decisions that the test has taken."""

    async def until(self, happened: Callable[[play.PlayResponse], object]) -> play.PlayResponse:
        """Read until something has happened; return all that came so far."""
        async with asyncio.timeout(PATIENCE):
            while not happened(self.told):
                response = await self.call.read()
                assert isinstance(response, play.PlayResponse)
                self.told.MergeFrom(response)
        return self.told

    async def decision(self) -> play.Decision:
        """Return the next decision."""
        told = await self.until(lambda told: len(told.decisions) > self.seen)
        self.seen = len(told.decisions)
        return told.decisions[-1]

    async def say(self, **parts: Any) -> None:
        """Send a batch."""
        await self.call.write(play.PlayRequest(**parts))

    async def settle(self, **parts: Any) -> None:
        """Send a batch and wait until the server has read it."""
        nonce = self.told.heartbeat.nonce + 1
        await self.say(heartbeat=play.Heartbeat(nonce=nonce), **parts)
        await self.until(lambda told: told.heartbeat.nonce == nonce)

    async def answer(self, decision: play.Decision, move: int = 0) -> None:
        """Answer a decision."""
        await self.say(
            answers=[play.Answer(game_id=decision.game_id, decision_id=decision.decision_id, move=move)]
        )

    async def play_on(self) -> game_pb2.Result:
        """Play neutral moves to the end of a game."""
        while not self.told.games_over:
            await self.until(lambda told: len(told.decisions) > self.seen or told.games_over)
            for decision in self.told.decisions[self.seen :]:
                await self.answer(decision)
            self.seen = len(self.told.decisions)
        return self.told.games_over[0].result


@dataclass
class Arena:
    """A server, and ways to it."""

    address: str
    channel: grpc.aio.Channel
    closing: AsyncExitStack

    async def connect(
        self,
        name: str,
        *,
        to: str | None = None,
        options: tuple[tuple[str, int], ...] = (),
        **hello: Any,
    ) -> Program:
        """Connect a program over a channel of its own and read its welcome."""
        # Else programs of one test would share a connection.
        alone = (("grpc.use_local_subchannel_pool", 1),)
        channel = await self.closing.enter_async_context(
            grpc.aio.insecure_channel(to or self.address, options=alone + options)
        )
        program = Program(PlayServiceStub(channel).Play())
        await program.say(hello=play.Hello(name=name, protocol_version=1, **hello))
        await program.until(lambda told: told.HasField("welcome"))
        return program

    async def again(self, program: Program, name: str, *, to: str | None = None) -> Program:
        """Connect the same program once more."""
        token = program.told.welcome.resume_token
        games = [started.game_id for started in program.told.games_started]
        return await self.connect(name, to=to, resume_token=token, games=games)

    async def match(self, *bots: str, **terms: Any) -> int:
        """Set up a match and return its id."""
        request = pb.CreateMatchRequest(
            config=config_message(Config(players=len(bots))), bots=bots, seed=5, **terms
        )
        return int((await MatchServiceStub(self.channel).CreateMatch(request)).match.match_id)

    async def begun(self, match_id: int) -> None:
        """Wait until a match has begun and a decision in it is made."""
        request = pb.WatchMatchRequest(match_id=match_id, from_decision=1)
        watching = MatchServiceStub(self.channel).WatchMatch(request)
        assert isinstance(await watching.read(), pb.WatchMatchResponse)
        watching.cancel()

    async def record(self, match_id: int) -> dict[str, Any]:
        """Watch a match to its end and return its record."""
        stub = MatchServiceStub(self.channel)
        async for _ in stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id)):
            pass
        response = await stub.GetMatchRecord(pb.GetMatchRecordRequest(match_id=match_id))
        return loads(response.record_json)


@asynccontextmanager
async def arena_with(folder: Path, **values: Any) -> AsyncIterator[Arena]:
    """Give an arena whose server has settings of its own."""
    async with (
        serving(settings(folder, **values)) as serving_,
        AsyncExitStack() as closing,
    ):
        address = str(getattr(serving_, "address", serving_))
        channel = await closing.enter_async_context(grpc.aio.insecure_channel(address))
        yield Arena(address, channel, closing)


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    """Give an arena with the default limits."""
    async with arena_with(tmp_path) as default:
        yield default


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
        """Carry nothing any more, and say so to nobody."""
        self._alive.clear()

    async def _plug(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(self._target[0], int(self._target[1]))
        self._writers += [writer, there_writer]
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(self._carry(source, sink))
            self._tasks.add(task)

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


async def test_cut_connection_is_resumed_in_the_middle_of_a_decision(arena: Arena) -> None:
    """The cable is pulled while the bot thinks; it comes back, is asked the same again, and finishes."""
    ben = await arena.connect("ben")
    async with Cable.to(arena.address) as (cable, end):
        anna = await arena.connect("anna", to=end)
        match_id = await arena.match("anna", "ben")
        decision = await anna.decision()
        cable.pull()
        back = await arena.again(anna, "anna")
    assert back.told.welcome.resumed
    same = await back.decision()
    assert not back.told.games_started
    same.clock.time_left_ms = decision.clock.time_left_ms
    assert same == decision
    await back.answer(same)
    results = await asyncio.gather(back.play_on(), ben.play_on())
    assert list(results[0].endings) == [game_pb2.ENDING_FINISHED] * 2
    record = await arena.record(match_id)
    replay(record)
    assert len(record["clock"]["think_us"]) == len(record["moves"])


async def test_bot_may_resume_before_the_server_knows_of_the_loss(arena: Arena) -> None:
    """The old connection is dead but not closed; the new stream takes its place."""
    await arena.connect("ben")
    async with Cable.to(arena.address) as (cable, end):
        anna = await arena.connect("anna", to=end)
        await arena.match("anna", "ben")
        decision = await anna.decision()
        cable.die()
        back = await arena.again(anna, "anna")
        assert (await back.decision()).decision_id == decision.decision_id


@pytest.mark.usefixtures("clock")  # or the bot might be told that the server was late
async def test_answer_that_arrived_before_the_loss_counts_once(arena: Arena) -> None:
    """The bot sends its last answer again to be sure, and the game goes on from there."""
    ben = await arena.connect("ben")
    anna = await arena.connect("anna")
    await arena.match("anna", "ben")
    decision = await anna.decision()
    await anna.answer(decision, move=1)
    await anna.decision()
    back = await arena.again(anna, "anna")
    assert back.told.welcome.resumed
    await back.answer(decision, move=1)
    results = await asyncio.gather(back.play_on(), ben.play_on())
    assert list(results[0].endings) == [game_pb2.ENDING_FINISHED] * 2
    assert not back.told.notices


async def test_bot_that_closes_its_side_may_come_back(arena: Arena) -> None:
    """A stream that ends without a goodbye, however orderly, can be resumed."""
    await arena.connect("ben")
    anna = await arena.connect("anna")
    await arena.match("anna", "ben")
    await anna.decision()
    await anna.call.done_writing()
    assert await end_of(anna.call) == FINE
    back = await arena.again(anna, "anna")
    assert back.told.welcome.resumed
    assert (await back.decision()).decision_id == 1


async def test_new_program_takes_over_and_the_old_one_is_told(arena: Arena) -> None:
    """Nothing is forfeited: the new program plays the running game to its end."""
    ben = await arena.connect("ben")
    anna = await arena.connect("anna")
    await arena.match("anna", "ben")
    decision = await anna.decision()
    successor = await arena.connect("anna")
    assert not successor.told.welcome.resumed
    assert (await end_of(anna.call)).reason == "REPLACED"
    assert (await successor.decision()).moves == decision.moves
    assert successor.told.games_started[0] == anna.told.games_started[0]
    await successor.answer(decision)
    assert list(successor.told.decisions[0].events) == list(decision.events)
    results = await asyncio.gather(successor.play_on(), ben.play_on())
    assert list(results[1].endings) == [game_pb2.ENDING_FINISHED] * 2


async def test_goodbye_forfeits_at_once_and_ends_in_good_order(arena: Arena) -> None:
    """The opponent doesn't wait for a bot that has left for good."""
    ben = await arena.connect("ben")
    anna = await arena.connect("anna")
    await arena.match("anna", "ben", failure_policy=pb.FailurePolicy(grace_ms=3_600_000))
    await anna.decision()
    await anna.say(goodbye=play.Goodbye())
    assert await end_of(anna.call) == FINE
    result = await ben.play_on()
    assert list(result.endings) == [game_pb2.ENDING_FORFEIT_DISCONNECTED, game_pb2.ENDING_FINISHED]


async def test_bot_that_does_not_come_back_forfeits(arena: Arena) -> None:
    """The opponent waits for the grace time of the match and no longer."""
    ben = await arena.connect("ben")
    anna = await arena.connect("anna")
    await arena.match("anna", "ben", failure_policy=pb.FailurePolicy(grace_ms=100))
    await anna.decision()
    anna.call.cancel()
    result = await ben.play_on()
    assert list(result.endings) == [game_pb2.ENDING_FORFEIT_DISCONNECTED, game_pb2.ENDING_FINISHED]


# Signs of life -------------------------------------------------------------------------------------------


async def test_dead_connection_is_noticed_by_its_silence(clock: Clock, tmp_path: Path) -> None:
    """A cable that carries nothing looks open; pings that nobody answers tell. The seat is forfeited then."""
    async with arena_with(tmp_path, ping_seconds=0.05) as arena, Cable.to(arena.address) as (cable, end):
        anna = await arena.connect("anna", to=end)
        assert anna.told.welcome.heartbeat_ms == 50
        cable.die()
        match_id = await arena.match(
            "ghost",
            "anna",
            time_control=pb.TimeControl(connect_ms=1, decision_ms=200),
            failure_policy=pb.FailurePolicy(max_strikes=1000, grace_ms=0),
        )
        await arena.begun(match_id)
        clock.runs = True
        record = await arena.record(match_id)
        assert record["endings"] == ["forfeit:absent", "forfeit:disconnected"]


async def test_answered_pings_keep_an_idle_stream(clock: Clock, tmp_path: Path) -> None:
    """A bot that only answers pings stays, and its round trip is known."""
    async with arena_with(tmp_path, ping_seconds=0.05) as arena:
        anna = await arena.connect("anna")
        for _ in range(8):
            anna.told.ClearField("ping")
            clock.now += 0.05
            await anna.until(lambda told: told.HasField("ping"))
            clock.now += 0.01
            await anna.settle(pong=anna.told.ping)
        await arena.match("anna", "ghost", time_control=pb.TimeControl(connect_ms=1))
        decision = await anna.decision()
        assert decision.clock.round_trip_us == pytest.approx(10_000, abs=1)


async def test_silent_bot_is_told_why_its_stream_ended(clock: Clock, tmp_path: Path) -> None:
    """The reason says that it may connect again."""
    async with arena_with(tmp_path, ping_seconds=0.05) as arena:
        anna = await arena.connect("anna")
        clock.runs = True
        ended = await end_of(anna.call)
        clock.runs = False
        assert (ended.status, ended.reason) == (grpc.StatusCode.ABORTED, "NO_HEARTBEAT")
        back = await arena.again(anna, "anna")
        assert back.told.welcome.resumed


# Too much ------------------------------------------------------------------------------------------------


async def test_bot_that_does_not_read_is_stalled(clock: Clock, tmp_path: Path) -> None:
    """Once a message is not taken for too long, the stream ends; the bot that reads on is told."""
    async with arena_with(tmp_path, stall_seconds=0.3) as arena:
        anna = await arena.connect("anna", options=TINY_WINDOW)
        # Some 6 kB of remarks.
        await anna.say(answers=[play.Answer(game_id=number) for number in range(1000, 1100)])
        # The server does without it once the stream has ended.
        match_id = await arena.match(
            "ghost",
            "anna",
            time_control=pb.TimeControl(connect_ms=1, decision_ms=100),
            failure_policy=pb.FailurePolicy(grace_ms=0, max_strikes=1000),
        )
        await arena.begun(match_id)
        clock.runs = True
        record = await arena.record(match_id)
        assert record["endings"] == ["forfeit:absent", "forfeit:disconnected"]
        ended = await end_of(anna.call)
        assert (ended.status, ended.reason) == (grpc.StatusCode.ABORTED, "STALLED")


@pytest.mark.skipif(sys.platform == "win32", reason="reads the peak memory of the process")
@pytest.mark.parametrize("reads", [True, False])
async def test_flood_needs_no_memory(tmp_path: Path, *, reads: bool) -> None:
    """A bot that sends nonsense as fast as it can costs no memory, whether it reads or not."""
    async with arena_with(tmp_path, stall_seconds=60.0) as arena:
        anna = await arena.connect("anna", options=SMALL_WINDOW)
        ben = await arena.connect("ben")
        nonsense = play.PlayRequest(
            answers=[play.Answer(game_id=1)] * 500,
            resigns=[play.Resign(game_id=2)] * 100,
            heartbeat=play.Heartbeat(nonce=1),
            pong=play.Heartbeat(nonce=9),
        )

        async def flood() -> None:
            for _ in range(3000):
                await anna.call.write(nonsense)

        async def read() -> None:
            while isinstance(await anna.call.read(), play.PlayResponse):
                pass

        tasks = [asyncio.create_task(flood())]
        if reads:
            tasks.append(asyncio.create_task(read()))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # Meanwhile others play.
        match_id = await arena.match("ben", "ghost", time_control=pb.TimeControl(connect_ms=1))
        await ben.play_on()
        await arena.record(match_id)
        if reads:
            await tasks[0]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert grown < 30_000  # kB


# Malformed streams ---------------------------------------------------------------------------------------


async def raw_end(arena: Arena, *messages: bytes) -> tuple[str, str]:
    """Send raw messages; return status and reason of the end."""

    # Where a message is written to a stream that ends, grpc.aio tells an error of its own.
    def exchanged() -> tuple[str, str]:
        with grpc.insecure_channel(arena.address) as channel:
            method: Any = channel.stream_stream("/happycity.v1.PlayService/Play")
            try:
                for _ in method(iter(messages)):
                    pass
            except grpc.RpcError as error:
                return error.code().name, error_info(error).reason
        return "OK", ""

    return await asyncio.to_thread(exchanged)


HELLO = play.PlayRequest(hello=play.Hello(name="anna", protocol_version=1)).SerializeToString()


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((), ("INVALID_ARGUMENT", "HELLO_EXPECTED")),
        ((b"",), ("INVALID_ARGUMENT", "HELLO_EXPECTED")),
        ((b"\xff\xff\xff",), ("INVALID_ARGUMENT", "INVALID_FIELD")),
        ((HELLO, b"\xff\xff\xff"), ("INVALID_ARGUMENT", "INVALID_FIELD")),
        ((HELLO, HELLO), ("INVALID_ARGUMENT", "INVALID_FIELD")),
        ((HELLO, b"", b""), ("OK", "")),
        (
            (play.PlayRequest(answers=[play.Answer(game_id=1)]).SerializeToString(), HELLO),
            ("INVALID_ARGUMENT", "HELLO_EXPECTED"),
        ),
        (
            (HELLO, play.PlayRequest(answers=[play.Answer()] * 20_000).SerializeToString()),
            ("ABORTED", "STALLED"),
        ),
        (
            (play.PlayRequest(hello=play.Hello(name="a", protocol_version=2)).SerializeToString(),),
            ("FAILED_PRECONDITION", "UNSUPPORTED_VERSION"),
        ),
        (
            (
                play.PlayRequest(
                    hello=play.Hello(name="a", protocol_version=1, games=range(20_000))
                ).SerializeToString(),
            ),
            ("INVALID_ARGUMENT", "INVALID_FIELD"),
        ),
    ],
)
async def test_malformed_stream_ends_with_a_typed_reason(
    arena: Arena, messages: tuple[bytes, ...], expected: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever a bot sends, the server answers in the terms of the contract and has no error of its own."""
    assert await raw_end(arena, *messages) == expected
    output = capfd.readouterr()
    assert "Traceback" not in output.out + output.err


async def test_hello_must_come_in_time(tmp_path: Path) -> None:
    """A stream on which nobody says hello ends."""
    async with arena_with(tmp_path, hello_seconds=0.05) as arena:
        call = PlayServiceStub(arena.channel).Play()
        assert (await end_of(call)).reason == "HELLO_EXPECTED"


# The server's own delays ---------------------------------------------------------------------------------


async def test_delay_of_the_server_costs_no_strike(clock: Clock, arena: Arena) -> None:
    """The server is stuck for longer than the limit of a decision that is answered already."""
    anna = await arena.connect("anna")
    await arena.match(
        "anna", "ghost", time_control=pb.TimeControl(connect_ms=1, decision_ms=2000, margin_ms=0)
    )
    decision = await anna.decision()
    answering = asyncio.create_task(anna.answer(decision))
    await asyncio.sleep(0)  # it is on its way, and the server has not read it
    clock.now += 3.0
    time.sleep(2 * SWEEP_SECONDS)  # noqa: ASYNC251 - bot and server are stuck together
    await answering
    result = await anna.play_on()
    assert result.endings[0] == game_pb2.ENDING_FINISHED
    kinds = {notice.kind for notice in anna.told.notices}
    assert play.NOTICE_KIND_TIMEOUT not in kinds
