"""Programs that abuse the connection: it ends with a reason, and the server's memory stays small."""

import asyncio
import random
import socket
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import grpc
import pytest
from tests.misbehaviour.arena import Arena
from tests.server.api.arena import RemoteProgram
from tests.server.harness import end_of, hello, refused

from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NOISE = random.Random(1).randbytes(100_000)
FRAME_OF_16_MB = (2**24 - 1).to_bytes(3, "big") + bytes([0, 0]) + struct.pack(">I", 1)
REQUEST = play.PlayRequest(
    answers=[play.Answer(match_id=2**40 + count, move=count) for count in range(1000)],
    resigns=[play.Resign(match_id=2**40, reason="x" * 40_000)],
    pong=play.Pong(nonce=1),
)
"""A message that makes work and no sense."""


@pytest.mark.parametrize(
    "content",
    [
        NOISE,
        b"GET / HTTP/1.1\r\nHost: arena\r\n\r\n" + b"x" * 1000,
        bytes(100_000),
        PREFACE + NOISE,
        PREFACE + FRAME_OF_16_MB + NOISE,
    ],
    ids=["noise", "HTTP/1.1", "zeros", "preface and noise", "frame of 16 MB"],
)
async def test_garbage_ends_its_own_connection_only(arena: Arena, content: bytes) -> None:
    """What is no gRPC is cut off at once, however often it comes."""

    def send() -> None:
        host, _, port = arena.entrance.address.rpartition(":")
        for _ in range(20):
            with socket.create_connection((host, int(port))) as connection, suppress(ConnectionError):
                connection.sendall(content)
                while connection.recv(65_536):
                    pass

    async with arena.bounded_memory():
        await asyncio.gather(asyncio.to_thread(send), arena.side_match())


async def test_huge_messages_are_refused_unread(arena: Arena) -> None:
    huge = play.PlayRequest(resigns=[play.Resign(reason="x" * 5_000_000)])
    async with arena.bounded_memory():
        for _ in range(20):
            bot = await arena.connect("huge")
            with suppress(grpc.aio.AioRpcError):
                await bot.call.write(huge)
            assert (await end_of(bot.call)).status is grpc.StatusCode.RESOURCE_EXHAUSTED


@asynccontextmanager
async def playing(
    bot: RemoteProgram, play_badly: Callable[[RemoteProgram], Awaitable[None]]
) -> AsyncIterator[None]:
    """Let a bot play in the background while the context lasts."""
    task = asyncio.ensure_future(play_badly(bot))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@contextmanager
def babbling(arena: Arena, name: str) -> Iterator[Any]:
    """Give the call of a bot that sends without end and reads nothing while the context lasts."""
    enough = threading.Event()

    def babble() -> Iterator[play.PlayRequest]:
        yield hello(name)
        while not enough.is_set():
            yield REQUEST

    # Where a message is written to a stream that ends, grpc.aio raises an error of its own.
    with grpc.insecure_channel(arena.entrance.address) as channel:
        call: Any = PlayServiceStub(channel).Play(babble())  # which ends when nobody holds it
        yield call
        enough.set()


@pytest.mark.level(2)
async def test_bot_that_never_reads_loses_its_stream(arena: Arena) -> None:
    """What it doesn't read is not piled up; its silence costs its games, and then its stream."""
    with babbling(arena, "babbling") as call:
        async with arena.bounded_memory():
            trouble = await arena.trouble("babbling", decision_seconds=3.0, max_strikes=1)
            await arena.ended("babbling", "STALLED")
        with pytest.raises(grpc.RpcError):
            await asyncio.to_thread(lambda: list(call))
        ended = refused(call)
    assert (ended.status, ended.reason) == (grpc.StatusCode.ABORTED, "STALLED")
    trouble.check_forfeited(match_pb2.ENDING_TIMEOUT)
    assert arena.server.metric("happycity_outbox_high_water_bytes")[""] < 1_000_000


@pytest.mark.level(2)
async def test_bot_may_leave_before_it_reads_why_its_stream_ended(arena: Arena) -> None:
    """It's no failure of the server, so its log has none, which the fixture checks."""
    with babbling(arena, "leaving"):
        await arena.ended("leaving", "STALLED")


@pytest.mark.level(2)
async def test_flood_is_served_in_its_turn(arena: Arena) -> None:
    """A bot that sends without end is served, beside the others; it needs no more memory than any other."""
    messages = 1000
    bot = await arena.connect("flooding")
    noticed: set[play.NoticeKind.ValueType] = set()

    async def read(bot: RemoteProgram) -> None:
        while isinstance(response := await bot.call.read(), play.PlayResponse):
            noticed.update(notice.kind for notice in response.notices)

    async with arena.bounded_memory(), playing(bot, read):
        side_match = asyncio.create_task(arena.side_match())
        for _ in range(messages):
            await bot.call.write(REQUEST)
        await side_match
    assert messages * REQUEST.ByteSize() > 15_000_000
    assert noticed == {play.NOTICE_KIND_UNKNOWN_MATCH}
