"""The program of a gateway: streams of bots end here, and one stream to the server carries them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import grpc

from happycity.gateway.v1beta1 import gateway_service_pb2 as pb
from happycity.gateway.v1beta1.gateway_service_pb2_grpc import GatewayServiceStub
from happycity.wire.status import STATUS_METADATA
from happycity_runtime.addresses import TrustedProxies, address_of_peer
from happycity_runtime.event_loop import first_of, running
from happycity_runtime.transport import Access
from happycity_server.access.gate import FORWARDED_HEADER, GATEWAY_HEADER
from happycity_server.access.interceptor import abort, bearer, status_of
from happycity_server.access.roles import PUBLIC_SERVICES
from happycity_server.api.gateways import PLAY
from happycity_server.api.handlers import add_handlers
from happycity_server.config import ServerSettings
from happycity_server.errors import ApiError, Reason
from happycity_server.places.protocol import CHECK_SECONDS, VERSION
from happycity_server.play.clock import FairClock
from happycity_server.play.lobby import SWEEP_SECONDS
from happycity_server.process.listening import (
    STREAM_CLOSE_SECONDS,
    bind,
    certificate_of,
    check_exposure,
    print_line,
    server_options,
)
from happycity_server.workers.joining import stay_joined

DRIFT = 1e-4
"""How much the clocks of two machines may drift apart, in seconds for each second."""
TOKEN_CHARACTERS = 256
"""Of what a bot shows as its token; the rest of a longer one is left out, which is none anyway."""

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]
_Call: TypeAlias = grpc.aio.StreamStreamCall[pb.CarryRequest, pb.CarryResponse]


def carry(server: str, access: Access, own: ServerSettings, *, name: str, stop_with_stdin: bool) -> None:
    """Carry the streams of bots to a server until SIGINT or SIGTERM; errors are those of `stay_joined`.

    Those of `own` settings that were given say how the gateway listens, while it is joined. ListenError if it
    can't, or must not.
    """
    listen = own.model_dump(include=own.model_fields_set)
    stay_joined(server, access, partial(join, access, listen, name), stop_with_stdin=stop_with_stdin)


async def join(
    access: Access,
    listen: dict[str, Any],
    name: str,
    channel: grpc.aio.Channel,
    *,
    say: Callable[[Mapping[str, object]], None] = print_line,
) -> None:
    """Join a server, and listen to bots until the stream ends; a port that was free is kept in `listen`.

    `say` gets the line with the address.
    """
    call: _Call = GatewayServiceStub(channel).Carry(metadata=access.metadata)
    try:
        await call.write(pb.CarryRequest(hello=pb.Hello(name=name, version=VERSION)))
        first = await call.read()
        if isinstance(first, pb.CarryResponse):
            settings = ServerSettings.model_validate_json(first.conditions.settings)
            # Several messages of bots go into one to the server, and each of these has its limit.
            changed = {"message_bytes": settings.message_bytes // 2, **listen}
            gateway = Gateway(settings.model_copy(update=changed), access, channel)
            gateway.clock.note(first.now_us)
            check_exposure(gateway.settings, has_tokens=first.conditions.has_tokens)
            listen["listen"] = await gateway.start()
            say({"listening": listen["listen"]})
            await gateway.serve(call)
    finally:
        call.cancel()


class ServerClock:
    """The server's clock, as its messages let a gateway know it.

    It is behind by the least time that a message was under way. While this process itself is stuck, it stands
    still.
    """

    def __init__(self) -> None:
        self._own = FairClock(time.monotonic, tick_seconds=SWEEP_SECONDS)
        self._ahead = float("inf")  # of the server's clock
        self._noted = 0.0

    def note(self, now_us: int) -> None:
        """Take the time that a message from the server has."""
        now = self._own()
        self._ahead = min(self._ahead + DRIFT * (now - self._noted), now - now_us / 1e6)
        self._noted = now

    def now_us(self) -> int:
        """Return the server's time in microseconds."""
        return max(0, int((self._own() - self._ahead) * 1e6))

    async def run(self) -> None:
        """Notice when this process is stuck, until the task is cancelled."""
        while True:
            self._own.tick()
            await asyncio.sleep(SWEEP_SECONDS)


class _StreamOfBot:
    """The stream of a bot."""

    def __init__(self) -> None:
        self.batch = asyncio.Queue[bytes]()
        """What the bot is to get; the server sends the next batch when the last one was written."""
        self.written = asyncio.Event()
        """Whether all was written, the welcome first: until then nothing more is read from the bot."""
        self.ended: asyncio.Future[pb.Ended] = asyncio.get_running_loop().create_future()

    def end(self, ended: pb.Ended) -> None:
        """End it with a status."""
        if not self.ended.done():
            self.ended.set_result(ended)


