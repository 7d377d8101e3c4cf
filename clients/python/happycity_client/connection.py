"""One stream to the server, from the hello to its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity_client.outbox import Outbox
from happycity_client.player import Player
from happycity_client.settings import Settings

SEND_SECONDS = 0.005
"""Answers wait so long for company at most, when a bot is busy with a batch of decisions."""
WELCOME_SECONDS = 20.0
"""A server that has not welcomed the bot by then is given up."""
SILENT_HEARTBEATS = 3
"""A server that is silent for so many of its own heartbeats is taken for dead."""
GOODBYE_SECONDS = 1.0
"""The server has so long to end the stream after a goodbye."""

_OPTIONS = (
    # A new connection must not come back to an old one's dead socket.
    ("grpc.use_local_subchannel_pool", 1),
    # The server allows a ping every 10 s. These find a dead machine below our own heartbeats.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # As much as the server may send: any number of games can be in one batch.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)

_PASSING = frozenset(("SHUTTING_DOWN", "NO_HEARTBEAT", "STALLED", "RATE_LIMITED", "TOO_MANY_STREAMS"))
"""Reasons after which another attempt may go well."""
_REFUSALS = frozenset(
    (
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.NOT_FOUND,
    )
)
"""Status codes that mean no even without a reason of this server's."""

