"""Servers on a free port with a time of their own, and calls to them by the names of their methods."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from happycity import Config
from happycity.v1 import match_pb2, match_service_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import PROTOCOL_VERSION, config_message
from happycity.wire.status import details_of
from happycity_client.matches import match_at_end
from happycity_runtime.tokens import Role, add_tokens, new_token
from happycity_server.app import Clocks, RunningServer, run_server
from happycity_server.config import ServerSettings
from happycity_server.play.lobby import SWEEP_SECONDS

Metadata = tuple[tuple[str, str], ...]
PlayCall = grpc.aio.StreamStreamCall[play.PlayRequest, play.PlayResponse]

HOSTING = "happycity.hosting.v1beta1.HostingService"
"""The service that a server with --hosted alone offers."""
PATIENT = match_pb2.TimeControl(connect_time=duration_message(60.0))
"""The time control of matches whose bots may come late, or never."""


class Clock:
    """A server's time, which stands still unless the test moves it or lets it run."""

    def __init__(self) -> None:
        self.now = 1000.0
        """Seconds. A jump of more than `OVERLOAD_SECONDS` at once is taken for the server's own delay."""

    def __call__(self) -> float:
        return self.now

    async def run(self) -> None:
        """Let time pass until the task is cancelled; on a slow machine it is slow."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.now += SWEEP_SECONDS


def settings(folder: Path, **values: Any) -> ServerSettings:
    """Return settings of a server on a free loopback port, with its files in a folder."""
    return ServerSettings.model_validate(
        {
            "listen": "127.0.0.1:0",
            "store": f"sqlite:///{folder}/games.sqlite",
            "grace": 0.2,
            "open": "tokens" not in values,
            **values,
        }
    )


@asynccontextmanager
async def serving(
    folder: Path, *, clocks: Clocks | None = None, **values: Any
) -> AsyncIterator[tuple[RunningServer, grpc.aio.Channel]]:
    """Run a server while the context lasts; yields it and a channel to it."""
    async with (
        run_server(settings(folder, **values), clocks=clocks) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        yield server, channel


@asynccontextmanager
async def pages(folder: Path, *, web: str = "127.0.0.1:0", **values: Any) -> AsyncIterator[str]:
    """Run a server with pages while the context lasts; yields their URL."""
    async with run_server(settings(folder, web=web, **values)) as server:
        assert server.web is not None
        yield server.web


def alarms(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the lines of a log that operators are woken by, but for those of a machine that is busy."""
    warnings = (line for line in lines if line["log_level"] not in ("info", "debug"))
    return [line for line in warnings if line["event"] != "overloaded"]


# Calls ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a call ended; an ordinary end is OK without a reason."""

    status: grpc.StatusCode = grpc.StatusCode.OK
    reason: str = ""
    text: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    """The fields of the request that were wrong."""
    retry_seconds: float | None = None
    """The least time before another attempt; None: the status has none."""


class Service:
    """Calls methods by their names, with the fields of their requests: `matches.GetMatch(match_id=1)`.

    The channel may be one of either kind; `metadata` is that of the call.
    """

    def __init__(self, channel: Any, name: str) -> None:
        self._channel, self._name = channel, name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        path = f"/{self._name}/{method}"
        described = method_named(path)
        request = GetMessageClass(described.input_type)
        response = GetMessageClass(described.output_type)
        kind = self._channel.unary_stream if described.server_streaming else self._channel.unary_unary
        call = kind(
            path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        return lambda metadata=(), **fields: call(request(**fields), metadata=metadata)


def matches_at(channel: Any) -> Service:
    return Service(channel, "happycity.v1.MatchService")


def tournaments_at(channel: Any) -> Service:
    return Service(channel, "happycity.tournament.v1beta1.TournamentService")


def refused(error: Any) -> Outcome:
    details = details_of(error)
    return Outcome(
        error.code(),
        details.reason,
        error.details() or "",
        dict(details.metadata),
        tuple(name for name, _ in details.fields),
        details.retry_seconds,
    )


async def outcome_of(call: Awaitable[object]) -> Outcome:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return refused(error)
    return Outcome()


def method_named(path: str) -> MethodDescriptor:
    """Return a method by its path, such as /happycity.v1.PlayService/Play."""
    service, _, name = path.removeprefix("/").partition("/")
    return descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]


