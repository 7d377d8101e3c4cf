"""One stream to the server, from the hello to its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from happycity.match import one_line
from happycity.v1 import play_service_pb2 as play
from happycity.wire import (
    STATUS_METADATA,
    ShallowResponse,
    StatusDetails,
    decode_status,
    read_response,
    seconds_of,
)
from happycity_client.log import place
from happycity_client.outbox import Outbox
from happycity_client.player import Player
from happycity_client.settings import Settings

SEND_SECONDS = 0.005
"""While a bot is busy with a batch of decisions, its answers wait this long for others to join them."""
WELCOME_SECONDS = 20.0
"""A server that has not welcomed the bot by then is given up."""
SILENT_PINGS = 3
"""A server that is silent for so many of its ping intervals is taken for dead."""
GOODBYE_SECONDS = 1.0
"""The server has so long to end the stream after a goodbye."""

_OPTIONS = (
    # A new connection must not come back to an old one's dead socket.
    ("grpc.use_local_subchannel_pool", 1),
    # The server allows a ping every 10 s. These find a dead machine before the pings do.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # As much as the server may send: any number of games can be in one batch.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)

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
_Stream = grpc.aio.StreamStreamCall[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStatus:
    """How a stream ended."""

    code: grpc.StatusCode
    details: StatusDetails = field(default_factory=StatusDetails)
    """The server's typed reason, if it gave one."""
    text: str = ""
    """One line for a person."""

    @property
    def retryable(self) -> bool:
        """Whether another attempt may succeed."""
        if self.details.reason:
            # A newer server's reason says it by its status code.
            return self.details.retryable or self.code is grpc.StatusCode.UNAVAILABLE
        return self.code not in _REFUSALS