_log = logging.getLogger("happycity_client")
_Stream = grpc.aio.StreamStreamCall[play.PlayRequest, play.PlayResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """How a stream ended."""

    code: grpc.StatusCode
    reason: str = ""
    """The server's, as in the contract; "" if it gave none."""
    details: str = ""
    """One line for a person."""
    retry_after: float = 0.0
    """Seconds that the server wants to be left alone."""

    @property
    def passing(self) -> bool:
        """Whether another attempt may go well."""
        if self.reason:
            return self.reason in _PASSING or self.code is grpc.StatusCode.UNAVAILABLE
        return self.code not in _REFUSALS


class Connection:
    """A stream that is read, answered and watched by a task each.

    Whoever awaits `run` does no reading or writing itself: a read or write that is cancelled would take the
    stream with it, before the goodbye.
    """

    def __init__(self, stream: _Stream, settings: Settings, player: Player, outbox: Outbox) -> None:
        self.welcome: play.Welcome | None = None
        """What the server said to the hello; None until then."""
        self._stream = stream
        self._settings = settings
        self._player = player
        self._outbox = outbox
        self._inbox: deque[play.PlayResponse] = deque()
        self._arrived = asyncio.Event()
        self._welcomed = asyncio.Event()
        self._heard = 0  # messages
        self._farewell: Parting | None = None  # what the server has announced
        self._ending = False

    @property
    def was_of_use(self) -> bool:
        """Whether the server said more than its welcome."""
        return self._heard > 1

    async def run(self, hello: play.Hello) -> Parting:
        """Play until the stream ends, and tell how it did. When cancelled, say goodbye first."""
        reader = asyncio.create_task(self._read())
        worker = asyncio.create_task(self._work())
        writer = asyncio.create_task(self._write(hello))
        watch = asyncio.create_task(self._watch())
        try:
            await asyncio.wait((reader, worker, watch), return_when=asyncio.FIRST_COMPLETED)
            parting = await self._parting() if reader.done() else self._silence()
            self._end()
            await worker
            # If the bot writes while the stream ends, gRPC's own error takes the place of the server's.
            if parting.code is not grpc.StatusCode.OK and not parting.reason:
                return self._farewell or parting
            return parting
        except asyncio.CancelledError:
            await self._say_goodbye(reader)
            raise
        finally:
            self._stream.cancel()
            for task in (reader, worker, writer, watch):
                task.cancel()
            await asyncio.gather(reader, worker, writer, watch, return_exceptions=True)
            self._player.lose()

    def _end(self) -> None:
        """Let the worker do what is left, but ask the bot nothing more: that will be asked again."""
        self._ending = True
        self._arrived.set()

    async def _say_goodbye(self, reader: asyncio.Task[None]) -> None:
        self._end()
        if self.welcome is not None:
            self._outbox.goodbye()
            await asyncio.wait((reader,), timeout=GOODBYE_SECONDS)

    async def _read(self) -> None:
        try:
            while isinstance(response := await self._stream.read(), play.PlayResponse):
                self._heard += 1
                if response.HasField("ping"):
                    self._outbox.pong(response.ping.nonce)  # not behind decisions that wait for the bot
                self._inbox.append(response)
                self._arrived.set()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the stream's status tells it too

    async def _write(self, hello: play.Hello) -> None:
        request = play.PlayRequest(hello=hello)
        try:
            while not request.HasField("goodbye"):
                await self._stream.write(request)
                await self._outbox.filled.wait()
                request = self._outbox.take()
            await self._stream.write(request)
            await self._stream.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # whoever reads hears of it

    async def _watch(self) -> None:
        """Return when the server gives no sign of life.

        Messages are counted rather than timed: after a bot that blocked the loop, one late check is one
        check, and what arrived meanwhile is read before the next.
        """
        try:
            async with asyncio.timeout(WELCOME_SECONDS):
                await self._welcomed.wait()
        except TimeoutError:
            return
        assert self.welcome is not None
        if not self.welcome.heartbeat_ms:
            await asyncio.Event().wait()  # a server that doesn't ping
        heard, silent = self._heard, 0
        while silent < SILENT_HEARTBEATS:
            await asyncio.sleep(self.welcome.heartbeat_ms / 1000)
            silent = silent + 1 if self._heard == heard else 0
            heard = self._heard

    async def _work(self) -> None:
        """Deal with the batches in their order."""
        while True:
            while self._inbox:
                await self._take(self._inbox.popleft())
            if self._ending:
                return
            self._arrived.clear()
            await self._arrived.wait()

    async def _take(self, response: play.PlayResponse) -> None:
        """Deal with a batch, in the order that the contract demands."""
        if response.HasField("welcome"):
            self._greet(response.welcome)
        for started in response.games_started:
            self._player.start(started)
        await self._decide(response)
        for over in response.games_over:
            self._player.end(over)
        for notice in response.notices:
            game = f"game {notice.game_id}: " if notice.game_id else ""
            _log.warning("%s: %s%s", self._settings.name, game, notice.text)
            if notice.kind == play.NOTICE_KIND_SHUTDOWN:
                self._farewell = Parting(
                    code=grpc.StatusCode.UNAVAILABLE, reason="SHUTTING_DOWN", details=notice.text
                )

    def _greet(self, welcome: play.Welcome) -> None:
        how = ", and the games go on" if welcome.resumed else ""
        _log.info("%s: connected to %s%s", self._settings.name, self._settings.server, how)
        self.welcome = welcome
        self._welcomed.set()
        self._player.welcome(resumed=welcome.resumed)

    async def _decide(self, response: play.PlayResponse) -> None:
        sent = time.perf_counter()
        for message in response.decisions:
            if self._ending:
                return
            self._player.decide(message)
            if time.perf_counter() - sent > SEND_SECONDS:
                await asyncio.sleep(0)  # the writer's turn, and the reader's: there may be a ping
                sent = time.perf_counter()

    def _silence(self) -> Parting:
        what = "no sign of life" if self.welcome else "no welcome"
        return Parting(code=grpc.StatusCode.UNAVAILABLE, details=f"{what} from the server")

    async def _parting(self) -> Parting:
        code, details = await self._stream.code(), await self._stream.details()
        info = _error_info(await self._stream.trailing_metadata())
        wait = info.metadata.get("retry_after_ms", "")
        return Parting(
            code=code,
            reason=info.reason,
            details=" ".join((details or "").split()),
            retry_after=int(wait) / 1000 if wait.isdecimal() else 0.0,
        )


@asynccontextmanager
async def connect(
    settings: Settings, credentials: grpc.ChannelCredentials | None, player: Player, outbox: Outbox
) -> AsyncIterator[Connection]:
    """Open a stream on a connection of its own."""
    channel = (
        grpc.aio.secure_channel(settings.server, credentials, options=_OPTIONS)
        if credentials is not None
        else grpc.aio.insecure_channel(settings.server, options=_OPTIONS)
    )
    metadata = (("authorization", f"Bearer {settings.token}"),) if settings.token else ()
    async with channel:
        yield Connection(PlayServiceStub(channel).Play(metadata=metadata), settings, player, outbox)


def _error_info(metadata: grpc.aio.Metadata | None) -> ErrorInfo:
    """Return the typed reason in a status, or an empty one."""
    info = ErrorInfo()
    for key, value in metadata or ():
        if key == "grpc-status-details-bin":
            for detail in Status.FromString(value if isinstance(value, bytes) else value.encode()).details:
                if detail.Unpack(info):
                    return info
    return ErrorInfo()
