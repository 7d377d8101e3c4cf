"""The server as a whole: builds its parts, serves, and shuts them down."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from happycity.runtime.event_loop import on_stop_signal, run, running
from happycity.runtime.files import private_files
from happycity.runtime.tokens import Role
from happycity.runtime.transport import Target, is_loopback, split_host_port
from happycity.worker.v1.worker_service_pb2 import Conditions
from happycity.worker.v1.worker_service_pb2_grpc import add_WorkerServiceServicer_to_server
from happycity_ladder.ladder_config import LadderConfig
from happycity_server.access.gate import Authenticator, house_callers
from happycity_server.access.requests import Requests
from happycity_server.access.roles import CONTRACT, Principal
from happycity_server.access.token_file import TokenFile
from happycity_server.api.access import AccessService
from happycity_server.api.handlers import handlers_of
from happycity_server.api.health import HealthService
from happycity_server.api.ladder import LadderService
from happycity_server.api.matches import MatchService
from happycity_server.api.play import BotService
from happycity_server.api.tournaments import TournamentService
from happycity_server.config import ServerSettings
from happycity_server.frontends import Arena, Site, pages_served
from happycity_server.people.practice import Practice
from happycity_server.people.tables import Tables
from happycity_server.places.deals import DealsInPlay
from happycity_server.places.places import Places
from happycity_server.places.protocol import WorkerService
from happycity_server.play.clock import FairClock, UnixClock
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_server.process.listening import (
    BotServer,
    CertificateFiles,
    bind,
    certificate_of,
    check_exposure,
    on_stdin_end,
    raise_file_limit,
    tokens_of,
)
from happycity_server.process.programs import (
    Programs,
    bot_programs,
    new_secrets,
    private_address,
    worker_programs,
)
from happycity_server.tournaments.registry import Tournaments
from happycity_tournament.games import BotProfile
from happycity_tournament.lineup import Lineup
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.database import StoreError
from happycity_tournament.storage.store import Store

if TYPE_CHECKING:
    from happycity_server.hosting.service import HostingService

_log = structlog.get_logger()

CLAIM_CHECK_SECONDS = 1.0
"""How often a server makes sure that its store is still its own."""

SWITCH_SECONDS = 0.001
"""How long a thread may compute before the event loop has its turn again; Python's default is 0.005."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Where a server's time comes from."""

    steady: Callable[[], float] = time.monotonic
    """Returns seconds that never jump; only differences mean anything."""
    wall: Callable[[], float] = time.time
    """Returns Unix time in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A server that serves."""

    address: str
    """Where it listens."""
    metrics: str | None
    """Where Prometheus finds its metrics, if anywhere."""
    web: str | None
    """Where a browser finds its pages, if anywhere."""
    store_lost: asyncio.Task[StoreError]
    """Done when the store is no longer this server's, with the reason; then nothing can be stored."""


