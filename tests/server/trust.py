"""Servers with tokens or certificates, and calls of which only the refusal matters."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from happycity import Config
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import config_message
from happycity_server.config import ServerSettings
from happycity_server.tokens import Role, create_token

Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Refused:
    """How a call was refused; an ordinary end is OK without a reason."""

    status: grpc.StatusCode
    reason: str
    metadata: dict[str, str]
    text: str


def refused(error: grpc.aio.AioRpcError) -> Refused:
    """Return the typed part of an error."""
    info, details = ErrorInfo(), {**dict(error.trailing_metadata() or ())}
    rich = details.get("grpc-status-details-bin")
    if isinstance(rich, bytes):
        (detail,) = Status.FromString(rich).details
        assert detail.Unpack(info)
        assert info.domain == "happycity"
    return Refused(error.code(), info.reason, dict(info.metadata), error.details() or "")


FINE = Refused(grpc.StatusCode.OK, "", {}, "")


def settings(folder: Path, **values: Any) -> ServerSettings:
    """Return settings of a server on a free loopback port, with its files in a folder."""
    return ServerSettings.model_validate(
        {
            "listen": "127.0.0.1:0",
            "store": f"sqlite:///{folder}/games.sqlite",
            "grace_seconds": 0.2,
            "open": "tokens" not in values,
            **values,
        }
    )


def new_token(path: Path, role: Role, name: str, *, hours: float | None = None) -> str:
    """Add a token to a file and return it in clear."""
    now = datetime.now(UTC)
    expires = None if hours is None else now + timedelta(hours=hours)
    return create_token(path, role, name, created=now, expires=expires)[0]


def bearer(clear: str) -> Metadata:
    """Return the metadata of a call with a token."""
    return (("authorization", f"Bearer {clear}"),)


def method_named(path: str) -> MethodDescriptor:
    """Return a method by its path, such as /happycity.v1.PlayService/Play."""
    service, _, name = path.removeprefix("/").partition("/")
    return descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]


async def called(
    channel: grpc.aio.Channel, path: str, metadata: Metadata = (), request: bytes = b""
) -> Refused:
    """Call any method with one message and tell how that began: refused, or not.

    A stream in both directions gets no message without a `request`. If one were written while the server
    refuses the stream, grpc.aio would tell an error of its own instead of the server's.
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
    return FINE


def hello(name: str) -> play.PlayRequest:
    """Return a bot's first message."""
    return play.PlayRequest(hello=play.Hello(name=name, protocol_version=1))


PlayCall = grpc.aio.StreamStreamCall[play.PlayRequest, play.PlayResponse]


async def connected(channel: grpc.aio.Channel, name: str, metadata: Metadata = ()) -> PlayCall:
    """Open a Play stream and say hello; return it once it is welcomed.

    Raises:
        AioRpcError: it is refused.
    """
    call: PlayCall = PlayServiceStub(channel).Play(metadata=metadata)
    await call.write(hello(name))
    answer = await call.read()
    assert isinstance(answer, play.PlayResponse)
    assert answer.HasField("welcome")
    return call


async def met(channel: grpc.aio.Channel, *bots: str) -> None:
    """Wait until bots are connected: each plays a match with the first of them."""
    stub = MatchServiceStub(channel)
    for other in bots[1:]:
        request = match_pb.CreateMatchRequest(
            config=config_message(Config(players=2)),
            bots=[bots[0], other],
            time_control=match_pb.TimeControl(connect_ms=60_000),
        )
        match_id = (await stub.CreateMatch(request)).match.match_id
        async for _ in stub.WatchMatch(match_pb.WatchMatchRequest(match_id=match_id)):
            pass


async def end_of(call: Any) -> Refused:
    """Read a stream to its end and tell how it ended."""
    try:
        while await call.read() is not grpc.aio.EOF:
            pass
    except grpc.aio.AioRpcError as error:
        return refused(error)
    return FINE
