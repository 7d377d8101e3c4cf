"""A scripted PlayService: every stream that a bot opens is handed to the script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import perf_counter

import grpc

from happycity.v1 import play_service_pb2 as play
from happycity.wire.status import STATUS_METADATA, StatusDetails, encode_status
from happycity_check.relay import Relay
from happycity_runtime.event_loop import running

_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_send_message_length", 64 * 1024 * 1024),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),  # as the real server allows
)
_Context = grpc.aio.ServicerContext[play.PlayRequest, play.PlayResponse]


@dataclass(frozen=True, slots=True)
class Received:
    """A message of the bot."""

    request: play.PlayRequest
    time: float
    """When it came, by `time.perf_counter`."""


class BotStream:
    """The server's end of a stream that a bot opened."""

    def __init__(self, context: _Context) -> None:
        self.metadata: dict[str, str] = {
            key: value if isinstance(value, str) else value.decode(errors="replace")
            for key, value in context.invocation_metadata() or ()
        }
        """What came with the call, such as its authorization."""
        self._context = context
        self._sending = asyncio.Lock()  # gRPC refuses a message while another one is being written
        self._received: asyncio.Queue[Received | None] = asyncio.Queue()
        # Code, text and encoded google.rpc.Status, empty for none.
        self._closing: asyncio.Future[tuple[grpc.StatusCode, str, bytes]] = (
            asyncio.get_running_loop().create_future()
        )

    async def receive(self, timeout: float | None) -> Received | None:  # noqa: ASYNC109 - the user's own option
        """Return the next message; None if the bot's side of the stream has ended.

        TimeoutError if neither happened within the timeout, in seconds.
        """
        # The stream itself is read by a task of its own: a read that is cancelled would end it.
        async with asyncio.timeout(timeout):
            received = await self._received.get()
        if received is None:
            self._received.put_nowait(None)  # it stays ended
        return received

    async def send(self, response: play.PlayResponse | bytes) -> float:
        """Send a message, or bytes in its place; return when that began, by `time.perf_counter`."""
        async with self._sending:
            began = perf_counter()
            # If the bot is gone, `receive` says so.
            with suppress(grpc.RpcError, grpc.aio.BaseError, asyncio.InvalidStateError):
                await self._context.write(response)  # type: ignore[arg-type]  # see `_serialize`
        return began

    def end(
        self,
        code: grpc.StatusCode = grpc.StatusCode.OK,
        text: str = "",
        *,
        details: StatusDetails | bytes = b"",
    ) -> None:
        """End the stream; `details` may be raw bytes that need not make sense."""
        if isinstance(details, StatusDetails):
            details = encode_status(code.value[0], text, details)
        if not self._closing.done():
            self._closing.set_result((code, text, details))

    async def serve(self) -> None:
        """Read until either side ends the stream, or the bot says goodbye. For the server."""
        try:
            async with running(self._read()) as tasks:
                await asyncio.wait((*tasks, self._closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._received.put_nowait(None)
        if self._closing.done() and self._closing.result()[0] is not grpc.StatusCode.OK:
            code, text, encoded = self._closing.result()
            await self._context.abort(code, text, ((STATUS_METADATA, encoded),) if encoded else ())

    async def _read(self) -> None:
        while isinstance(request := await self._context.read(), play.PlayRequest):
            self._received.put_nowait(Received(request, perf_counter()))
            if request.HasField("goodbye"):
                self.end()


def _serialize(response: play.PlayResponse | bytes) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()


class ScriptedServer:
    """Listens, and queues the streams that bots open."""

    def __init__(self, relay: Relay) -> None:
        self.address = relay.address
        """Where bots connect, host:port."""
        self.relay = relay
        """What passes their connections on, until they are cut."""
        self._streams: asyncio.Queue[BotStream] = asyncio.Queue()

    async def accept(self, timeout: float | None) -> BotStream:  # noqa: ASYNC109 - the user's own option
        """Return the next stream that a bot opened; TimeoutError if none was within `timeout` seconds."""
        async with asyncio.timeout(timeout):
            return await self._streams.get()

    def cut_connections(self) -> None:
        """Break all connections off, as a network failure does. Streams not yet accepted are dropped."""
        self.relay.cut()
        while not self._streams.empty():
            self._streams.get_nowait()

    async def _play(self, _requests: object, context: _Context) -> None:
        """Hand the stream to the script, and keep it open until the script or the bot ends it."""
        if not self.relay.carries(context.peer()):
            return  # the connection was cut before gRPC handed its stream over
        stream = BotStream(context)
        self._streams.put_nowait(stream)
        await stream.serve()

    @classmethod
    @asynccontextmanager
    async def listening(
        cls, listen: str = "127.0.0.1:0", *, credentials: grpc.ServerCredentials | None = None
    ) -> AsyncIterator[ScriptedServer]:
        """Listen at `listen` (host:port; port 0 is any free one); ConfigError if that is not possible."""
        server = grpc.aio.server(options=_OPTIONS)
        inside = "127.0.0.1:0"
        port = (
            server.add_secure_port(inside, credentials) if credentials else server.add_insecure_port(inside)
        )
        async with Relay.listening(listen, ("127.0.0.1", port)) as relay:
            scripted = cls(relay)
            method = grpc.stream_stream_rpc_method_handler(
                scripted._play,
                request_deserializer=play.PlayRequest.FromString,
                response_serializer=_serialize,
            )
            service = grpc.method_handlers_generic_handler("happycity.v1.PlayService", {"Play": method})
            server.add_generic_rpc_handlers((service,))
            await server.start()
            try:
                yield scripted
            finally:
                await server.stop(0)