async def called(
    channel: grpc.aio.Channel, path: str, metadata: Metadata = (), request: bytes = b""
) -> Outcome:
    """Call any method with one message; return how that began: refused, or not.

    A stream in both directions gets no message without a `request`. If one were written while the server
    refuses the stream, grpc.aio would report an error of its own instead of the server's.
    """
    method = method_named(path)
    try:
        if not method.server_streaming:
            unary: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
            await unary(request, metadata=metadata)
        elif not method.client_streaming:
            one_way: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(path)
            stream = one_way(request, metadata=metadata)
            await stream.read()
            stream.cancel()
        else:
            two_way: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(path)
            both = two_way(metadata=metadata)
            if request:
                await both.write(request)
            with suppress(grpc.aio.InternalError):  # it may be refused by now
                await both.done_writing()
            await both.read()
            both.cancel()
    except grpc.aio.AioRpcError as error:
        return refused(error)
    return Outcome()


async def end_of(call: Any) -> Outcome:
    """Read a stream to its end; return how it ended."""
    try:
        while await call.read() is not grpc.aio.EOF:
            pass
    except grpc.aio.AioRpcError as error:
        return refused(error)
    return Outcome()


async def exchanged(
    address: str, *messages: play.PlayRequest | bytes
) -> tuple[list[play.PlayResponse], Outcome]:
    """Send messages on a Play stream, also raw ones, and close it; return what came, and how it ended."""
    responses: list[play.PlayResponse] = []
    encoded = [each if isinstance(each, bytes) else each.SerializeToString() for each in messages]

    # Where a message is written to a stream that ends, grpc.aio raises an error of its own.
    def exchange() -> Outcome:
        with grpc.insecure_channel(address) as channel:
            method: Any = channel.stream_stream("/happycity.v1.PlayService/Play")
            try:
                responses.extend(map(play.PlayResponse.FromString, method(iter(encoded))))
            except grpc.RpcError as error:
                return refused(error)
        return Outcome()

    end = await asyncio.to_thread(exchange)
    return responses, end


def bearer(clear: str) -> Metadata:
    return (("authorization", f"Bearer {clear}"),)


def issued_token(path: Path, role: Role, name: str, *, hours: float | None = None) -> str:
    now = datetime.now(UTC)
    expires = None if hours is None else now + timedelta(hours=hours)
    clear, token = new_token(role, name, created=now, expires=expires)
    add_tokens(path, [token])
    return clear


# Bots ----------------------------------------------------------------------------------------------------


def hello(name: str, **fields: Any) -> play.PlayRequest:
    # Bots that lack the rules would have the server start a process that plays them.
    own: dict[str, Any] = {
        "protocol_version": PROTOCOL_VERSION,
        "name": name,
        "software": "happycity-python/0",
    }
    return play.PlayRequest(hello=play.Hello(**own | fields))


async def next_response(call: PlayCall) -> play.PlayResponse:
    response = await call.read()
    assert isinstance(response, play.PlayResponse)
    return response


async def connected(channel: grpc.aio.Channel, name: str, metadata: Metadata = (), **fields: Any) -> PlayCall:
    """Open a Play stream and say hello; return it once it is welcomed.

    Raises:
        AioRpcError: it is refused.
    """
    call: PlayCall = PlayServiceStub(channel).Play(metadata=metadata)
    await call.write(hello(name, **fields))
    assert (await next_response(call)).HasField("welcome")
    return call


def terms(*bots: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of a request for a match whose bots may come late."""
    return {
        "config": config_message(Config(players=len(bots))),
        "bots": bots,
        "time_control": PATIENT,
        **fields,
    }


async def ended_match(matches: Service, match_id: int, metadata: Metadata = ()) -> match_service_pb2.Match:
    """Wait until a match is over, and return it."""

    async def get(request: match_service_pb2.GetMatchRequest) -> match_service_pb2.Match:
        found: match_service_pb2.Match = await matches.GetMatch(
            metadata, match_id=request.match_id, wait=request.wait
        )
        return found

    return await match_at_end(get, match_id)


async def met(channel: grpc.aio.Channel, *bots: str, metadata: Metadata = ()) -> None:
    """Wait until bots are connected: each plays a match with the first of them, one alone with itself."""
    matches = matches_at(channel)
    for other in bots[1:] or bots:
        match = await matches.CreateMatch(metadata, **terms(bots[0], other))
        await ended_match(matches, match.match_id, metadata)
