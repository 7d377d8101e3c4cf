"""PlayService: the stream that a bot plays on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import grpc
import structlog
from google.protobuf.message import DecodeError

from happycity.terms import BOT_NAME
from happycity.v1 import play_service_pb2 as play
from happycity.wire import PROTOCOL_VERSION
from happycity_server.lobby import Lobby
from happycity_server.refusals import Reason, Refusal, abort
from happycity_server.sessions import Session
from happycity_server.streams import Stream

SERVICE = play.DESCRIPTOR.services_by_name["PlayService"].full_name
HELLO_SECONDS = 10.0

_log = structlog.get_logger()
_Context = grpc.aio.ServicerContext[play.PlayRequest, bytes]
Admit = Callable[[play.Hello, _Context], None]


def admit_all(_hello: play.Hello, _context: _Context) -> None:
    """Let every bot in."""


class PlayService:
    """Binds streams to sessions. Responses are encoded already, so the handler passes bytes on."""

    def __init__(
        self, lobby: Lobby, *, admit: Admit = admit_all, hello_seconds: float = HELLO_SECONDS
    ) -> None:
        self._lobby = lobby
        self._hello_seconds = hello_seconds
        self._admit = admit
        """Raises a `Refusal` for a bot that may not play here under the name of its hello."""

    def handler(self) -> grpc.GenericRpcHandler:
        """Return the RPC handler for a server to add."""
        method = grpc.stream_stream_rpc_method_handler(
            self._play,
            request_deserializer=play.PlayRequest.FromString,
            response_serializer=bytes,
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Play": method})

    async def _play(self, _requests: object, context: _Context) -> None:
        stream = self._lobby.new_stream()
        try:
            hello = await self._greet(context)
            session = self._lobby.enter(hello, stream)
        except Refusal as refusal:
            self._count(refusal)
            _log.info("bot_refused", reason=refusal.reason.name, peer=context.peer(), text=str(refusal))
            await abort(context, refusal)
        try:
            await self._exchange(session, stream, context)
        finally:
            self._lobby.exit(session, stream)
        if stream.refusal is not None:
            self._count(stream.refusal)
            _log.info("stream_ended", bot=session.name, reason=stream.refusal.reason.name)
            await abort(context, stream.refusal)

    async def _greet(self, context: _Context) -> play.Hello:
        """Read the hello and check it."""
        try:
            # A read that times out ends its stream, which is what should happen here.
            request = await asyncio.wait_for(_read(context), self._hello_seconds)
        except TimeoutError:
            raise Refusal(Reason.HELLO_EXPECTED, f"no hello within {self._hello_seconds:g} s") from None
        if request is None or not request.HasField("hello"):
            raise Refusal(Reason.HELLO_EXPECTED, "the first message of a stream must be a hello")
        hello = request.hello
        if hello.protocol_version != PROTOCOL_VERSION:
            raise Refusal(
                Reason.UNSUPPORTED_VERSION,
                f"protocol version {hello.protocol_version} is not spoken here, only {PROTOCOL_VERSION}",
                supported_min=str(PROTOCOL_VERSION),
                supported_max=str(PROTOCOL_VERSION),
            )
        if not BOT_NAME.fullmatch(hello.name):
            raise Refusal(
                Reason.INVALID_FIELD,
                f"name: {hello.name[:80]!r} is not 1 to 64 letters, digits or any of . _ - +",
                field="hello.name",
            )
        most = self._lobby.limits.batch
        if len(hello.games) > most:
            raise Refusal(Reason.INVALID_FIELD, f"games: more than {most}", field="hello.games")
        self._admit(hello, context)
        return hello

    async def _exchange(self, session: Session, stream: Stream, context: _Context) -> None:
        """Read and write until one side ends the stream."""
        # If the first write were cancelled while it sends these too, gRPC could not send a status any more.
        await context.send_initial_metadata(())
        reader = asyncio.create_task(self._receive(session, stream, context))
        writer = asyncio.create_task(self._send(stream, context))
        try:
            await asyncio.wait((reader, writer, stream.cut_off), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reader, writer):
                task.cancel()
            outcomes = await asyncio.gather(reader, writer, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Refusal):
                stream.refusal = stream.refusal or outcome
            # A stream that breaks off raises in whichever task notices it; both mean the bot is gone.
            elif isinstance(outcome, Exception) and not isinstance(
                outcome, grpc.RpcError | asyncio.InvalidStateError
            ):
                _log.error("session_failed", bot=session.name, exc_info=outcome)

    async def _receive(self, session: Session, stream: Stream, context: _Context) -> None:
        clock = self._lobby.clock
        while (request := await _read(context)) is not None:
            session.receive(stream, request, clock())
            if stream.congested:
                await stream.drained()

    async def _send(self, stream: Stream, context: _Context) -> None:
        while batch := await stream.next_batch():
            await context.write(batch)

    def _count(self, refusal: Refusal) -> None:
        self._lobby.tally.streams_refused[refusal.reason.name.lower()] += 1


async def _read(context: _Context) -> play.PlayRequest | None:
    """Return the bot's next message, or None at the end of its side of the stream.

    Raises:
        Refusal: the message is none of the contract.
    """
    try:
        request = await context.read()
    except DecodeError:
        raise Refusal(Reason.INVALID_FIELD, "the message is no PlayRequest") from None
    return request if isinstance(request, play.PlayRequest) else None
