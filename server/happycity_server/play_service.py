"""PlayService: the stream that a bot plays on."""

from __future__ import annotations

import asyncio
import re
from importlib.metadata import version

import grpc
import structlog

from happycity.v1 import play_service_pb2 as play
from happycity.wire import PROTOCOL_VERSION, response_part
from happycity_server.lobby import Lobby
from happycity_server.refusals import Reason, Refusal, abort
from happycity_server.sessions import Session

SERVICE = play.DESCRIPTOR.services_by_name["PlayService"].full_name
HELLO_SECONDS = 10.0
NAME = re.compile(r"[A-Za-z0-9._+-]{1,64}")

_log = structlog.get_logger()
_Context = grpc.aio.ServicerContext[play.PlayRequest, bytes]


class PlayService:
    """Binds streams to sessions. Responses are encoded already, so the handler passes bytes on."""

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby

    def handler(self) -> grpc.GenericRpcHandler:
        """Return the RPC handler for a server to add."""
        method = grpc.stream_stream_rpc_method_handler(
            self._play,
            request_deserializer=play.PlayRequest.FromString,
            response_serializer=bytes,
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Play": method})

    async def _play(self, _requests: object, context: _Context) -> None:
        try:
            session = await self._greet(context)
        except Refusal as refusal:
            _log.info("bot_refused", reason=refusal.reason.name, peer=context.peer(), text=str(refusal))
            await abort(context, refusal)
        await self._lobby.enter(session)
        _log.info("bot_connected", bot=session.name, peer=context.peer(), max_games=session.max_games)
        try:
            await self._exchange(session, context)
        finally:
            await self._lobby.exit(session)
            _log.info("bot_disconnected", bot=session.name)
        if session.closing is not None:
            await abort(context, session.closing)

    async def _greet(self, context: _Context) -> Session:
        """Read the hello and answer it."""
        try:
            # A read that times out ends its stream, which is what should happen here.
            request = await asyncio.wait_for(context.read(), HELLO_SECONDS)
        except TimeoutError:
            raise Refusal(Reason.HELLO_EXPECTED, f"no hello within {HELLO_SECONDS:g} s") from None
        if not isinstance(request, play.PlayRequest) or not request.HasField("hello"):
            raise Refusal(Reason.HELLO_EXPECTED, "the first message of a stream must be a hello")
        hello = request.hello
        if hello.protocol_version != PROTOCOL_VERSION:
            raise Refusal(
                Reason.UNSUPPORTED_VERSION,
                f"protocol version {hello.protocol_version} is not spoken here, only {PROTOCOL_VERSION}",
                supported_min=str(PROTOCOL_VERSION),
                supported_max=str(PROTOCOL_VERSION),
            )
        if not NAME.fullmatch(hello.name):
            raise Refusal(
                Reason.INVALID_FIELD,
                f"name: {hello.name[:80]!r} is not 1 to 64 letters, digits or any of . _ - +",
                field="hello.name",
            )
        welcome = play.Welcome(
            protocol_version=PROTOCOL_VERSION, server=f"happycity-server/{version('happycity')}"
        )
        await context.write(response_part("welcome", welcome.SerializeToString()))
        return Session(hello.name, max_games=hello.max_games)

    async def _exchange(self, session: Session, context: _Context) -> None:
        """Read and write until one side ends the stream."""
        reader = asyncio.create_task(self._read(session, context))
        writer = asyncio.create_task(self._write(session, context))
        try:
            await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reader, writer):
                task.cancel()
            outcomes = await asyncio.gather(reader, writer, return_exceptions=True)
        for outcome in outcomes:
            # A stream that breaks off raises in whichever task notices it; both mean the bot is gone.
            if isinstance(outcome, Exception) and not isinstance(
                outcome, grpc.RpcError | asyncio.InvalidStateError
            ):
                _log.error("session_failed", bot=session.name, exc_info=outcome)

    async def _read(self, session: Session, context: _Context) -> None:
        clock = self._lobby.clock
        while isinstance(request := await context.read(), play.PlayRequest):
            session.receive(request, clock())

    async def _write(self, session: Session, context: _Context) -> None:
        while batch := await session.next_batch():
            await context.write(batch)
