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
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

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
from happycity_server.access import AccessInterceptor, Authenticator, admit
from happycity_server.addresses import is_loopback, is_unix, socket_is_taken
from happycity_server.catalogue_service import CatalogueService
from happycity_server.clocks import FairClock
from happycity_server.config import ServerSettings
from happycity_server.limits import CallRates, Openings, OpenLimit
from happycity_server.lobby import SWEEP_SECONDS, Lobby
from happycity_server.match_service import MatchService
from happycity_server.matches import VoidReason
from happycity_server.metrics import ArenaCollector, metrics_served
from happycity_server.play_service import PlayService
from happycity_server.simulation_service import PlayoutQuota, SimulationService
from happycity_server.simulators import Simulators
from happycity_server.tls import server_credentials
from happycity_server.tokens import TokenError, TokenFile
from happycity_server.tournament_service import TournamentService
from happycity_server.tournaments import Tournaments
from happycity_tournament.archive import Archive
from happycity_tournament.store import Store, StoreError

if sys.platform == "win32":
    _new_event_loop = None
else:
    import uvloop

    _new_event_loop = uvloop.new_event_loop

_log = structlog.get_logger()

SERVICES = (
    play_service_pb2.DESCRIPTOR.services_by_name["PlayService"].full_name,
    match_service_pb2.DESCRIPTOR.services_by_name["MatchService"].full_name,
    tournament_service_pb2.DESCRIPTOR.services_by_name["TournamentService"].full_name,
    simulation_service_pb2.DESCRIPTOR.services_by_name["SimulationService"].full_name,
    catalogue_service_pb2.DESCRIPTOR.services_by_name["CatalogueService"].full_name,
)
"""The services of the contract, by their full names."""

CLAIM_SECONDS = 1.0
"""How often a server makes sure that its store is still its own."""

PARTING_SECONDS = 1.0
"""How long a stream may take to end when its server stops, before it is cut off."""