@asynccontextmanager
async def run_server(
    settings: ServerSettings,
    *,
    clocks: Clocks | None = None,
    force: asyncio.Event | None = None,
    lineup: Lineup | None = None,
    remark: Callable[..., None] = lambda text, **details: None,
) -> AsyncIterator[RunningServer]:
    """Serve while the context lasts; at its end matches have their grace time, unless `force` is set.

    Workers start the bots of `lineup`, that of a run. `remark` is that of `WorkerService`.

    Raises:
        ConfigError: a certificate or key can't be used, or the pages are not installed.
        ListenError: an address is taken, or must not be listened on in this way.
        StoreError: the store can't be opened, or another server uses it.
        TokenError: the tokens can't be read.
    """
    tokens = tokens_of(settings)
    check_exposure(settings, tokens)
    certificate = certificate_of(settings)
    store = await asyncio.to_thread(Store.create, settings.store)
    try:
        await asyncio.to_thread(store.claim)
        async with AsyncStore(store) as async_store:
            match_id = await async_store.read(store.next_match_id)
            components = _Components(
                settings, tokens, async_store, clocks or Clocks(), lineup or Lineup(), first_match_id=match_id
            )
            components.workers.remark = remark
            address = bind(components.server.grpc, settings.listen, certificate)
            own, programs = "", Programs(components.workers.note_ended)
            components.places.lobby.counters.restarts = programs.restarts
            components.workers.on_silent = programs.kill
            async with AsyncExitStack() as stack:
                metrics = None
                if settings.metrics is not None:
                    metrics = stack.enter_context(_metrics(settings, tokens, components))
                hosting = None if components.hosting is None else components.hosting.hosting
                if settings.house_bots or (settings.workers and settings.ray is None):
                    private = stack.enter_context(private_address())
                    own = bind(components.server.grpc, private, None)
                store_lost = asyncio.create_task(_store_lost(async_store))
                try:
                    if hosting is not None:
                        await hosting.start(programs)
                    await components.start(resume=settings.resume_tournaments)
                    for program in bot_programs(settings.house_bots, Lineup(), components.secrets, own):
                        programs.keep(program)
                    if settings.ray is not None:
                        target = Target(settings.worker_address or address, tls=certificate is not None)
                        own = str(target)
                    for program in worker_programs(settings, components.worker_token, own):
                        programs.keep(program)
                    async with _web(settings, components, certificate) as web:
                        _log_settings(settings, tokens, address, metrics, web)
                        watching = () if certificate is None else (certificate.watch(components.clocks.wall),)
                        await stack.enter_async_context(running(*watching))
                        yield RunningServer(address=address, metrics=metrics, web=web, store_lost=store_lost)
                finally:
                    store_lost.cancel()
                    stack.push_async_callback(programs.stop)
                    if hosting is not None:
                        stack.push_async_callback(hosting.stop)
                    await components.stop(settings.grace, force or asyncio.Event())
        _log.info("stopped")
    finally:
        store.close()


async def _store_lost(store: AsyncStore) -> StoreError:
    """Return as soon as the claim on the store is lost, with the reason."""
    while True:
        await asyncio.sleep(CLAIM_CHECK_SECONDS)
        try:
            await store.write(store.store.check_claim)
        except StoreError as error:
            return error


