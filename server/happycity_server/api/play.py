"""The services that bots ask: the stream that they play on, the cards, and who is connected."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc
import structlog
from google.protobuf.message import DecodeError

from happycity import ConfigError
from happycity.match import check_bot_name, is_person
from happycity.v1 import bot_service_pb2 as bots
from happycity.v1 import catalogue_service_pb2 as catalogue
from happycity.v1 import play_service_pb2 as play
from happycity.wire.fields import to_message
from happycity.wire.match import bot_info_message, duration_message
from happycity.wire.messages import PROTOCOL_VERSION, catalogue_message
from happycity.wire.moments import timestamp
from happycity_runtime.event_loop import first_of
from happycity_server.access.roles import Principal, principal
from happycity_server.api.handlers import add_handlers
from happycity_server.api.paging import ListRequest
from happycity_server.errors import ApiError, Reason, invalid
from happycity_server.play.lobby import Lobby
from happycity_server.play.outbox import Outbox
from happycity_server.play.session import Session
from happycity_tournament.visibility import sees_people

STREAM_ERRORS = grpc.RpcError, asyncio.InvalidStateError
"""What gRPC raises where a stream has ended."""

_log = structlog.get_logger()
_Context = grpc.aio.ServicerContext[bytes, bytes]
_Read = Callable[[], Awaitable[play.PlayRequest | None]]


@dataclass(eq=False, repr=False)
class PlayService:
    """Binds streams to sessions. Messages are bytes for gRPC: responses are encoded already."""

    lobby: Lobby
    hello_seconds: float
    is_hosted: Callable[[str], bool]
    """Returns whether only the server itself may run a bot."""

    def add_to(self, server: grpc.aio.Server) -> None:
        """Have a gRPC server serve it."""
        method: Any = grpc.stream_stream_rpc_method_handler(self._play)
        add_handlers(server, "happycity.v1.PlayService", {"Play": method})

    async def _play(self, _requests: object, context: _Context) -> None:
        await self.serve(partial(_read, context), partial(self._exchange, context))

    async def serve(self, read: _Read, exchange: Callable[[Session, Outbox], Awaitable[None]]) -> None:
        """Let a bot play: `read` its first message, `exchange` all others; ApiError if the server ends it."""
        caller = principal()
        try:
            hello = await self._read_hello(caller, read)
            session, outbox = self.lobby.enter(hello)
        except ApiError as error:
            who = caller.caller
            _log.info("bot_refused", reason=error.reason.name, caller=who, text=str(error))
            raise
        except STREAM_ERRORS:  # the bot is gone
            return
        try:
            await exchange(session, outbox)
        except ApiError as error:
            _log.info("stream_ended", bot=session.name, reason=error.reason.name)
            raise
        finally:
            self.lobby.leave(session, outbox)

    async def _read_hello(self, caller: Principal, read: _Read) -> play.Hello:
        """Read the hello and check it; refuse the stream if there is none in time, or it is wrong."""
        try:
            # A read that times out ends its stream, which is what should happen here.
            request = await asyncio.wait_for(read(), self.hello_seconds)
        except TimeoutError:
            text = f"no hello within {self.hello_seconds:g} s"
            raise ApiError(Reason.HELLO_EXPECTED, text) from None
        if request is None or not request.HasField("hello"):
            raise ApiError(Reason.HELLO_EXPECTED, "the first message of a stream must be a hello")
        hello = request.hello
        _check_protocol_version(hello.protocol_version)
        try:
            if not hello.HasField("name"):
                hello.name = caller.own_bot  # a bot's token is a name
            check_bot_name(hello.name)
        except ConfigError as error:
            raise invalid("hello.name", f"{error}") from None
        if hello.HasField("max_games") and not hello.max_games:
            raise invalid("hello.max_games", "0 would be no game; leave it out for any number")
        caller.check_name(hello.name, house=self.lobby.house)
        if version := caller.hosted_version:
            hello.info.version = version
        elif self.is_hosted(hello.name):
            text = "the server plays it, as submitted; to play it elsewhere, use: happycity submit --withdraw"
            raise ApiError(Reason.WRONG_NAME, f"{hello.name}: {text}", name=hello.name)
        return hello

    async def _exchange(self, context: _Context, session: Session, outbox: Outbox) -> None:
        """Read and write until one side ends the stream; the server does so by an ApiError."""
        # If the first write were cancelled while it sends these too, gRPC could not send a status any more.
        await context.send_initial_metadata(())
        talking = self._receive(session, outbox, context), self._send(outbox, context)
        with suppress(*STREAM_ERRORS):  # the bot is gone
            await first_of(*talking, asyncio.wait((outbox.cut_off,)))
        if outbox.error is not None:
            raise outbox.error

    async def _receive(self, session: Session, outbox: Outbox, context: _Context) -> None:
        clock = self.lobby.clock
        while (request := await _read(context)) is not None:
            session.receive(outbox, request, clock())
            if outbox.congested:
                await outbox.drained()

    async def _send(self, outbox: Outbox, context: _Context) -> None:
        while batch := await outbox.next_batch():
            await context.write(batch)


def _check_protocol_version(version: int) -> None:
    """Refuse a bot that speaks another version of the protocol, or none; the ApiError says what to do."""
    if version == PROTOCOL_VERSION:
        return
    spoken = f"protocol version {version}" if version else "a protocol from before version 1"
    older = version < PROTOCOL_VERSION
    advice = "update the bot's SDK" if older else "use an older SDK, or update the server"
    text = f"the bot speaks {spoken}, this server protocol version {PROTOCOL_VERSION}; {advice}"
    raise ApiError(Reason.PROTOCOL_VERSION, text, version=str(version), needed=str(PROTOCOL_VERSION))


def decoded(message: bytes) -> play.PlayRequest:
    """Return a bot's message; ApiError if it is none."""
    try:
        return play.PlayRequest.FromString(message)
    except DecodeError:
        raise ApiError(Reason.INVALID_FIELD, "the message is not a PlayRequest") from None


