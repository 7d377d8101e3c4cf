"""Gateways: processes at which the streams of bots end, and which carry many over one stream to a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import grpc
import structlog

from happycity.gateway.v1beta1 import gateway_service_pb2 as pb
from happycity.gateway.v1beta1.gateway_service_pb2_grpc import GatewayServiceServicer, GatewayServiceStub
from happycity.v1 import play_service_pb2 as play
from happycity.wire.status import STATUS_METADATA
from happycity_runtime.addresses import FORWARDED_FOR, TrustedProxies, address_of_peer
from happycity_runtime.event_loop import end_tasks, first_of, spawn
from happycity_runtime.transport import Access
from happycity_server.access.gate import GATEWAY_HEADER, Gate
from happycity_server.access.interceptor import abort, api_error_of, bearer, read_request, status_of
from happycity_server.access.roles import PUBLIC_SERVICES
from happycity_server.api.handlers import add_handlers
from happycity_server.api.play import STREAM_ERRORS, PlayService, decoded
from happycity_server.config import ServerSettings
from happycity_server.errors import ApiError, Reason, invalid
from happycity_server.places.protocol import CHECK_SECONDS, VERSION, name_of_joining, until_silent
from happycity_server.play.outbox import HOP_SECONDS, Outbox
from happycity_server.play.session import Session
from happycity_server.process import listening

PLAY = "/happycity.v1.PlayService/Play"
STREAMED = "/Submit", "/ServerReflectionInfo"  # the other methods whose callers send a stream
MESSAGE_BYTES = 1024 * 1024
"""From this size on, what is for a gateway's bots goes into the next message."""

GATHER_SECONDS = 0.01
"""The longest time for which both ends gather after a message, so that the next one has more bots in it."""
GATHER_SECONDS_EACH = 0.00004
"""How long they gather for each stream: the more bots share a message, which costs much, the cheaper each."""

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_log = structlog.get_logger()
_Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]


@dataclass(eq=False, repr=False)
class GatewayService(GatewayServiceServicer):
    """Admits gateways, and their bots as if those had called the server themselves."""

    gate: Gate
    play: PlayService
    conditions: pb.Conditions
    steady: Callable[[], float]  # seconds that never jump

    async def Carry(  # type: ignore[override]  # it reads and writes by itself
        self, request_iterator: object, context: _Context
    ) -> None:
        """Let a gateway join, and its bots play until its stream ends."""
        name, gateway = await name_of_joining(context, "gateway"), JoinedGateway(self)
        _log.info("gateway_joined", gateway=name)
        self.gate.gateways += 1
        try:
            with suppress(*STREAM_ERRORS):  # the stream broke
                await context.write(gateway.response(conditions=self.conditions))
                watching = until_silent("gateway", name, lambda: gateway.messages)
                await first_of(gateway.read(context), gateway.write(context), watching)
        finally:
            self.gate.gateways -= 1
            _log.info("gateway_left", gateway=name, bots=len(gateway.streams), messages=gateway.messages)
            await end_tasks(*gateway.playing)


