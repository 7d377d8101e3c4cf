"""The server's end of gateways: bots play whose streams end elsewhere, many over one stream of a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import grpc
import structlog
from google.protobuf.message import DecodeError

from happycity.gateway.v1beta1 import gateway_service_pb2 as pb
from happycity.gateway.v1beta1.gateway_service_pb2_grpc import GatewayServiceServicer
from happycity.match import one_line
from happycity.v1 import play_service_pb2 as play
from happycity_runtime.event_loop import end_tasks, first_of, spawn
from happycity_server.access.gate import Gate
from happycity_server.access.interceptor import api_error_of, status_of
from happycity_server.api.play import PlayService, not_a_request
from happycity_server.errors import invalid
from happycity_server.places.protocol import check_version, until_silent
from happycity_server.play.outbox import HOP_SECONDS, Outbox
from happycity_server.play.session import Session

PLAY = "/happycity.v1.PlayService/Play"
MESSAGE_BYTES = 1024 * 1024
"""From this size on, what is for a gateway's bots goes into the next message."""

_log = structlog.get_logger()
_Context = grpc.aio.ServicerContext[pb.CarryRequest, pb.CarryResponse]


class GatewayService(GatewayServiceServicer):
    """Admits gateways, and their bots as if those had called the server themselves."""

    def __init__(
        self, gate: Gate, play_service: PlayService, conditions: pb.Conditions, steady: Callable[[], float]
    ) -> None:
        """Let bots play whose gateways accept some conditions; `steady` returns seconds that never jump."""
        self.gate = gate
        self.play = play_service
        self.steady = steady
        self._conditions = conditions

    def now_us(self) -> int:
        """Return the time by which gateways stamp."""
        return int(self.steady() * 1e6)

    async def Carry(  # type: ignore[override]  # it reads and writes by itself
        self, request_iterator: object, context: _Context
    ) -> None:
        """Let a gateway join, and its bots play until its stream ends."""
        first = await context.read()
        hello = first.hello if isinstance(first, pb.CarryRequest) else pb.Hello()
        check_version(hello.version, "gateway")
        gateway, name = JoinedGateway(self), one_line(hello.name)[:80]
        _log.info("gateway_joined", gateway=name)
        try:
            await context.write(pb.CarryResponse(conditions=self._conditions, now_us=self.now_us()))
            await first_of(gateway.read(context), gateway.write(context), until_silent(lambda: gateway.heard))
        finally:
            _log.info("gateway_left", gateway=name, bots=len(gateway.streams))
            await end_tasks(*gateway.playing)