async def _read(context: _Context) -> play.PlayRequest | None:
    """Return the bot's next message, or None at the end of its side of the stream."""
    message = await context.read()
    return decoded(message) if isinstance(message, bytes) else None


class CatalogueService:
    """Returns the card tables."""

    def __init__(self) -> None:
        self._response = catalogue_message()

    async def GetCatalogue(
        self, caller: Principal, request: catalogue.GetCatalogueRequest
    ) -> catalogue.Catalogue:
        """Return every card."""
        return self._response


class BotService:
    """Lists the bots that are connected to the server."""

    def __init__(self, lobby: Lobby, *, owner_of: Callable[[str], str | None]) -> None:
        """List the bots of a lobby; `owner_of` returns who owns a bot."""
        self._lobby = lobby
        self._owner_of = owner_of

    async def ListBots(self, caller: Principal, request: bots.ListBotsRequest) -> bots.ListBotsResponse:
        """List the bots that are connected, or were a moment ago."""
        asked = ListRequest(request)
        house = request.house if request.HasField("house") else None
        lobby = self._lobby
        sessions = {
            name: session
            for name, session in lobby.sessions.items()
            if not (session.gone or is_person(name)) and house in (None, name in lobby.house)
        }
        page, token = asked.sorted_by(lambda name: (name,), sessions)
        messages = [bot_message(caller, sessions[name], lobby, self._owner_of(name)) for name in page]
        return bots.ListBotsResponse(bots=messages, next_page_token=token)


def bot_message(caller: Principal, session: Session, lobby: Lobby, owner: str | None) -> bots.ConnectedBot:
    """Write a bot of a lobby as it is now, as far as the caller may see it."""
    # Whose a bot is, and how far from the server, concerns its author and the other participants.
    is_insider = sees_people(caller.viewer)
    trip = session.round_trip_us if is_insider else None
    return to_message(
        bots.ConnectedBot,
        session,
        *("name", "software", "games", "max_games", "answers", "strikes"),
        info=bot_info_message(session.info),
        owner=owner if is_insider and session.name not in lobby.house else None,
        house=session.name in lobby.house,
        connected=session.outbox is not None,
        since=timestamp(session.since),
        decisions_waiting=len(session.waiting_since),
        waiting_since=session.oldest_wait(lobby.clock(), lobby.unix_clock),
        round_trip=None if trip is None else duration_message(trip / 1e6),
    )