class Gateway:
    """Listens to bots while it is joined to a server."""

    def __init__(self, settings: ServerSettings, access: Access, channel: grpc.aio.Channel) -> None:
        self.settings = settings
        self._access = access
        self._channel = channel
        self._proxies = TrustedProxies(settings.trusted_proxy)
        self.clock = ServerClock()
        self._certificate = certificate_of(settings)
        self._server = grpc.aio.server(options=server_options(settings))
        self._next_stream = count(1).__next__
        self._streams: dict[int, _StreamOfBot] = {}  # by number
        self._request = pb.CarryRequest()  # the next one
        self._request_bytes = 0
        self._changed = asyncio.Event()  # there is something to send
        self._sent = asyncio.Event()  # the next request was sent; each has its own event

    async def start(self) -> str:
        """Listen; return the address."""
        for service, methods in PUBLIC_SERVICES.items():
            add_handlers(
                self._server, service, {method: self._handler(f"/{service}/{method}") for method in methods}
            )
        address = bind(self._server, self.settings.listen, self._certificate)
        await self._server.start()
        return address

    def _handler(self, path: str) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Return what serves a method: on the wire each is a stream both ways, and here of bytes."""
        serve = self._play if path == PLAY else partial(self._pass_on, path)
        return grpc.stream_stream_rpc_method_handler(serve)

    async def serve(self, call: _Call) -> None:
        """Carry what bots and server say, until the server ends the stream."""
        watching = () if self._certificate is None else (self._certificate.watch(time.time),)
        try:
            await first_of(self._read(call), self._write(call), self.clock.run(), *watching)
        finally:
            text = "the gateway stops, or has lost its server; connect again"
            code, text, details = status_of(ApiError(Reason.SHUTTING_DOWN, text))
            for stream in self._streams.values():
                stream.end(pb.Ended(code=code.value[0], text=text, details=details))
            await self._server.stop(STREAM_CLOSE_SECONDS)

    async def _read(self, call: _Call) -> None:
        """Pass on what bots are to get."""
        while isinstance(response := await call.read(), pb.CarryResponse):
            self.clock.note(response.now_us)
            for batch in response.batches:
                if (stream := self._streams.get(batch.stream)) is not None:
                    stream.written.clear()
                    stream.batch.put_nowait(batch.response)
            for ended in response.ended:
                if (stream := self._streams.get(ended.stream)) is not None:
                    stream.end(ended)

    async def _write(self, call: _Call) -> None:
        """Send what bots have done, all that there is together; an empty message as a sign of life."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._changed.wait()
            self._changed.clear()
            request, self._request, self._request_bytes = self._request, pb.CarryRequest(), 0
            sent, self._sent = self._sent, asyncio.Event()
            await call.write(request)
            sent.set()

    async def _room(self, size: int) -> None:
        """Wait until the next request has room for a part of some bytes, which is to be added at once."""
        while self._request_bytes > self.settings.message_bytes // 2:
            await self._sent.wait()
        self._request_bytes += size
        self._changed.set()

    async def _play(self, _requests: object, context: _Context) -> None:
        """Let a bot play over the server's stream."""
        shown, address = self._caller(context)
        token = bearer(shown)
        token = token if token is None else token[:TOKEN_CHARACTERS]
        await self._room(len(token or "") + len(address))
        number, stream = self._next_stream(), _StreamOfBot()
        self._request.opened.add(stream=number, token=token, address=address)
        self._streams[number] = stream
        try:
            await context.send_initial_metadata(())
            talking = self._read_bot(number, stream, context), self._write_bot(number, stream, context)
            with suppress(grpc.RpcError, asyncio.InvalidStateError):  # the bot is gone
                await first_of(*talking, asyncio.wait((stream.ended,)))
            if stream.ended.done() and (ended := stream.ended.result()).code:
                await abort(context, _CODES[ended.code], ended.text, ended.details)
        finally:
            del self._streams[number]
            self._close(number)

    async def _read_bot(self, number: int, stream: _StreamOfBot, context: _Context) -> None:
        """Pass on what a bot says. Bots take turns: one message of each goes into a request."""
        while isinstance(message := await context.read(), bytes):
            read_at = self.clock.now_us()
            await self._room(len(message))
            self._request.messages.add(stream=number, request=message, read_at_us=read_at)
            await self._sent.wait()
            await stream.written.wait()
        self._close(number)
        await asyncio.wait((stream.ended,))

    def _close(self, number: int) -> None:
        """Let the server know that a bot has ended its side, or is lost."""
        self._request.closed.append(number)
        self._changed.set()

    async def _write_bot(self, number: int, stream: _StreamOfBot, context: _Context) -> None:
        """Write what a bot is to get."""
        while True:
            await context.write(await stream.batch.get())
            stream.written.set()
            self._request.written.append(number)
            self._changed.set()

    async def _pass_on(self, path: str, _requests: object, context: _Context) -> None:
        """Pass on a call of another method, with the caller's address and the gateway's own token."""
        shown, address = self._caller(context)
        own = (FORWARDED_HEADER, address), (GATEWAY_HEADER, self._access.token)
        call: Any = self._channel.stream_stream(path)(
            metadata=(*shown, *own), timeout=context.time_remaining()
        )
        try:
            async with running(_pass_requests(context, call)):
                while isinstance(response := await call.read(), bytes):
                    await context.write(response)
        except grpc.aio.AioRpcError as error:
            details = dict(error.trailing_metadata() or ()).get(STATUS_METADATA, b"")
            await abort(context, error.code(), error.details() or "", details)
        finally:
            call.cancel()

    def _caller(self, context: _Context) -> tuple[list[tuple[str, str]], str]:
        """Return the headers in which a caller shows its token, and its address."""
        headers = [(key, text) for key, text in context.invocation_metadata() or () if isinstance(text, str)]
        address = self._proxies.client(address_of_peer(context.peer()), headers)
        return [header for header in headers if header[0] == "authorization"], address


async def _pass_requests(context: _Context, call: Any) -> None:
    """Pass on the messages of a caller."""
    while isinstance(message := await context.read(), bytes):
        await call.write(message)
    await call.done_writing()