class JoinedGateway:
    """The stream of one gateway, over which its bots play."""

    def __init__(self, service: GatewayService) -> None:
        self.service = service
        self.streams: dict[int, CarriedStream] = {}
        """The streams of its bots, by number."""
        self.playing: set[asyncio.Task[None]] = set()
        """A task for each of them, which lets its bot in and out."""
        self.heard = 0
        """How many messages have come."""
        self._ready: dict[int, CarriedStream] = {}  # with something to send
        self._ended: list[pb.Ended] = []
        self._changed = asyncio.Event()

    async def read(self, context: _Context) -> None:
        """Take what bots have done, until the gateway ends its stream."""
        with suppress(grpc.RpcError, asyncio.InvalidStateError):  # the stream broke
            while isinstance(request := await context.read(), pb.CarryRequest):
                self.heard += 1
                self._take(request)

    def _take(self, request: pb.CarryRequest) -> None:
        streams = self.streams
        for opened in request.opened:
            if opened.stream in streams:
                raise invalid("opened.stream", f"{opened.stream} is open already")
            streams[opened.stream] = stream = CarriedStream(opened.stream, self)
            spawn(self._let_play(stream, opened), self.playing)
        for number in request.written:
            if (written := streams.get(number)) is not None and written.outbox is not None:
                written.outbox.written()
        now, steady = self.service.play.lobby.clock(), self.service.steady()
        for message in request.messages:
            if (sender := streams.get(message.stream)) is not None:
                under_way = min(max(0.0, steady - message.read_at_us / 1e6), HOP_SECONDS)
                sender.receive(message.request, now - under_way)
        for number in request.closed:
            if (closed := streams.get(number)) is not None:
                closed.end(None)

    async def _let_play(self, stream: CarriedStream, opened: pb.Opened) -> None:
        """Let a bot play as one that has called the server itself, until its stream ends."""
        gate, error, shown = self.service.gate, None, opened.token if opened.HasField("token") else None
        try:
            await gate.authenticator.refresh()
            caller = gate.admit(PLAY, shown, opened.address, is_stream=True)
            async with gate.stream(caller):
                await self.service.play.serve(stream.read_hello, stream.exchange)
        except Exception as failure:  # noqa: BLE001 - the RPC boundary
            error = api_error_of(failure)
            if error is not None and stream.outbox is None:
                gate.note_refused(error, PLAY, opened.address)
            else:
                gate.refused[error.reason.name if error is not None else "INTERNAL"] += 1
            code, text, details = status_of(error)
            self._ended.append(pb.Ended(stream=stream.number, code=code.value[0], text=text, details=details))
        else:
            self._ended.append(pb.Ended(stream=stream.number))
        finally:
            self.streams.pop(stream.number)
            self._ready.pop(stream.number, None)
            self._changed.set()

    def note_ready(self, stream: CarriedStream) -> None:
        """Send soon what waits for a bot."""
        self._ready[stream.number] = stream
        self._changed.set()

    async def write(self, context: _Context) -> None:
        """Send what bots are to get, all that there is together."""
        with suppress(grpc.RpcError, asyncio.InvalidStateError):  # the stream broke
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._ready or self._ended:
                    await context.write(self._next_message())

    def _next_message(self) -> pb.CarryResponse:
        ready, ended = self._ready, self._ended
        response = pb.CarryResponse(now_us=self.service.now_us(), ended=ended)
        ended.clear()
        size = 0
        while ready and size < MESSAGE_BYTES:
            number, stream = ready.popitem()
            if batch := stream.take():
                size += len(batch)
                response.batches.add(stream=number, response=batch)
        return response


class CarriedStream:
    """A bot's stream that ends at a gateway."""

    def __init__(self, number: int, gateway: JoinedGateway) -> None:
        self.number = number
        self.outbox: Outbox | None = None
        self._gateway = gateway
        self._session: Session | None = None
        loop = asyncio.get_running_loop()
        self._first: asyncio.Future[play.PlayRequest | None] = loop.create_future()
        self._over: asyncio.Future[Exception | None] = loop.create_future()

    def receive(self, message: bytes, read_at: float) -> None:
        """Take a message that was read at a moment of the lobby's clock."""
        try:
            request = play.PlayRequest.FromString(message)
            if self._session is not None and self.outbox is not None:
                self._session.receive(self.outbox, request, read_at)
            elif self._first.done():
                raise invalid("messages", "the gateway has sent a second one before the welcome")
            else:
                self._first.set_result(request)
        except DecodeError:
            self.end(not_a_request())
        except Exception as error:  # noqa: BLE001 - the boundary of one bot; `serve` lets it out
            self.end(error)

    def end(self, error: Exception | None) -> None:
        """End the stream at once."""
        if not self._over.done():
            self._over.set_result(error)
        if not self._first.done():
            self._first.set_result(None)

    async def read_hello(self) -> play.PlayRequest | None:
        """Return the bot's first message, or None if its stream has ended before that."""
        request = await self._first
        if request is None and (error := await self._over) is not None:
            raise error
        return request

    async def exchange(self, session: Session, outbox: Outbox) -> None:
        """Let the gateway carry what bot and session say, until one side ends the stream."""
        self._session, self.outbox = session, outbox
        outbox.hop_seconds = HOP_SECONDS
        outbox.on_ready = lambda: self._gateway.note_ready(self)
        outbox.written()
        await asyncio.wait((self._over, outbox.cut_off), return_when=asyncio.FIRST_COMPLETED)
        if (error := outbox.error or (self._over.result() if self._over.done() else None)) is not None:
            raise error

    def take(self) -> bytes:
        """Return what waits for the bot; the stream ends if that is nothing."""
        assert self.outbox is not None
        if not (batch := self.outbox.take()):
            self.end(None)
        return batch