class _Components:
    """The parts of a server."""

    def __init__(
        self,
        settings: ServerSettings,
        tokens: TokenFile | None,
        store: AsyncStore,
        clocks: Clocks,
        lineup: Lineup,
        *,
        first_match_id: int,
    ) -> None:
        self.clocks = clocks
        unix_clock = UnixClock(clocks.wall, clocks.steady)
        self.secrets = new_secrets(list(settings.house_bots))
        """What the bots of the house show, by their names."""
        (self.worker_token,) = new_secrets(["worker"]).values()
        """What the workers show that this server starts."""
        lobby = Lobby(
            FairClock(clocks.steady, tick_seconds=SWEEP_SECONDS),
            unix_clock,
            limits=settings.session_limits,
            first_match_id=first_match_id,
            house=self.secrets,
        )
        self.store = store
        conditions = Conditions(settings=settings.for_workers(), lineup=lineup.json())
        self.workers = WorkerService(
            unix_clock,
            conditions,
            bots=(*settings.house_bots, *lineup.started),
            expected=settings.workers if settings.ray is None else 0,
        )
        self.places = Places(lobby, store, unix_clock, self.workers)
        deals, self.requests = DealsInPlay(self.places, store), Requests(store, unix_clock)
        self.tournaments = Tournaments(self.places, store, unix_clock, most_open=settings.open_tournaments)
        self.server = BotServer(
            settings,
            lobby,
            Authenticator(
                tokens,
                now=lambda: datetime.fromtimestamp(clocks.wall(), UTC),
                own={
                    **house_callers(self.secrets),
                    self.worker_token: Principal("own workers", frozenset({Role.WORKER})),
                },
                public=settings.public,
            ),
            clock=clocks.steady,
            requests=self.requests,
        )
        practice = Practice(
            lobby,
            open_per_bot=settings.practice_matches,
            per_hour=settings.practice_matches_per_hour,
            clock=clocks.steady,
        )
        self.health = HealthService()
        gate, server = self.server.gate, self.server.grpc
        bots = BotService(lobby)
        matches = MatchService(
            self.places, store, deals, practice, charge=gate.charge, most_open=settings.open_matches
        )
        tournaments = TournamentService(self.tournaments, self.places, deals)
        reader = None
        if settings.ladder is not None:
            from happycity_server.ladder.ladder import Ladder  # noqa: PLC0415 - few servers keep one
            from happycity_server.ladder.reader import LadderReader  # noqa: PLC0415 - likewise

            config = LadderConfig.read(settings.ladder)
            owner_of = gate.authenticator.owner_of
            reader = LadderReader(Ladder(config, self.places, store, unix_clock, owner_of=owner_of))
        self.ladder = None if reader is None else reader.ladder
        self.hosting = _hosting(settings, self.server, frozenset(self.secrets), self.places, self.tournaments)
        submissions = None if self.hosting is None else self.hosting.hosting.submissions
        ladder = LadderService(reader, tokens, submissions)
        access = AccessService(
            tokens,
            house=self.secrets,
            now=gate.authenticator.now,
            charge=gate.charge,
            address=settings.guest_address,
            ca=settings.guest_ca,
        )
        server.add_generic_rpc_handlers(map(handlers_of, (access, bots, matches, tournaments, ladder)))
        add_WorkerServiceServicer_to_server(self.workers, server)
        tables = Tables(lobby, self.places.begin, practice, store, unix_clock)
        gate.authenticator.person_of = tables.person_of
        deals.waiting_seeds = tables.waiting_seeds
        self.arena = Arena(
            gate=gate,
            requests=self.requests,
            access=access,
            bots=bots,
            matches=matches,
            tournaments=tournaments,
            ladder=ladder,
            tables=tables,
            hosting=self.hosting,
        )
        absent = {"ModelService": not settings.simulation_workers, "HostingService": self.hosting is None}
        self.services = tuple(name for name in CONTRACT if not absent.get(name.rpartition(".")[2]))
        """The services of the contract that are served, by their full names."""
        if settings.simulation_workers:
            self.places.arrival_listeners.append(self._start_model)
        health_pb2_grpc.add_HealthServicer_to_server(self.health, server)
        described = (*self.services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(described, server)

    async def start(self, *, resume: bool) -> None:
        if resume:
            await self.tournaments.resume_all()  # first, so that bots that come back find them running
        await self.arena.tables.restore()
        if self.ladder is not None:
            await self.ladder.start()
        await self.server.start()
        for service in ("", *self.services):
            await self.health.set(service, health_pb2.HealthCheckResponse.SERVING)

    def _start_model(self, _: str, profile: BotProfile) -> None:
        """Start the forward model for a bot that may ask it, before a clock runs for that bot.

        Bots of the Python SDK have the rules.
        """
        if not profile.software.startswith("happycity-python/"):
            self.server.pool.start()

    async def stop(self, grace: float, force: asyncio.Event) -> None:
        """Report that nothing more is served, let running matches end, and close all streams."""
        _log.info("stopping")
        await self.health.enter_graceful_shutdown()
        self.tournaments.interrupt_all()
        if self.ladder is not None:
            self.ladder.stop_starting()
        # In reverse order, each also if one before it fails.
        async with running(self._void_when_forced(force)), AsyncExitStack() as last:
            last.push_async_callback(self.requests.wait_closed)
            last.push_async_callback(self.server.stop)
            if self.ladder is not None:
                last.push_async_callback(self.ladder.wait_closed)
            last.push_async_callback(self.tournaments.wait_closed)
            last.push_async_callback(self.requests.wait_closed)  # one of which may have resumed a tournament
            last.push_async_callback(self.places.close, grace)
            await self.arena.tables.close()

    async def _void_when_forced(self, force: asyncio.Event) -> None:
        await force.wait()
        _log.info("voiding_matches", matches=sum(1 for _ in self.places.newest_matches()))
        self.places.void_all()


def _hosting(
    settings: ServerSettings,
    server: BotServer,
    house: frozenset[str],
    places: Places,
    tournaments: Tournaments,
) -> HostingService | None:
    """Serve authors of submitted bots, and return the service; None if the server hosts none."""
    if settings.hosted is None:
        return None
    from happycity_server.hosting.hosting import Hosting  # noqa: PLC0415 - few servers host bots
    from happycity_server.hosting.service import HostingService  # noqa: PLC0415 - likewise

    hosting = Hosting(settings, settings.hosted, server)
    hosting.is_pinned, tournaments.digest_of = tournaments.fixes, hosting.digest_of
    places.lobby.is_hosted = hosting.is_hosted
    hosting.on_change, places.workers.on_used = places.workers.host, hosting.usage_reports.extend
    service = HostingService(hosting, house=house, now=server.gate.authenticator.now)
    server.grpc.add_generic_rpc_handlers((handlers_of(service),))
    return service


def _metrics(
    settings: ServerSettings, tokens: TokenFile | None, parts: _Components
) -> AbstractContextManager[str]:
    # A server without metrics needn't wait for the import.
    from happycity_server.metrics import ArenaMetrics, UpkeepMetrics, metrics_served  # noqa: PLC0415
    from happycity_tournament.storage.sources import path_of  # noqa: PLC0415 - likewise

    assert settings.metrics is not None
    loop = asyncio.get_running_loop()
    metrics = ArenaMetrics(parts.places, parts.tournaments, parts.server, parts.store, parts.ladder, loop)
    path = None if tokens is None else tokens.path
    upkeep = UpkeepMetrics(path_of(settings.store), settings.tls_cert, path, parts.clocks.wall)
    return metrics_served(settings.metrics, metrics, upkeep)


def _web(
    settings: ServerSettings, parts: _Components, certificate: CertificateFiles | None
) -> AbstractAsyncContextManager[str | None]:
    """Serve the pages while the context lasts, if they are wanted."""
    if settings.web is None:
        return nullcontext()
    host, port = split_host_port(settings.web)
    # On loopback, a proxy that encrypts, or a browser on this machine, is spoken to in clear.
    tls = None if certificate is None or is_loopback(settings.web) else certificate.context
    names = frozenset(name.lower() for name in (settings.web_name, host) if name)
    site = Site(tls=tls, names=names, viewers=settings.web_viewers)
    return pages_served(parts.arena, host, port, site)


def _log_settings(
    settings: ServerSettings,
    tokens: TokenFile | None,
    address: str,
    metrics: str | None,
    web: str | None,
) -> None:
    """Log how the server is run, above all what it does without."""
    _log.info(
        "listening",
        address=address,
        store=settings.shown_store,
        tls=settings.tls_cert is not None,
        client_certificates=settings.client_ca is not None,
        tokens=str(tokens.path) if tokens is not None else None,
        metrics=metrics,
        web=web,
    )
    if tokens is None:
        _log.info("access_open", text="there are no tokens: everybody who reaches the address has all rights")
    elif not len(tokens):
        _log.warning("no_tokens", text=f"{tokens.path} holds no token: nobody can do anything")
    if settings.tls_cert is None and not is_loopback(settings.listen):
        _log.warning("insecure", text="other machines can connect without TLS: tokens can be read on the way")
    if settings.no_clock:
        _log.warning(
            "no_clock", text="no clock runs in any match, and silent bots are waited for: for debugging only"
        )


def serve_until_stopped(settings: ServerSettings, *, lineup: Lineup | None = None) -> None:
    """Serve until SIGINT or SIGTERM; print the address in one line that programs can read.

    A second signal voids the matches that are still running. With the `lineup` of a run, workers start its
    bots, and what becomes of workers is printed in further lines, as the run shows it.

    Raises:
        HappyCityError: the server can't start, or has lost its store.
    """

    async def main() -> None:
        stop, force = asyncio.Event(), asyncio.Event()

        def on_signal() -> None:
            (force if stop.is_set() else stop).set()

        def remark(text: str, **details: object) -> None:
            if lineup is not None and not stop.is_set():
                say({"remark": text, **details})

        if settings.stop_with_stdin:
            loop = asyncio.get_running_loop()
            on_stdin_end(lambda: loop.call_soon_threadsafe(stop.set))
        with on_stop_signal(on_signal):
            async with run_server(settings, force=force, lineup=lineup, remark=remark) as server:
                others = {"metrics": server.metrics, "web": server.web}
                shown = {name: address for name, address in others.items() if address is not None}
                say({"listening": server.address, **shown})
                server.store_lost.add_done_callback(lambda _: stop.set())
                await stop.wait()
                if server.store_lost.done():
                    force.set()  # no match that ends now could be stored
                    _log.error("store_lost", problem=str(server.store_lost.result()))
                    raise server.store_lost.result()

    def say(line: Mapping[str, object]) -> None:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    raise_file_limit()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what is imported stays, and needn't be looked through again
    with private_files():
        run(main())
