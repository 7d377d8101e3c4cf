"""The program of a worker: bots connect to it as to the server, and the server has it play their games."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from secrets import compare_digest
from typing import Any

import grpc
import structlog
import typer
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from happycity.model.v1beta1.model_service_pb2_grpc import add_ModelServiceServicer_to_server
from happycity.runtime.event_loop import on_stop_signal
from happycity.runtime.transport import joined
from happycity.v1.catalogue_service_pb2_grpc import add_CatalogueServiceServicer_to_server
from happycity.worker.v1.worker_service_pb2_grpc import add_WorkerServiceServicer_to_server
from happycity_server.access.gate import Authenticator, Gate
from happycity_server.access.interceptor import AccessInterceptor
from happycity_server.access.limits import ConcurrencyLimits, RateLimits
from happycity_server.api.catalogue import CatalogueService
from happycity_server.api.model import PlayoutQuota, SimulationService
from happycity_server.api.play import PlayService
from happycity_server.model.pool import PlayoutPool
from happycity_server.play.clock import FairClock, UnixClock
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_server.process.listening import bind, certificate_of, on_stdin_end, server_options, tokens_of
from happycity_server.workers.service import WorkerService
from happycity_server.workers.task import WorkerTask

MESSAGE_BYTES = 64 * 1024 * 1024
STREAM_CLOSE_SECONDS = 1.0
"""Grace period for open streams at the end."""

_log = structlog.get_logger()


class _ParentOnly(grpc.aio.ServerInterceptor):
    """Refuses everybody but the server that has started the worker."""

    def __init__(self, secret: str) -> None:
        self._expected = f"Bearer {secret}".encode()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Hand a call on if it shows the secret."""
        shown = dict(handler_call_details.invocation_metadata or ()).get("authorization", "")
        if compare_digest(shown.encode() if isinstance(shown, str) else shown, self._expected):
            return await continuation(handler_call_details)
        return None


class _Worker:
    """The parts of a worker."""

    def __init__(self, task: WorkerTask) -> None:
        settings = task.settings
        unix_clock = UnixClock(time.time, time.monotonic)
        self.lobby = Lobby(
            FairClock(time.monotonic, tick_seconds=SWEEP_SECONDS),
            unix_clock,
            limits=settings.session_limits,
            house=task.house,
        )
        self.service = WorkerService(self.lobby, unix_clock)
        self.gate = Gate(
            Authenticator(tokens_of(settings), now=lambda: datetime.now(UTC), house=task.house),
            rates=RateLimits(
                rate=settings.calls_per_second, burst=settings.calls_burst, clock=time.monotonic
            ),
            streams_per_token=settings.streams_per_token,
            streams_per_peer=settings.streams_per_peer,
        )
        self.pool = PlayoutPool(settings.simulation_workers)
        interceptor = AccessInterceptor(self.gate, ConcurrencyLimits({}))
        self.server = grpc.aio.server(interceptors=(interceptor,), options=server_options(settings))
        play = PlayService(self.lobby, hello_seconds=settings.hello_time)
        self.server.add_generic_rpc_handlers((play.handler(),))
        add_CatalogueServiceServicer_to_server(CatalogueService(), self.server)
        if settings.simulation_workers:
            quota = PlayoutQuota(settings.simulation_playouts_per_minute, clock=time.monotonic)
            add_ModelServiceServicer_to_server(SimulationService(self.pool, quota), self.server)
        self.health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self.server)
        options = (("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", MESSAGE_BYTES))
        self.control = grpc.aio.server(interceptors=(_ParentOnly(task.secret),), options=options)
        add_WorkerServiceServicer_to_server(self.service, self.control)
        self.address = bind(self.server, settings.listen, certificate_of(settings))
        if task.house_listen:
            bind(self.server, task.house_listen, None)
        self.control_address = bind(self.control, joined(task.control_host, 0), None)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until the server has ended or wants no more, or until `stop`."""
        self.lobby.start_sweeping()
        self.gate.start_sweeping()
        await asyncio.gather(self.server.start(), self.control.start())
        await self.health.set("", health_pb2.HealthCheckResponse.SERVING)
        typer.echo(json.dumps({"listening": self.address, "control": self.control_address}))
        waiting = [asyncio.ensure_future(event.wait()) for event in (stop, self.service.ended)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await self.health.enter_graceful_shutdown()
        await self.lobby.close(0.0)
        self.gate.stop_sweeping()
        self.lobby.stop_sweeping()
        self.pool.close_soon()
        await asyncio.gather(self.server.stop(STREAM_CLOSE_SECONDS), self.control.stop(STREAM_CLOSE_SECONDS))
        await self.pool.close()


async def run_worker(task: WorkerTask) -> None:
    """Work until the server has ended or wants no more; print in one line of JSON where it listens.

    Raises:
        HappyCityError: an address is taken, or a file of the settings can't be used.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    on_stdin_end(lambda: loop.call_soon_threadsafe(stop.set))
    gc.freeze()  # what is imported stays, and needn't be looked through again
    with on_stop_signal(stop.set):
        await _Worker(task).run(stop)