class JoinedGateway:
    """The stream of one gateway at its server, over which its bots play."""

    def __init__(self, service: GatewayService) -> None:
        self.streams: dict[int, CarriedStream] = {}  # of its bots, by number
        self.playing: set[asyncio.Task[None]] = set()  # one for each of them
        self.messages = 0  # of the gateway
        self._service = service
        self._ready: dict[int, CarriedStream] = {}  # with something to send
        self._ended: list[pb.Ended] = []
        self._changed = asyncio.Event()

    async def read(self, context: _Context) -> None:
        """Take what bots have done, until the gateway ends its stream."""
        while isinstance(request := await context.read(), pb.CarryRequest):
            self.messages += 1
            for opened in request.opened:
                if opened.stream in self.streams:
                    raise invalid("opened.stream", f"{opened.stream} is open already")
                stream = CarriedStream(partial(self._note_ready, opened.stream))
                self.streams[opened.stream] = stream
                spawn(self._let_play(stream, opened), self.playing)
            for number in request.written:
                if (written := self.streams.get(number)) is not None and written.outbox is not None:
                    written.outbox.written()
            now, steady = self._service.play.lobby.clock(), self._service.steady()
            spoken = zip(request.speaking, request.requests, request.read_at_us, strict=True)
            for number, message, read_at_us in spoken:
                if (sender := self.streams.get(number)) is not None:
                    under_way = min(max(0.0, steady - read_at_us / 1e6), HOP_SECONDS)
                    sender.receive(message, now - under_way)
            for number in request.closed:
                if (closed := self.streams.get(number)) is not None:
                    closed.end(None)

    async def _let_play(self, stream: CarriedStream, opened: pb.Opened) -> None:
        """Let a bot play as one that has called the server itself, until its stream ends."""
        gate, number, ended = self._service.gate, opened.stream, pb.Ended(stream=opened.stream)
        try:
            await gate.authenticator.refresh()
            shown = opened.token if opened.HasField("token") else None
            caller = gate.admit(PLAY, shown, opened.address, is_stream=True)
            async with gate.stream(caller):
                await self._service.play.serve(lambda: stream.first, stream.exchange)
        except Exception as failure:  # noqa: BLE001 - the RPC boundary
            error = api_error_of(failure)
            gate.note_refused(error, PLAY, opened.address)
            code, text, details = status_of(error)
            ended = pb.Ended(stream=number, code=code.value[0], text=text, details=details)
        finally:
            self._ended.append(ended)
            self._ready.pop(number, None)
            del self.streams[number]
            self._changed.set()

    def _note_ready(self, number: int, stream: CarriedStream) -> None:
        if not self._ready:
            self._changed.set()
        self._ready[number] = stream

    async def write(self, context: _Context) -> None:
        """Send what bots are to get, all that there is together."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._ready or self._ended:
                response, size = self.response(ended=self._ended), 0
                self._ended.clear()
                while self._ready and size < MESSAGE_BYTES:
                    number, stream = self._ready.popitem()
                    assert stream.outbox is not None
                    if not (batch := stream.outbox.take()):
                        stream.end(None)
                        continue
                    size += len(batch)
                    response.streams.append(number)
                    response.batches.append(batch)
                await context.write(response)
            await asyncio.sleep(min(GATHER_SECONDS, len(self.streams) * GATHER_SECONDS_EACH))

    def response(self, **parts: Any) -> pb.CarryResponse:
        """Make a message with the time by which gateways stamp."""
        return pb.CarryResponse(now_us=int(self._service.steady() * 1e6), **parts)


class CarriedStream:
    """A bot's stream that ends at a gateway, as its server sees it."""

    def __init__(self, on_ready: Callable[[CarriedStream], None]) -> None:
        """Begin without a bot; `on_ready` is called when its outbox has something to send."""
        loop = asyncio.get_running_loop()
        self.first: asyncio.Future[play.PlayRequest | None] = loop.create_future()  # None if there is none
        self.outbox: Outbox | None = None
        self._session: Session | None = None
        self._on_ready = on_ready
        self._over: asyncio.Future[Exception | None] = loop.create_future()

    def receive(self, message: bytes, read_at: float) -> None:
        """Take a message that was read at a moment of the lobby's clock."""
        try:
            request = decoded(message)
            if self._session is not None and self.outbox is not None:
                self._session.receive(self.outbox, request, read_at)
            elif self.first.done():
                raise invalid("messages", "the gateway has sent a second one before the welcome")
            else:
                self.first.set_result(request)
        except Exception as error:  # noqa: BLE001 - the boundary of one bot; `exchange` lets it out
            self.end(error)

    def end(self, error: Exception | None) -> None:
        """End the stream at once."""
        if not self._over.done():
            self._over.set_result(error)
        if not self.first.done():
            self.first.set_exception(error) if error else self.first.set_result(None)
            self.first.exception()  # a bot that is refused anyway needn't see it

    async def exchange(self, session: Session, outbox: Outbox) -> None:
        """Let the gateway carry what bot and session say, until one side ends the stream."""
        self._session, self.outbox = session, outbox
        outbox.hop_seconds, outbox.on_ready = HOP_SECONDS, partial(self._on_ready, self)
        outbox.written()
        await asyncio.wait((self._over, outbox.cut_off), return_when=asyncio.FIRST_COMPLETED)
        if (error := outbox.error or (self._over.result() if self._over.done() else None)) is not None:
            raise error