class Connection:
    """A stream that is read, answered and watched by a task each.

    The task that awaits `run` does no reading or writing itself: a read or write that is cancelled would take
    the stream with it, before the goodbye.
    """

    def __init__(self, stream: _Stream, settings: Settings, player: Player, outbox: Outbox) -> None:
        self.welcome: play.Welcome | None = None
        """What the server said to the hello; None until then."""
        self.on_welcome: Callable[[play.Welcome], None] = lambda welcome: None
        """Is called with the welcome."""
        self._stream = stream
        self._settings = settings
        self._player = player
        self._outbox = outbox
        self._inbox: deque[ShallowResponse] = deque()
        self._arrived = asyncio.Event()
        self._welcomed = asyncio.Event()
        self._received = 0  # messages
        self._pending_status: StreamStatus | None = None  # announced by the server
        self._ending = False

    @property
    def made_progress(self) -> bool:
        """Whether the server said more than its welcome."""
        return self._received > 1

    async def run(self, hello: play.Hello) -> StreamStatus:
        """Play until the stream ends, and return how it did. When cancelled, say goodbye first."""
        reader = asyncio.create_task(self._read())
        worker = asyncio.create_task(self._work())
        writer = asyncio.create_task(self._write(hello))
        watch = asyncio.create_task(self._watch())
        try:
            await asyncio.wait((reader, worker, watch), return_when=asyncio.FIRST_COMPLETED)
            status = await self._status() if reader.done() else self._silence()
            self._end()
            await worker
            # If the bot writes while the stream ends, gRPC's own error takes the place of the server's.
            if status.code is not grpc.StatusCode.OK and not status.details.reason:
                return self._pending_status or status
            return status
        except asyncio.CancelledError:
            await self._say_goodbye(reader)
            raise
        finally:
            self._stream.cancel()
            for task in (reader, worker, writer, watch):
                task.cancel()
            await asyncio.gather(reader, worker, writer, watch, return_exceptions=True)
            self._player.on_disconnect()

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
            while (response := await self._next_response()) is not None:
                self._received += 1
                if response.HasField("ping"):
                    self._outbox.pong(response.ping.nonce)  # not behind decisions that wait for the bot
                self._inbox.append(response)
                self._arrived.set()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the stream's status says it too

    async def _next_response(self) -> ShallowResponse | None:
        response: Any = await self._stream.read()
        return None if response is grpc.aio.EOF else response

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
            return  # the reader gets the status

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
        interval = seconds_of(self.welcome.ping_interval)
        if interval <= 0:
            await asyncio.Event().wait()  # a server that doesn't ping
        received, silent = self._received, 0
        while silent < SILENT_PINGS:
            await asyncio.sleep(interval)
            silent = silent + 1 if self._received == received else 0
            received = self._received

    async def _work(self) -> None:
        """Handle the batches in their order."""
        while True:
            while self._inbox:
                await self._take(self._inbox.popleft())
            if self._ending:
                return
            self._arrived.clear()
            await self._arrived.wait()

    async def _take(self, response: ShallowResponse) -> None:
        """Handle a batch, in the order that the contract demands."""
        if response.HasField("welcome"):
            self._greet(response.welcome)
        for notice in response.notices:  # about what happened before the other parts
            self._note(notice)
        for started in response.games_started:
            self._player.start(started)
        await self._decide(response)
        for over in response.games_over:
            self._player.end(over)

    def _note(self, notice: play.Notice) -> None:
        """Log a notice, and remember that the server shuts down."""
        if notice.kind == play.NOTICE_KIND_FORFEIT:
            return  # the end of the game says it, with the reason
        text = one_line(notice.text)  # a server's: it may not write control characters to the terminal
        where = place(notice.match_id, game_round=notice.round, decision_id=notice.decision_id)
        _log.warning("%s: %s", self._settings.name, f"{where}: {text}" if where else text)
        if notice.kind == play.NOTICE_KIND_SHUTDOWN:
            self._pending_status = StreamStatus(
                code=grpc.StatusCode.UNAVAILABLE, details=StatusDetails(reason="SHUTTING_DOWN"), text=text
            )

    def _greet(self, welcome: play.Welcome) -> None:
        how = ", and the games go on" if welcome.resumed else ""
        _log.info("%s: connected to %s%s", self._settings.name, self._settings.server, how)
        self.welcome = welcome
        self._welcomed.set()
        self._player.welcome(resumed=welcome.resumed)
        self.on_welcome(welcome)

    async def _decide(self, response: ShallowResponse) -> None:
        sent = time.perf_counter()
        for message in response.decisions:
            if self._ending:
                return
            self._player.decide(message)
            if time.perf_counter() - sent > SEND_SECONDS:
                await asyncio.sleep(0)  # the writer's turn, and the reader's: there may be a ping
                sent = time.perf_counter()

    def _silence(self) -> StreamStatus:
        what = "no sign of life" if self.welcome else "no welcome"
        return StreamStatus(code=grpc.StatusCode.UNAVAILABLE, text=f"{what} from the server")

    async def _status(self) -> StreamStatus:
        code, text = await self._stream.code(), await self._stream.details()
        details = StatusDetails()
        for key, value in await self._stream.trailing_metadata() or ():
            if key == STATUS_METADATA:
                details = decode_status(value if isinstance(value, bytes) else value.encode())
        return StreamStatus(code=code, details=details, text=one_line(text or "") or code.name)


@asynccontextmanager
async def connect(settings: Settings, player: Player, outbox: Outbox) -> AsyncIterator[Connection]:
    """Open a stream on a connection of its own.

    Raises:
        ConfigError: a file of TLS can't be used, or the token would be readable on its way.
    """
    access = settings.access
    async with access.channel(settings.server, _OPTIONS) as channel:
        call = channel.stream_stream(
            "/happycity.v1.PlayService/Play",
            request_serializer=play.PlayRequest.SerializeToString,
            response_deserializer=read_response,
        )
        yield Connection(call(metadata=access.metadata), settings, player, outbox)
