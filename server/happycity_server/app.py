"""The server as a whole: builds its parts, serves, and takes them down again."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from happycity.errors import HappyCityError
from happycity.v1 import (
    catalogue_service_pb2,
    catalogue_service_pb2_grpc,
    match_service_pb2,
    match_service_pb2_grpc,
    play_service_pb2,
    simulation_service_pb2,
    simulation_service_pb2_grpc,
    tournament_service_pb2,
    tournament_service_pb2_grpc,
)
from happycity_server.catalogue_service import CatalogueService
from happycity_server.lobby import Lobby
from happycity_server.match_service import MatchService
from happycity_server.play_service import PlayService
from happycity_server.simulation_service import SimulationService
from happycity_server.tournament_service import TournamentService
from happycity_server.tournaments import Tournaments
from happycity_tournament.archive import Archive
from happycity_tournament.store import Store

if sys.platform == "win32":
    _new_event_loop = None
else:
    import uvloop

    _new_event_loop = uvloop.new_event_loop

_log = structlog.get_logger()

_SERVICES = (
    play_service_pb2.DESCRIPTOR.services_by_name["PlayService"].full_name,
    match_service_pb2.DESCRIPTOR.services_by_name["MatchService"].full_name,
    tournament_service_pb2.DESCRIPTOR.services_by_name["TournamentService"].full_name,
    simulation_service_pb2.DESCRIPTOR.services_by_name["SimulationService"].full_name,
    catalogue_service_pb2.DESCRIPTOR.services_by_name["CatalogueService"].full_name,
)

_OPTIONS = (
    ("grpc.so_reuseport", 0),  # else a second server would share the port without a word
    # At the defaults, thousands of streams opened at once lose some.
    ("grpc.server.max_pending_requests", 100_000),
    ("grpc.server.max_pending_requests_hard_limit", 200_000),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    ("grpc.max_send_message_length", 64 * 1024 * 1024),
    # Clients may ping as often as every 10 s without being sent away.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)


class ListenError(HappyCityError):
    """The address can't be listened on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """How a server is run."""

    listen: str = "127.0.0.1:50051"
    """Address, host:port; port 0 takes a free one."""
    store: str = "sqlite:///runs/happycity.sqlite"
    """Where finished games are kept."""
    grace_seconds: float = 5.0
    """How long running matches may go on when the server is told to stop."""
    stop_with_stdin: bool = False
    """Whether the end of the standard input stops the server too."""


@asynccontextmanager
async def serving(config: ServerConfig) -> AsyncIterator[str]:
    """Serve while the context lasts; yields the address that is listened on.

    Raises:
        ListenError: the address is taken or makes no sense.
        StoreError: the store can't be opened.
    """
    store = await asyncio.to_thread(Store, config.store)
    try:
        lobby = Lobby(time.monotonic, first_match_id=store.next_game_id())
        async with Archive(store) as archive:
            tournaments = Tournaments(lobby, archive)
            server = grpc.aio.server(options=_OPTIONS)
            health_servicer = _add_services(server, tournaments)
            address = _bind(server, config.listen)
            sweeper = asyncio.create_task(lobby.sweep())
            await server.start()
            for service in ("", *_SERVICES):
                await health_servicer.set(service, health_pb2.HealthCheckResponse.SERVING)
            _log.info("listening", address=address, store=config.store)
            try:
                yield address
            finally:
                _log.info("stopping")
                await health_servicer.enter_graceful_shutdown()
                await tournaments.stop_all()
                await lobby.close(config.grace_seconds)
                await tournaments.wait_closed()
                sweeper.cancel()
                # Sessions part by themselves now; what is left after a second is cut off.
                await server.stop(1.0)
        _log.info("stopped")
    finally:
        store.close()


def _add_services(server: grpc.aio.Server, tournaments: Tournaments) -> health.aio.HealthServicer:
    server.add_generic_rpc_handlers((PlayService(tournaments.lobby).handler(),))
    match_service_pb2_grpc.add_MatchServiceServicer_to_server(MatchService(tournaments), server)
    tournament_service_pb2_grpc.add_TournamentServiceServicer_to_server(
        TournamentService(tournaments), server
    )
    catalogue_service_pb2_grpc.add_CatalogueServiceServicer_to_server(CatalogueService(), server)
    simulation_service_pb2_grpc.add_SimulationServiceServicer_to_server(SimulationService(), server)
    health_servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    reflection.enable_server_reflection((*_SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return health_servicer


def _bind(server: grpc.aio.Server, listen: str) -> str:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal():
        raise ListenError(f"listen: {listen!r} is not host:port, such as 127.0.0.1:50051")
    try:
        bound = server.add_insecure_port(listen)
    except RuntimeError:
        bound = 0
    if not bound:
        raise ListenError(
            f"listen: {listen} can't be listened on; another program may use the port "
            "(choose another, or port 0 for any free one)"
        )
    return f"{host}:{bound}"


def _watch_stdin(ended: Callable[[], object]) -> None:
    """Call `ended` from another thread when the standard input ends."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        ended()

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def serve_until_stopped(config: ServerConfig) -> None:
    """Serve until SIGINT or SIGTERM; print the address in one line that programs can read."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop.set)
        if config.stop_with_stdin:
            _watch_stdin(lambda: loop.call_soon_threadsafe(stop.set))
        async with serving(config) as address:
            sys.stdout.write(json.dumps({"listening": address}) + "\n")
            sys.stdout.flush()
            await stop.wait()

    # What was imported stays, and games make few cycles: looking for garbage less often saves 5%.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(main())