async def join(
    listen: dict[str, Any],
    access: Access,
    name: str,
    channel: grpc.aio.Channel,
    *,
    say: Callable[[Mapping[str, object]], None] = listening.print_line,
) -> None:
    """Join a server, and listen to bots until the stream ends, which a line says by `say`.

    `listen` has settings of a server, of this process; a port that was free is kept in it. ListenError if it
    can't be listened on, or must not.
    """
    call: Any = GatewayServiceStub(channel).Carry(metadata=access.metadata)
    try:
        await call.write(pb.CarryRequest(hello=pb.Hello(name=name, version=VERSION)))
        first = await call.read()
        if isinstance(first, pb.CarryResponse):
            settings = ServerSettings.model_validate_json(first.conditions.settings)
            # Several messages of bots go into one to the server, and each of these has its limit.
            changed = {"message_bytes": settings.message_bytes // 2, **listen}
            gateway = Gateway(settings.model_copy(update=changed), access, channel)
            listening.check_exposure(gateway.settings, has_tokens=first.conditions.has_tokens)
            gateway.ahead = time.monotonic() - first.now_us / 1e6
            listen["listen"] = await gateway.start()
            with gateway.metrics() as metrics:
                say({"listening": listen["listen"], **({"metrics": metrics} if metrics else {})})
                await gateway.serve(call)
    finally:
        call.cancel()


class _StreamOfBot:
    """The stream of a bot at its gateway."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.batch = asyncio.Queue[bytes]()  # the server sends the next one when the last was written
        self.written = asyncio.Event()  # until then, and until the welcome, no more is read from the bot
        self.ended: asyncio.Future[pb.Ended] = asyncio.get_running_loop().create_future()


class Gateway:
    """Listens to bots while it is joined to a server."""

    def __init__(self, settings: ServerSettings, access: Access, channel: grpc.aio.Channel) -> None:
        from prometheus_client import Counter, Gauge  # noqa: PLC0415 - a server has other ones

        self.settings = settings
        self._access, self._channel = access, channel
        self._proxies = TrustedProxies(settings.trusted_proxy)
        self._certificate = listening.certificate_of(settings)
        self._server = grpc.aio.server(options=listening.server_options(settings))
        self._next_stream = count(1).__next__
        self._streams: dict[int, _StreamOfBot] = {}  # by number
        self._request, self._request_bytes = pb.CarryRequest(), 0  # the next one
        self._changed = asyncio.Event()  # there is something to send
        self._open_streams = Gauge("happycity_gateway_streams", "Streams of bots.", registry=None)
        self._open_streams.set_function(lambda: len(self._streams))
        text = "Messages that were carried, by who said them."
        self._carried = Counter("happycity_gateway_messages", text, ["origin"], registry=None)
        self._sent = asyncio.Event()  # the next request was sent; each has its own event
        self.ahead = 0.0  # of the server's clock, in seconds: by the last message, whose way isn't charged so

    def metrics(self) -> AbstractContextManager[str | None]:
        """Serve metrics while the context lasts, if they are wanted; yields where."""
        if self.settings.metrics is None:
            return nullcontext()
        from happycity_server.metrics import metrics_served  # noqa: PLC0415 - few want them

        return metrics_served(self.settings.metrics, self._open_streams, self._carried)

    async def start(self) -> str:
        """Listen; return the address. On the wire each method is a stream both ways, and here of bytes."""
        for service, methods in PUBLIC_SERVICES.items():
            handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
            for method in methods:
                path = f"/{service}/{method}"
                serve = self._play if path == PLAY else partial(self._pass_on, path)
                handlers[method] = grpc.stream_stream_rpc_method_handler(serve)
            add_handlers(self._server, service, handlers)
        address = listening.bind(self._server, self.settings.listen, self._certificate)
        await self._server.start()
        return address

    async def serve(self, call: Any) -> None:
        """Carry what bots and server say, until the server ends the stream."""
        watching = () if self._certificate is None else (self._certificate.watch(time.time),)
        try:
            await first_of(self._read(call), self._write(call), *watching)
        finally:
            text = "the gateway stops, or has lost its server; connect again"
            code, text, details = status_of(ApiError(Reason.SHUTTING_DOWN, text))
            for stream in self._streams.values():
                if not stream.ended.done():
                    stream.ended.set_result(pb.Ended(code=code.value[0], text=text, details=details))
            await self._server.stop(listening.STREAM_CLOSE_SECONDS)

    async def _read(self, call: Any) -> None:
        """Pass on what bots are to get."""
        while isinstance(response := await call.read(), pb.CarryResponse):
            self.ahead = time.monotonic() - response.now_us / 1e6
            self._carried.labels("server").inc(len(response.batches))
            for number, batch in zip(response.streams, response.batches, strict=True):
                if (stream := self._streams.get(number)) is not None:
                    stream.written.clear()
                    stream.batch.put_nowait(batch)
            for ended in response.ended:
                if (stream := self._streams.get(ended.stream)) is not None and not stream.ended.done():
                    stream.ended.set_result(ended)

    async def _write(self, call: Any) -> None:
        """Send what bots have done, all that there is together."""
        while True:
            with suppress(TimeoutError):  # an empty one is a sign of life
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._changed.wait()
            self._changed.clear()
            request, self._request, self._request_bytes = self._request, pb.CarryRequest(), 0
            sent, self._sent = self._sent, asyncio.Event()
            self._carried.labels("bots").inc(len(request.speaking))
            await call.write(request)
            sent.set()
            await asyncio.sleep(min(GATHER_SECONDS, len(self._streams) * GATHER_SECONDS_EACH))

    async def _room(self, size: int) -> None:
        """Wait until the next request has room for a part of some bytes, which is to be added at once."""
        while self._request_bytes > self.settings.message_bytes // 2:
            await self._sent.wait()
        self._request_bytes += size + 16  # with its numbers
        self._changed.set()

    async def _play(self, _requests: object, context: _Context) -> None:
        """Let a bot play over the server's stream."""
        shown, address = self._caller(context)
        token, stream = bearer(shown), _StreamOfBot(self._next_stream())
        await self._room(len(token or "") + len(address))
        self._request.opened.add(stream=stream.number, token=token, address=address)
        self._streams[stream.number] = stream
        try:
            await context.send_initial_metadata(())
            talking = self._read_bot(stream, context), self._write_bot(stream, context)
            with suppress(*STREAM_ERRORS):  # the bot is gone
                await first_of(*talking, asyncio.wait((stream.ended,)))
            if stream.ended.done() and (ended := stream.ended.result()).code:
                await abort(context, _CODES[ended.code], ended.text, ended.details)
        finally:
            del self._streams[stream.number]
            self._request.closed.append(stream.number)
            self._changed.set()

    async def _read_bot(self, stream: _StreamOfBot, context: _Context) -> None:
        """Pass on what a bot says. Bots take turns: one message of each goes into a request."""
        while isinstance(message := await context.read(), bytes):
            read_at_us = max(0, int((time.monotonic() - self.ahead) * 1e6))
            await self._room(len(message))
            self._request.speaking.append(stream.number)
            self._request.requests.append(message)
            self._request.read_at_us.append(read_at_us)
            await self._sent.wait()
            await stream.written.wait()
        self._request.closed.append(stream.number)
        self._changed.set()
        await asyncio.wait((stream.ended,))

    async def _write_bot(self, stream: _StreamOfBot, context: _Context) -> None:
        """Write what a bot is to get."""
        while True:
            await context.write(await stream.batch.get())
            stream.written.set()
            self._request.written.append(stream.number)
            self._changed.set()

    async def _pass_on(self, path: str, requests: object, context: _Context) -> None:
        """Pass on a call of another method, with the caller's address and the gateway's own token."""
        shown, address = self._caller(context)
        own = (FORWARDED_FOR, address), (GATEWAY_HEADER, self._access.token)
        try:
            # A message that is written while the server refuses its call would replace the server's status.
            is_streamed = path.endswith(STREAMED)
            make: Any = self._channel.stream_stream if is_streamed else self._channel.unary_stream
            asked = requests if is_streamed else await read_request(context)
            call = make(path)(asked, metadata=(*shown, *own), timeout=context.time_remaining())
            async for response in call:
                await context.write(response)
        except ApiError as error:
            await abort(context, *status_of(error))
        except grpc.aio.AioRpcError as error:
            details = dict(error.trailing_metadata() or ()).get(STATUS_METADATA, b"")
            await abort(context, error.code(), error.details() or "", details)

    def _caller(self, context: _Context) -> tuple[list[tuple[str, str]], str]:
        """Return the headers in which a caller shows its token, and its address."""
        headers = [(key, text) for key, text in context.invocation_metadata() or () if isinstance(text, str)]
        address = self._proxies.client(address_of_peer(context.peer()), headers)
        return [header for header in headers if header[0] == "authorization"], address
