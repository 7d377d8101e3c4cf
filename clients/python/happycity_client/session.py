"""One stream to the server, from the hello to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from happycity.match import one_line
from happycity.text.catalogue import catalogue_digest
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import bot_info_message
from happycity.wire.status import STATUS_METADATA, StatusDetails, decode_status
from happycity_client.errors import ConnectionFailedError, ProtocolError, find_cause
from happycity_client.player import Log, Outbox, Player, place
from happycity_client.settings import Settings

SEND_SECONDS = 0.005
"""While a bot is busy with a batch of decisions, its answers wait this long for others to join them."""
WELCOME_SECONDS = 20.0
"""A server that has not welcomed the bot by then is given up."""
GOODBYE_SECONDS = 1.0
"""How long the server may take to end the stream after a goodbye."""
PROTOCOL_VERSION = 1

_OPTIONS = (
    # A new connection must not come back to an old one's dead socket.
    ("grpc.use_local_subchannel_pool", 1),
    # The server allows a ping every 10 s. These find a dead machine.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # As much as the server may send: any number of games can be in one batch.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)
_Stream = grpc.aio.StreamStreamCall[Any, Any]


class Session:
    """A stream that is read, handled and written by a task each.

    The task that awaits `run` does no reading or writing itself: a read or write that is cancelled would take
    the stream with it, before the goodbye.
    """

    def __init__(
        self, settings: Settings, player: Player, log: Log, on_welcome: Callable[[], object]
    ) -> None:
        self.welcome: play.Welcome | None = None
        """What the server said to the hello; None until then."""
        self.received = 0
        """Messages."""
        self.shutting_down = False
        """Whether the server said that it shuts down."""
        self._settings = settings
        self._player = player
        self._log = log
        self._on_welcome = on_welcome
        self._outbox = player.outbox = Outbox()
        self._inbox = asyncio.Queue[play.PlayResponse | None]()
        self._ending = False  # the bot is asked nothing more: that will be asked again

    async def run(self, resume_token: str | None) -> None:
        """Connect and play until the server ends the stream well. When cancelled, say goodbye first.

        Raises:
            ConfigError: a file of TLS can't be used.
            ConnectionFailedError: the stream ended otherwise.
        """
        settings = self._settings
        hello = play.Hello(
            name=settings.name or None,
            max_games=settings.games or None,
            software=f"happycity-python/{version('happycity')}",
            resume_token=resume_token or None,
            info=bot_info_message(settings.info),
        )
        async with settings.access.channel(settings.target, _OPTIONS) as channel:
            call: Any = channel.stream_stream(
                "/happycity.v1.PlayService/Play", request_serializer=play.PlayRequest.SerializeToString
            )
            stream: _Stream = call(metadata=settings.access.metadata)
            try:
                await self._play(stream, hello)
            except ProtocolError as error:
                raise ProtocolError(f"{settings.target.address} broke the protocol: {error}") from None
            if await stream.code() is not grpc.StatusCode.OK:
                raise await self._error(stream)

    async def _play(self, stream: _Stream, hello: play.Hello) -> None:
        reader = asyncio.create_task(self._read(stream))
        worker = asyncio.create_task(self._work())
        writer = asyncio.create_task(self._write(stream, hello))
        try:
            await asyncio.shield(worker)  # ends after the reader, or as the server broke the protocol
            await reader
        except asyncio.CancelledError:
            self._ending = True
            if self.welcome is not None:
                self._outbox.goodbye()
                await asyncio.wait((reader,), timeout=GOODBYE_SECONDS)
            raise
        finally:
            stream.cancel()
            for task in (reader, worker, writer):
                task.cancel()
            await asyncio.gather(reader, worker, writer, return_exceptions=True)

    async def _write(self, stream: _Stream, hello: play.Hello) -> None:
        request = play.PlayRequest(hello=hello)
        try:
            while not request.HasField("goodbye"):
                await stream.write(request)
                await self._outbox.filled.wait()
                request = self._outbox.take()
            await stream.write(request)
            await stream.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the reader gets the status

    async def _read(self, stream: _Stream) -> None:
        """Read until the stream has a status."""
        try:
            async with asyncio.timeout(WELCOME_SECONDS):
                received = self._receive(await stream.read())
            while received:
                received = self._receive(await stream.read())
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError, TimeoutError):
            return
        finally:
            self._ending = True
            self._inbox.put_nowait(None)

    def _receive(self, encoded: Any) -> bool:
        """Receive a message; return False at the end of the stream."""
        if encoded is grpc.aio.EOF:
            return False
        try:
            response = play.PlayResponse.FromString(encoded)
        except DecodeError:
            raise ProtocolError("a message can't be decoded") from None
        self.received += 1
        if self.received == 1 and not response.HasField("welcome"):
            raise ProtocolError("the first message is not a welcome")
        if response.HasField("ping"):
            self._outbox.pong(response.ping.nonce)  # not behind decisions that wait for the bot
        self._inbox.put_nowait(response)
        return True

    async def _work(self) -> None:
        """Handle the batches in their order."""
        while (response := await self._inbox.get()) is not None:
            await self._handle(response)

    async def _handle(self, response: play.PlayResponse) -> None:
        """Handle a batch, in the order that the contract demands."""
        if response.HasField("welcome"):
            self._greet(response.welcome)
        for notice in response.notices:  # about what happened before the other parts
            self._note(notice)
        for started in response.games_started:
            self._player.start(started)
        sent = time.perf_counter()
        for decision in response.decisions:
            if self._ending:
                break
            self._player.decide(decision)
            if time.perf_counter() - sent > SEND_SECONDS:
                await asyncio.sleep(0)  # the writer's turn, and the reader's: there may be a ping
                sent = time.perf_counter()
        for over in response.games_over:
            self._player.end(over)

    def _greet(self, welcome: play.Welcome) -> None:
        how = ", and the games go on" if welcome.match_ids else ""
        self._log.info("connected to %s%s", self._settings.target.address, how)
        if welcome.protocol_version > PROTOCOL_VERSION:
            text = "the server speaks protocol version %d, this SDK version %d: what is new is left out"
            self._log.warning(text, welcome.protocol_version, PROTOCOL_VERSION)
        if welcome.catalogue_digest != catalogue_digest():
            self._log.warning("the server's cards are not those of this SDK: some are new or changed")
        self.welcome = welcome
        self._player.keep(welcome.match_ids)
        self._on_welcome()

    def _note(self, notice: play.Notice) -> None:
        """Log a notice, and remember that the server shuts down."""
        if notice.kind == play.NOTICE_KIND_SHUTDOWN:
            self.shutting_down = True
        if notice.kind != play.NOTICE_KIND_FORFEIT:  # the end of the game says it, with the reason
            where = place(notice.match_id, notice.round, notice.decision_id)
            text = one_line(notice.text)  # a server may not write control characters to the terminal
            self._log.warning("%s", f"{where}: {text}" if where else text)

    async def _error(self, stream: _Stream) -> ConnectionFailedError:
        """Return why the stream ended, from its status."""
        target, code = self._settings.target, await stream.code()
        said = await stream.details() or code.name
        encoded = dict(await stream.trailing_metadata() or ()).get(STATUS_METADATA, b"")
        details = decode_status(encoded) if isinstance(encoded, bytes) else StatusDetails()
        reason, retry_seconds = details.reason, details.retry_seconds
        if code is grpc.StatusCode.CANCELLED and not self.received:
            said = f"no welcome within {WELCOME_SECONDS:.0f} s"
        # Where the transport breaks a stream off, also while it is written, gRPC makes a status of its own.
        broken = code in (grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL) and not reason
        if code is grpc.StatusCode.UNAVAILABLE or broken:
            retry_seconds = retry_seconds or 0.0
            if not reason and self.welcome is None:
                cause = await asyncio.to_thread(find_cause, target, said)
                if cause is not None:
                    return cause
                if broken and not self.received:
                    text = f"{target.address} can't be reached: {said}"
                    return ConnectionFailedError(text, retry_seconds=retry_seconds)
        self.shutting_down |= reason == "SHUTTING_DOWN"
        what = "refused the bot" if self.welcome is None else "ended the session"
        text = f"{target.address} {what}: {one_line(said)}"
        return ConnectionFailedError(text, reason=reason, retry_seconds=retry_seconds)
