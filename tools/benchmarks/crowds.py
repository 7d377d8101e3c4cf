"""Crowds in processes of their own, for `load`: bots, viewers that follow a page, visitors.

Each says a line of JSON when all are there, and another one with what became of them.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

import grpc
import websockets

from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as pb
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.messages import PROTOCOL_VERSION
from happycity_runtime.event_loop import run
from tools.benchmarks.harness import say

Member = TypeVar("Member")

OPENS_AT_ONCE = 20
"""Connections that are being opened at the same time."""
BURSTS = 5
"""How often all visitors ask, so that other callers have enough calls meanwhile."""
VISITORS = "127.0.0.2"
"""The address that visitors ask from: another caller's."""
_REQUEST = "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n"


class LightBot:
    """Answers every decision at once with a random move, on a connection of its own."""

    def __init__(self, address: str, name: str, *, games: int | None = None) -> None:
        self.welcomed = asyncio.Event()
        """Set when the server has welcomed it."""
        self.ends = Counter[str]()
        """How its games ended, or why they were voided."""
        self.answered = 0
        """Decisions that it has answered."""
        self._address = address
        self._hello = pb.Hello(protocol_version=PROTOCOL_VERSION, name=name, max_games=games)
        self._rng = random.Random(name)
        self._seats: dict[int, int] = {}

    async def play(self) -> None:
        """Play until the stream ends."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(self._address, options) as channel:
            stream = PlayServiceStub(channel).Play()
            await stream.write(pb.PlayRequest(hello=self._hello))
            while isinstance(response := await stream.read(), pb.PlayResponse):
                if response.HasField("welcome"):
                    self.welcomed.set()
                reply = self._reply(response)
                if reply is not None:
                    await stream.write(reply)
        raise ConnectionError(f"{self._address} ended the stream")

    def _reply(self, response: pb.PlayResponse) -> pb.PlayRequest | None:
        for started in response.games_started:
            self._seats[started.match_id] = started.seat
        for over in response.games_over:
            seat = self._seats.pop(over.match_id)
            if over.outcome.HasField("result"):
                self.ends[match_pb2.Ending.Name(over.outcome.result.seats[seat].ending)] += 1
            else:
                self.ends[match_pb2.VoidReason.Name(over.outcome.void_reason)] += 1
        self.answered += len(response.decisions)
        uniform = self._rng.random
        answers = [
            pb.Answer(
                match_id=decision.match_id,
                decision_id=decision.decision_id,
                move=int(uniform() * len(decision.moves)),
            )
            for decision in response.decisions
        ]
        pong = pb.Pong(nonce=response.ping.nonce) if response.HasField("ping") else None
        return pb.PlayRequest(answers=answers, pong=pong) if answers or pong else None


class PatientBot(LightBot):
    """Counts what others answer between its answer and its next decision; it plays one game at a time."""

    def __init__(self, address: str, name: str, others: Sequence[LightBot], *, decisions: int) -> None:
        super().__init__(address, name)
        self.done = asyncio.Event()
        """Set when there are as many `waits` as it is to count."""
        self.waits: list[int] = []
        """Decisions of others between an answer and the next decision of the game."""
        self._others, self._decisions = others, decisions
        self._before = 0

    def _reply(self, response: pb.PlayResponse) -> pb.PlayRequest | None:
        now = sum(other.answered for other in self._others)
        if response.decisions and not response.games_started:
            self.waits.append(now - self._before)
            if len(self.waits) >= self._decisions:
                self.done.set()
        if response.decisions:
            self._before = now
        return super()._reply(response)


class PageFollower:
    """A WebSocket that counts what comes, or that does not read any more after the handshake."""

    def __init__(self, *, reads: bool) -> None:
        self.bytes = 0
        self._reads = reads
        self._reading: asyncio.Task[None] | None = None

    async def connect(self, url: str) -> None:
        """Ask for the page."""
        socket = await websockets.connect(
            url, compression=None, max_size=None, ping_interval=None, proxy=None
        )
        self._reading = asyncio.create_task(self._read(socket))

    async def _read(self, socket: websockets.ClientConnection) -> None:
        if not self._reads:
            await socket.wait_closed()
        async for message in socket:
            self.bytes += len(message)


async def bots(address: str, games: str, *names: str) -> None:
    """Play with light bots until a line comes; say how their games ended, and how many lost their streams.

    `games` is how many games each plays at once, "" for as many as there are.
    """
    crowd = [LightBot(address, name, games=int(games) if games else None) for name in names]
    playing = []

    async def connect(bot: LightBot) -> None:
        playing.append(asyncio.create_task(bot.play()))
        await bot.welcomed.wait()

    await _hold(connect, crowd)
    say(ends=sum((bot.ends for bot in crowd), Counter[str]()), lost=sum(task.done() for task in playing))
    for task in playing:
        task.cancel()
    await asyncio.gather(*playing, return_exceptions=True)


async def viewers(page: str, count: str, deaf: str) -> None:
    """Follow a page by many connections until a line comes; `deaf` of them never read."""
    url = page.replace("http", "ws", 1)
    crowd = [PageFollower(reads=number >= int(deaf)) for number in range(int(count))]
    await _hold(lambda viewer: viewer.connect(url), crowd)
    say(bytes=sum(viewer.bytes for viewer in crowd))


async def _hold(connect: Callable[[Member], Awaitable[None]], crowd: Iterable[Member]) -> None:
    """Connect a crowd, not too many at a time, say so, and wait for a line."""
    at_once = asyncio.Semaphore(OPENS_AT_ONCE)

    async def enter(member: Member) -> None:
        async with at_once:
            await connect(member)

    entered = await asyncio.gather(*map(enter, crowd))
    say(connected=len(entered))
    await asyncio.to_thread(sys.stdin.readline)


async def visitors(page: str, count: str) -> None:
    """Ask for a page many times at once, again and again; say how often each status came."""
    say(connected=0)
    statuses = Counter[str]()
    for _ in range(BURSTS):
        statuses.update(await asyncio.gather(*(visit(page) for _ in range(int(count)))))
    say(statuses=statuses)


async def visit(page: str) -> str:
    """Ask for a page; return the status."""
    url = urlsplit(page)
    reader, writer = await asyncio.open_connection(
        url.hostname, url.port, limit=2**22, local_addr=(VISITORS, 0)
    )
    writer.write(_REQUEST.format(path=url.path, host=url.netloc).encode())
    answer = await reader.read()
    writer.close()
    return answer[9:12].decode() or "none"


if __name__ == "__main__":
    roles: dict[str, Callable[..., Coroutine[None, None, None]]] = {
        "bots": bots,
        "viewers": viewers,
        "visitors": visitors,
    }
    run(roles[sys.argv[1]](*sys.argv[2:]))
