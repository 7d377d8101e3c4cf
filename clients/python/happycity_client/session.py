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
from happycity.wire.messages import PROTOCOL_VERSION
from happycity.wire.status import details_of
from happycity_client.errors import ConnectionFailedError, ProtocolError
from happycity_client.player import Player, RequestOutbox, place
from happycity_client.settings import Settings
from happycity_runtime.event_loop import running
from happycity_runtime.unreachable import is_lost, unreachable

SEND_SECONDS = 0.005
"""While a bot is busy with a batch of decisions, its answers wait this long for others to join them."""
WELCOME_SECONDS = 20.0
"""A server that has not welcomed the bot by then is given up."""
GOODBYE_SECONDS = 5.0
"""How long the server may take to end the stream after a goodbye."""

_Stream = grpc.aio.StreamStreamCall[Any, Any]


class ClientSession:
    """A stream that is read, handled and written by a task each.

    The task that awaits `run` does no reading or writing itself: a read or write that is cancelled would take
    the stream with it, before the goodbye.
    """

    def __init__(self, settings: Settings, player: Player, on_welcome: Callable[[], object]) -> None:
        self.welcome: play.Welcome | None = None
        """What the server said to the hello; None until then."""
        self.handled = 0
        """The number of messages that were handled."""
        self.shutting_down = False
        """Whether the server said that it shuts down."""
        self._settings = settings
        self._player = player
        self._on_welcome = on_welcome
        self._outbox = player.outbox = RequestOutbox()
        self._inbox = asyncio.Queue[play.PlayResponse | None]()
        self._ending = False  # the bot is asked nothing more: that will be asked again

    async def run(self, resume_token: str | None) -> None:
        """Connect and play until the server ends the stream well. When cancelled, say goodbye first.

        Raises:
            ConfigError: a setting can't be used.
            ConnectionFailedError: the stream ended otherwise.
        """
        settings, target = self._settings, self._settings.target
        hello = play.Hello(
            protocol_version=PROTOCOL_VERSION,
            name=settings.name or None,
            max_games=settings.games or None,
            software=f"happycity-python/{version('happycity')}",
            resume_token=resume_token,
            info=bot_info_message(settings.info),
        )
        async with settings.access.channel(target) as channel:
            call: Any = channel.stream_stream(
                "/happycity.v1.PlayService/Play", request_serializer=play.PlayRequest.SerializeToString
            )
            try:
                await self._play(call(metadata=settings.access.metadata), hello)
            except grpc.aio.AioRpcError as error:
                raise self._failure(error) from None
            except TimeoutError:
                text = unreachable(target, f"no welcome within {WELCOME_SECONDS:.0f} s")
                raise ConnectionFailedError(text, retry_seconds=0.0) from None
            except ProtocolError as error:
                raise ProtocolError(f"{target.address} broke the protocol: {error}") from None

    async def _play(self, stream: _Stream, hello: play.Hello) -> None:
        calls = self._read(stream), self._work(), self._write(stream, hello)
        async with running(*calls) as (reader, worker, _):
            try:
                await asyncio.shield(worker)  # ends after the reader, or as the server broke the protocol
                await reader
            except asyncio.CancelledError:
                self._ending = True
                if self.welcome is not None:
                    self._outbox.gathered().goodbye.SetInParent()
                    await asyncio.wait((worker,), timeout=GOODBYE_SECONDS)
                raise

    async def _write(self, stream: _Stream, hello: play.Hello) -> None:
        request = play.PlayRequest(hello=hello)
        try:
            await stream.write(request)
            while not request.HasField("goodbye"):
                await self._outbox.filled.wait()
                request = self._outbox.take()
                await stream.write(request)
            await stream.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the reader gets the status

    async def _read(self, stream: _Stream) -> None:
        """Read until the stream ends."""
        try:
            async with asyncio.timeout(WELCOME_SECONDS) as welcomed:
                async for encoded in stream:
                    welcomed.reschedule(None)
                    response = play.PlayResponse.FromString(encoded)
                    if response.HasField("ping"):  # not behind decisions that wait for the bot
                        self._outbox.gathered().pong.nonce = response.ping.nonce
                    self._inbox.put_nowait(response)
        except DecodeError:
            raise ProtocolError("a message can't be decoded") from None
        finally:
            self._ending = True
            self._inbox.put_nowait(None)

    async def _work(self) -> None:
        """Handle the batches in their order, and the parts of each in the order that the contract demands."""
        while (response := await self._inbox.get()) is not None:
            if self.welcome is None:
                self._greet(response)
            for notice in response.notices:  # about what happened before the other parts
                self._note(notice)
            for started in response.games_started:
                self._player.start(started)
            sent = time.perf_counter()
            for decision in response.decisions[:]:  # quicker than one by one
                if self._ending:
                    break
                self._player.decide(decision)
                if time.perf_counter() - sent > SEND_SECONDS:
                    await asyncio.sleep(0)  # the writer's turn, and the reader's: there may be a ping
                    sent = time.perf_counter()
            for over in response.games_over:
                self._player.end(over)
            self.handled += 1

    def _greet(self, response: play.PlayResponse) -> None:
        if not response.HasField("welcome"):
            raise ProtocolError("the first message is not a welcome")
        welcome = self.welcome = response.welcome
        how = ", and the games go on" if welcome.match_ids else ""
        self._player.log.info("connected to %s%s", self._settings.target.address, how)
        if welcome.catalogue_digest != catalogue_digest():
            self._player.log.warning("the server's cards are not those of this SDK: some are new or changed")
        self._player.keep(welcome.match_ids)
        self._on_welcome()

    def _note(self, notice: play.Notice) -> None:
        """Log a notice, and remember that the server shuts down."""
        if notice.kind == play.NOTICE_KIND_SHUTDOWN:
            self.shutting_down = True
        if notice.kind != play.NOTICE_KIND_FORFEIT:  # the end of the game says it, with the reason
            where = place(notice.match_id, notice.round, notice.decision_id)
            text = one_line(notice.text)  # a server may not write control characters to the terminal
            self._player.log.warning("%s", f"{where}: {text}" if where else text)

    def _failure(self, error: grpc.aio.AioRpcError) -> ConnectionFailedError:
        """Return why the stream ended, from its status."""
        target, code = self._settings.target, error.code()
        said = error.details() or code.name
        details = details_of(error)
        self.shutting_down |= details.reason == "SHUTTING_DOWN"
        # INTERNAL is gRPC's own status where the transport breaks a stream off while it is written.
        was_lost = is_lost(error) or (code is grpc.StatusCode.INTERNAL and not details.reason)
        if was_lost:
            lost = f"the connection to {target.address} was lost"
            text = lost if self.welcome else unreachable(target, said, ca=self._settings.access.ca)
        else:
            what = "refused the bot" if self.welcome is None else "ended the session"
            text = f"{target.address} {what}: {one_line(said)}"
        retry_seconds = details.retry_seconds
        if retry_seconds is None and (was_lost or code is grpc.StatusCode.UNAVAILABLE):
            retry_seconds = 0.0
        return ConnectionFailedError(text, reason=details.reason, retry_seconds=retry_seconds)