_OPTIONS = (
    ("grpc.so_reuseport", 0),  # else a second server would share the port without a word
    # At the defaults, thousands of streams opened at once lose some.
    ("grpc.server.max_pending_requests", 100_000),
    ("grpc.server.max_pending_requests_hard_limit", 200_000),
    ("grpc.max_send_message_length", 64 * 1024 * 1024),
    # Clients may ping as often as every 10 s without being sent away, also while they have no call open.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)
# A watcher whose machine has vanished is noticed; bots have the heartbeats of their own protocol.
_KEEPALIVE = (("grpc.keepalive_time_ms", 60_000), ("grpc.keepalive_timeout_ms", 20_000))


class ListenError(HappyCityError):
    """The address can't be listened on, or not so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """A server that serves."""

    address: str
    """Where it listens."""
    metrics: str | None
    """Where Prometheus finds its metrics, if anywhere."""
    store_lost: asyncio.Task[StoreError]
    """Done when the store is not this server's any more, with the reason; then nothing can be stored."""


@asynccontextmanager
async def serving(settings: ServerSettings) -> AsyncIterator[str]:
    """Serve as `running` does; yields the address that is listened on."""
    async with running(settings) as arena:
        yield arena.address


@asynccontextmanager
async def running(settings: ServerSettings, *, hurry: asyncio.Event | None = None) -> AsyncIterator[Arena]:
    """Serve while the context lasts; at its end matches have their grace time, unless `hurry` is set.

    Raises:
        ListenError: the address is taken, or may not be listened on in this way.
        MetricsError: the address for metrics is taken.
        StoreError: the store can't be opened, or another server uses it.
        TlsError: a certificate or key can't be used.
        TokenError: the tokens can't be read.
    """
    tokens = _tokens(settings)
    _check_exposure(settings, tokens)
    credentials = _credentials(settings)
    store = await asyncio.to_thread(Store, settings.store)
    try:
        store.claim()
        async with Archive(store) as archive:
            parts = _Parts.build(settings, tokens, archive, first_match_id=store.next_game_id())
            address = _bind(parts.server, settings.listen, credentials)
            with _metrics(settings, parts) as metrics:
                store_lost = asyncio.create_task(_store_lost(archive))
                try:
                    await parts.start(resume=settings.resume_tournaments)
                    _announce(settings, tokens, address, metrics)
                    yield Arena(address=address, metrics=metrics, store_lost=store_lost)
                finally:
                    store_lost.cancel()
                    await parts.stop(settings.grace_seconds, hurry or asyncio.Event())
        _log.info("stopped")
    finally:
        store.close()


async def _store_lost(archive: Archive) -> StoreError:
    """Return as soon as the claim on the store is lost, with the reason."""
    while True:
        await asyncio.sleep(CLAIM_SECONDS)
        try:
            await archive.call(archive.store.check_claim)
        except StoreError as error:
            return error


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a server consists of."""

    lobby: Lobby
    tournaments: Tournaments
    simulators: Simulators
    interceptor: AccessInterceptor
    server: grpc.aio.Server
    health: health.aio.HealthServicer

    @classmethod
    def build(
        cls, settings: ServerSettings, tokens: TokenFile | None, archive: Archive, *, first_match_id: int
    ) -> _Parts:
        clock = FairClock(time.monotonic, tick_seconds=SWEEP_SECONDS)
        lobby = Lobby(clock, limits=settings.session_limits, first_match_id=first_match_id)
        tournaments = Tournaments(lobby, archive)
        interceptor = _interceptor(settings, tokens, tournaments)
        server = grpc.aio.server(interceptors=(interceptor,), options=_options(settings))
        simulators = Simulators(settings.simulation_workers)
        health_servicer = _add_services(server, tournaments, simulators, settings)
        return cls(lobby, tournaments, simulators, interceptor, server, health_servicer)

    async def start(self, *, resume: bool) -> None:
        self.lobby.start_sweeping()
        self.interceptor.start_sweeping()
        if resume:
            await self.tournaments.resume_all()  # first, so that whoever comes back finds them running
        await self.server.start()
        for service in ("", *SERVICES):
            await self.health.set(service, health_pb2.HealthCheckResponse.SERVING)

    async def stop(self, grace: float, hurry: asyncio.Event) -> None:
        """Say that nothing more is served, let running matches end, and part from everybody."""
        _log.info("stopping")
        await self.health.enter_graceful_shutdown()
        self.tournaments.interrupt_all()
        voiding = asyncio.create_task(self._void_in_a_hurry(hurry))
        await self.lobby.close(grace)
        voiding.cancel()
        await self.tournaments.wait_closed()
        self.interceptor.stop_sweeping()
        self.lobby.stop_sweeping()
        self.simulators.close_soon()  # not before: bots may simulate in the grace time of their matches
        # Sessions part by themselves now; what is left then is cut off.
        await self.server.stop(PARTING_SECONDS)
        await self.simulators.close()

    async def _void_in_a_hurry(self, hurry: asyncio.Event) -> None:
        await hurry.wait()
        matches = list(self.lobby.matches.values())
        _log.info("voiding_matches", matches=len(matches))
        for match in matches:
            match.void(self.lobby.clock(), VoidReason.SHUTDOWN)


def _options(settings: ServerSettings) -> tuple[tuple[str, int], ...]:
    largest = ("grpc.max_receive_message_length", settings.message_bytes)
    # A debugger may stop a whole process, for as long as it likes.
    return (*_OPTIONS, largest) if settings.no_clock else (*_OPTIONS, largest, *_KEEPALIVE)


def _tokens(settings: ServerSettings) -> TokenFile | None:
    """Open the tokens file; None if everybody may do everything."""
    if settings.open:
        return None
    try:
        return TokenFile(settings.tokens)
    except FileNotFoundError:
        if "tokens" not in settings.model_fields_set:
            return None
        raise TokenError(
            f"tokens: there is no file {settings.tokens}; make it with: "
            f"happycity token create --role organiser --name NAME --tokens {settings.tokens}"
        ) from None


def _check_exposure(settings: ServerSettings, tokens: TokenFile | None) -> None:
    """Refuse to be reached from other machines by anybody, or in the clear, unless that was asked for."""
    if settings.insecure or is_loopback(settings.listen):
        return
    missing = []
    if tokens is None:
        missing.append("tokens (happycity token create --role organiser --name NAME)")
    if settings.tls_cert is None:
        missing.append("TLS (--tls-cert and --tls-key)")
    if missing:
        raise ListenError(
            f"listen: {settings.listen} can be reached from other machines, so the server needs "
            f"{' and '.join(missing)}; --insecure does without where the network is trusted"
        )


def _credentials(settings: ServerSettings) -> grpc.ServerCredentials | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return server_credentials(settings.tls_cert, settings.tls_key, settings.client_ca)


def _interceptor(
    settings: ServerSettings, tokens: TokenFile | None, tournaments: Tournaments
) -> AccessInterceptor:
    def single_matches() -> int:
        return sum(not match.spec.tournament_id for match in tournaments.lobby.matches.values())

    open_tournaments = OpenLimit("tournaments", settings.open_tournaments, lambda: tournaments.open_count)
    return AccessInterceptor(
        Authenticator(tokens, now=lambda: datetime.now(UTC)),
        rates=CallRates(rate=settings.calls_per_second, burst=settings.calls_burst, clock=time.monotonic),
        openings=Openings(
            {
                "/happycity.v1.MatchService/CreateMatch": OpenLimit(
                    "matches", settings.open_matches, single_matches
                ),
                "/happycity.v1.TournamentService/CreateTournament": open_tournaments,
                "/happycity.v1.TournamentService/ResumeTournament": open_tournaments,
            }
        ),
        streams_per_token=settings.streams_per_token,
        streams_per_peer=settings.streams_per_peer,
    )


def _add_services(
    server: grpc.aio.Server, tournaments: Tournaments, simulators: Simulators, settings: ServerSettings
) -> health.aio.HealthServicer:
    play = PlayService(tournaments.lobby, admit=admit, hello_seconds=settings.hello_seconds)
    server.add_generic_rpc_handlers((play.handler(),))
    match_service_pb2_grpc.add_MatchServiceServicer_to_server(MatchService(tournaments), server)
    tournament_service_pb2_grpc.add_TournamentServiceServicer_to_server(
        TournamentService(tournaments), server
    )
    catalogue_service_pb2_grpc.add_CatalogueServiceServicer_to_server(CatalogueService(), server)
    quota = PlayoutQuota(settings.simulation_playouts_per_minute, clock=time.monotonic)
    simulation_service_pb2_grpc.add_SimulationServiceServicer_to_server(
        SimulationService(simulators, quota), server
    )
    health_servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    reflection.enable_server_reflection((*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return health_servicer


def _bind(server: grpc.aio.Server, listen: str, credentials: grpc.ServerCredentials | None) -> str:
    bound = 0
    # gRPC would take a socket in the file system away from the server that listens on it.
    if not socket_is_taken(listen):
        with suppress(RuntimeError):
            if credentials is None:
                bound = server.add_insecure_port(listen)
            else:
                bound = server.add_secure_port(listen, credentials)
    if not bound:
        raise ListenError(
            f"listen: {listen} can't be listened on; another program may use the port "
            "(choose another, or port 0 for any free one)"
        )
    return listen if is_unix(listen) else f"{listen.rpartition(':')[0]}:{bound}"


@contextmanager
def _metrics(settings: ServerSettings, parts: _Parts) -> Iterator[str | None]:
    if settings.metrics is None:
        yield None
        return
    collector = ArenaCollector(parts.lobby, parts.tournaments, parts.interceptor, parts.simulators)
    with metrics_served(settings.metrics, collector) as address:
        yield address


def _announce(settings: ServerSettings, tokens: TokenFile | None, address: str, metrics: str | None) -> None:
    """Say in the log how the server is run, above all what it does without."""
    _log.info(
        "listening",
        address=address,
        store=settings.shown_store,
        tls=settings.tls_cert is not None,
        client_certificates=settings.client_ca is not None,
        tokens=str(tokens.path) if tokens is not None else None,
        metrics=metrics,
    )
    if tokens is None:
        _log.info("access_open", text="there are no tokens: whoever reaches the address may do everything")
    elif not len(tokens):
        _log.warning("no_tokens", text=f"{tokens.path} holds no token: nobody can do anything")
    if settings.tls_cert is None and not is_loopback(settings.listen):
        _log.warning(
            "insecure", text="other machines are listened to without TLS: tokens can be read on the way"
        )
    if settings.no_clock:
        _log.warning(
            "no_clock", text="no clock runs in any match, and silent bots are waited for: for debugging only"
        )


def _watch_stdin(ended: Callable[[], object]) -> None:
    """Call `ended` from another thread when the standard input ends."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        ended()

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def serve_until_stopped(settings: ServerSettings) -> None:
    """Serve until SIGINT or SIGTERM; print the address in one line that programs can read.

    A second signal voids the matches that are still running.

    Raises:
        HappyCityError: the server can't start, or has lost its store.
    """

    async def main() -> None:
        stop, hurry = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def signalled() -> None:
            (hurry if stop.is_set() else stop).set()

        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, signalled)
        if settings.stop_with_stdin:
            _watch_stdin(lambda: loop.call_soon_threadsafe(stop.set))
        async with running(settings, hurry=hurry) as arena:
            told = {"listening": arena.address}
            if arena.metrics is not None:
                told["metrics"] = arena.metrics
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait((stopped, arena.store_lost), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if arena.store_lost.done():
                hurry.set()  # no match that ends now could be stored
                _log.error("store_lost", problem=str(arena.store_lost.result()))
                raise arena.store_lost.result()

    # What was imported stays, and games make few cycles: looking for garbage less often saves 5%.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(main())
