"""The server as a whole: builds its parts, serves, and shuts them down."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from happycity.errors import ConfigError
from happycity.gateway.v1beta1 import gateway_service_pb2
from happycity.gateway.v1beta1.gateway_service_pb2_grpc import add_GatewayServiceServicer_to_server
from happycity.v1.server_service_pb2 import ServerLimits
from happycity.wire.fields import to_message
from happycity.wire.match import duration_message
from happycity.worker.v1.worker_service_pb2 import Conditions
from happycity.worker.v1.worker_service_pb2_grpc import add_WorkerServiceServicer_to_server
from happycity_ladder.ladder_config import LadderConfig
from happycity_runtime.event_loop import on_stop_signal, run, running
from happycity_runtime.files import private_files
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Target, is_loopback, split_host_port
from happycity_server.access.gate import Authenticator, house_callers
from happycity_server.access.requests import Requests
from happycity_server.access.roles import CONTRACT, Principal, visitors_roles
from happycity_server.access.token_file import TokenFile
from happycity_server.api.access import AccessService
from happycity_server.api.handlers import add_service
from happycity_server.api.health import HealthService
from happycity_server.api.ladder import LadderService
from happycity_server.api.matches import MatchService
from happycity_server.api.play import BotService
from happycity_server.api.server import ServerService
from happycity_server.api.tournaments import TournamentService
from happycity_server.config import ServerSettings
from happycity_server.frontends import Arena, Site, pages_served
from happycity_server.people.practice import Practice
from happycity_server.people.tables import Tables
from happycity_server.places.deals import DealsInPlay
from happycity_server.places.places import Places
from happycity_server.places.protocol import WorkerService
from happycity_server.play.clock import FairClock, UnixClock
from happycity_server.play.events import Events
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_server.process.listening import (
    BotServer,
    CertificateFiles,
    bind,
    certificate_of,
    check_exposure,
    on_stdin_end,
    print_line,
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
from happycity_server.workers.gateway import GatewayService
from happycity_tournament.lineup import Lineup
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.store import Store

if TYPE_CHECKING:
    from happycity_server.hosting.service import HostingService
    from happycity_server.ladder.reader import LadderReader
    from happycity_tournament.hosted.submissions import Submissions

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
    tell_user: Callable[..., None] = lambda text, **details: None,
) -> AsyncIterator[RunningServer]:
    """Serve while the context lasts; at its end matches have their grace time, unless `force` is set.

    Workers start the bots of `lineup`, that of a run. `tell_user` is that of `WorkerService`.

    ConfigError if a certificate or key can't be used, or the pages are not installed; ListenError if an
    address is taken, or must not be listened on in this way; StoreError if the store can't be opened, or
    another server uses it; TokenError if the tokens can't be read.
    """
    tokens = tokens_of(settings)
    check_exposure(settings, has_tokens=tokens is not None)
    certificate = certificate_of(settings)
    clocks = clocks or Clocks()
    async with _claimed_store(settings) as store, AsyncExitStack() as stack:
        first_id = await store.read(store.store.next_match_id)
        parts = _ServerParts(
            settings, tokens, store, clocks, lineup or Lineup(), tell_user=tell_user, first_match_id=first_id
        )
        address = bind(parts.server.grpc, settings.listen, certificate)
        metrics = stack.enter_context(_metrics(settings, tokens, parts))
        private = stack.enter_context(_private_address(settings, parts.server))
        stack.push_async_callback(parts.stop, force or asyncio.Event())
        store_lost = asyncio.create_task(_store_lost(store))
        stack.callback(store_lost.cancel)
        await parts.start()
        parts.start_programs(private, address)
        web = await stack.enter_async_context(_web(settings, parts, certificate))
        server = RunningServer(address=address, metrics=metrics, web=web, store_lost=store_lost)
        _log_settings(settings, tokens, server)
        watching = () if certificate is None else (certificate.watch(clocks.wall),)
        await stack.enter_async_context(running(*watching))
        yield server
    _log.info("stopped")


@asynccontextmanager
async def _claimed_store(settings: ServerSettings) -> AsyncIterator[AsyncStore]:
    """Open the store, for this server alone, while the context lasts."""
    store = await asyncio.to_thread(Store.create, settings.store)
    if store.migrated_from is not None:
        _log.info("store_migrated", from_version=store.migrated_from)
    try:
        await asyncio.to_thread(store.claim)
        async with AsyncStore(store) as async_store:
            yield async_store
    finally:
        store.close()


@contextmanager
def _private_address(settings: ServerSettings, server: BotServer) -> Iterator[str]:
    """Yield an address for the programs that the server starts on its machine; "" if it starts none there."""
    if not settings.house_bots and (not settings.workers or settings.ray is not None):
        yield ""
        return
    with private_address() as address:
        yield bind(server.grpc, address, None)


async def _store_lost(store: AsyncStore) -> StoreError:
    """Return as soon as the claim on the store is lost, with the reason."""
    while True:
        await asyncio.sleep(CLAIM_CHECK_SECONDS)
        try:
            await store.write(store.store.check_claim)
        except StoreError as error:
            return error


class _ServerParts:
    """The parts of a server, each made of those before it."""

    def __init__(
        self,
        settings: ServerSettings,
        tokens: TokenFile | None,
        store: AsyncStore,
        clocks: Clocks,
        lineup: Lineup,
        *,
        tell_user: Callable[..., None],
        first_match_id: int,
    ) -> None:
        self.clocks, self.store, self._settings = clocks, store, settings
        unix_clock, events = UnixClock(clocks.wall, clocks.steady), Events()
        # What the bots of the house show, by their names, and the workers that this server starts.
        self._secrets = new_secrets(list(settings.house_bots))
        (self._worker_token,) = new_secrets(["worker"]).values()

        # Where matches are played.
        lobby = Lobby(
            FairClock(clocks.steady, tick_seconds=SWEEP_SECONDS),
            unix_clock,
            events=events,
            limits=settings.session_limits,
            first_match_id=first_match_id,
            house=self._secrets,
        )
        workers = WorkerService(
            unix_clock,
            Conditions(settings=settings.for_workers(), lineup=lineup.json()),
            events=events,
            tell_user=tell_user,
            bots=(*settings.house_bots, *lineup.started),
            expected=settings.workers if settings.ray is None else 0,
        )
        self.places = Places(lobby, store, unix_clock, workers)
        self._programs = Programs(lobby.counters, on_worker_end=workers.note_ended)
        events.worker_silent.append(self._programs.kill)

        # What is played.
        practice = Practice(
            lobby,
            open_per_bot=settings.practice_matches,
            per_hour=settings.practice_matches_per_hour,
            guests_per_hour=settings.guests_play,
            clock=clocks.steady,
        )
        tables = Tables(lobby, self.places.begin, practice, store, unix_clock)
        self._submissions = _submissions(settings, tokens)
        self.tournaments = Tournaments(
            self.places, store, most_open=settings.open_tournaments, hosted_digest=self._hosted_digest
        )

        # Who calls.
        authenticator = Authenticator(
            tokens,
            now=lambda: datetime.fromtimestamp(clocks.wall(), UTC),
            is_open=tokens is None,
            own={
                **house_callers(self._secrets),
                self._worker_token: Principal("own workers", frozenset({Role.WORKER})),
            },
            person_by_secret=tables.person_by_secret,
            public=visitors_roles(public=settings.public, guests_play=settings.guests_play > 0),
        )
        self._requests = Requests(store, unix_clock)
        self.server = BotServer(
            settings,
            lobby,
            authenticator,
            clock=clocks.steady,
            requests=self._requests,
            is_hosted=self._is_hosted,
        )

        # What is served.
        reader = self._ladder_reader()
        self.ladder = None if reader is None else reader.ladder
        hosting = self._hosting_service(workers)
        self._hosting = None if hosting is None else hosting.hosting
        gate, deals = self.server.gate, DealsInPlay(self.places, store, waiting_seeds=tables.waiting_seeds)
        self.arena = Arena(
            gate=gate,
            requests=self._requests,
            access=AccessService(
                tokens,
                house=self._secrets,
                now=authenticator.now,
                charge=gate.charge,
                address=settings.guest_address,
                ca=settings.guest_ca,
            ),
            bots=BotService(lobby, owner_of=authenticator.owner_of),
            matches=MatchService(
                self.places,
                store,
                deals,
                practice,
                charge=gate.charge,
                stream=gate.stream,
                most_open=settings.open_matches,
            ),
            tournaments=TournamentService(self.tournaments, self.places, deals),
            ladder=LadderService(reader, tokens, self._submissions),
            tables=tables,
            hosting=hosting,
        )
        conditions = gateway_service_pb2.Conditions(
            settings=settings.for_workers(), has_tokens=tokens is not None
        )
        self._gateways = GatewayService(gate, self.server.play, conditions, clocks.steady)
        self._services = tuple(name for name in CONTRACT if hosting or not name.endswith(".HostingService"))
        offered = [name for name in self._services if reader or not name.endswith(".LadderService")]
        self._about = ServerService(_limits(settings), offered)
        self._health = HealthService()
        self._add_services(workers)

    def _hosting_service(self, workers: WorkerService) -> HostingService | None:
        """Return the service for authors of submitted bots; None if the server hosts none."""
        if self._submissions is None:
            return None
        from happycity_server.hosting.hosting import Hosting  # noqa: PLC0415 - few servers host bots
        from happycity_server.hosting.service import HostingService  # noqa: PLC0415 - likewise

        is_pinned, settings = self.tournaments.running.pins, self._settings
        hosting = Hosting(
            settings, self._submissions, self.server, is_pinned=is_pinned, on_change=workers.host
        )
        workers.events.usage_reported.append(hosting.usage_reports.extend)
        now = self.server.gate.authenticator.now
        return HostingService(hosting, house=frozenset(settings.house_bots), now=now)

    def _ladder_reader(self) -> LadderReader | None:
        """Return a ladder with what reads it; None if the server keeps none."""
        if self._settings.ladder is None:
            return None
        from happycity_server.ladder.ladder import Ladder  # noqa: PLC0415 - few servers keep one
        from happycity_server.ladder.reader import LadderReader  # noqa: PLC0415 - likewise

        config, owner_of = LadderConfig.read(self._settings.ladder), self.server.gate.authenticator.owner_of
        return LadderReader(Ladder(config, self.places, self.store, owner_of=owner_of))

    def _add_services(self, workers: WorkerService) -> None:
        """Have gRPC serve all services but those that `BotServer` has."""
        arena, server = self.arena, self.server.grpc
        own = arena.access, arena.bots, arena.matches, arena.tournaments, arena.ladder, arena.hosting
        for service in filter(None, (self._about, *own)):
            add_service(server, service)
        add_WorkerServiceServicer_to_server(workers, server)
        add_GatewayServiceServicer_to_server(self._gateways, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        described = (*self._services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(described, server)

    def _hosted_digest(self, bot: str) -> str:
        """Return the digest of the submission that plays as a bot; "" without one."""
        playing = None if self._submissions is None else self._submissions.playing(bot)
        return "" if playing is None else playing.digest

    def _is_hosted(self, bot: str) -> bool:
        """Return whether no program but a submitted one may connect as a bot."""
        return bool(self._hosted_digest(bot)) or self.tournaments.running.pins(bot)

    async def start(self) -> None:
        """Go on with what an earlier server has left, and serve."""
        if self._hosting is not None:
            await self._hosting.start(self._programs)
        if self._settings.resume_tournaments:
            await self.tournaments.resume_all()  # first, so that bots that come back find them running
        await self.arena.tables.restore()
        if self.ladder is not None:
            await self.ladder.start()
        await self.server.start()
        for service in ("", *self._services):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    def start_programs(self, private: str, address: str) -> None:
        """Run the bots of the house and the workers; those on Ray connect to the public `address`."""
        settings = self._settings
        if settings.ray is None:
            server = private
        else:
            server = str(Target(settings.worker_address or address, tls=settings.tls_cert is not None))
        for program in chain(
            bot_programs(settings.house_bots, Lineup(), self._secrets, private),
            worker_programs(settings, self._worker_token, server),
        ):
            self._programs.supervise(program)

    async def stop(self, force: asyncio.Event) -> None:
        """Report that nothing more is served, let running matches end, and close all streams."""
        _log.info("stopping")
        await self._health.enter_graceful_shutdown()
        self.tournaments.interrupt_all()
        if self.ladder is not None:
            self.ladder.stop_starting()
        # In reverse order, each also if one before it fails.
        async with running(self._void_when_forced(force)), AsyncExitStack() as last:
            last.push_async_callback(self._programs.stop)
            if self._hosting is not None:
                last.push_async_callback(self._hosting.stop)
            last.push_async_callback(self._requests.wait_closed)
            last.push_async_callback(self.server.stop)
            if self.ladder is not None:
                last.push_async_callback(self.ladder.wait_closed)
            last.push_async_callback(self.tournaments.wait_closed)
            last.push_async_callback(self._requests.wait_closed)  # one may have resumed a tournament
            last.push_async_callback(self.places.close, self._settings.grace)
            await self.arena.tables.close()

    async def _void_when_forced(self, force: asyncio.Event) -> None:
        await force.wait()
        _log.info("voiding_matches", matches=sum(1 for _ in self.places.newest_matches()))
        self.places.void_all()


def _limits(settings: ServerSettings) -> ServerLimits:
    """Return the limits of a server, as it says them to anybody."""
    return to_message(
        ServerLimits,
        settings,
        *("message_bytes", "calls_per_second", "calls_burst", "streams_per_token", "streams_per_peer"),
        *("practice_matches", "practice_matches_per_hour"),
        hello_time=duration_message(settings.hello_time),
        games_per_bot=settings.games_per_bot or None,
    )


def _submissions(settings: ServerSettings, tokens: TokenFile | None) -> Submissions | None:
    """Open what participants have submitted; None if the server hosts no bots."""
    if settings.hosted is None:
        return None
    if tokens is None:
        text = "it needs tokens, which say whose each bot is; create one with: happycity token create"
        raise ConfigError(f"--hosted: {text}")
    from happycity_tournament.hosted.submissions import Submissions  # noqa: PLC0415 - few servers host bots

    return Submissions(settings.hosted)


def _metrics(
    settings: ServerSettings, tokens: TokenFile | None, parts: _ServerParts
) -> AbstractContextManager[str | None]:
    """Serve metrics while the context lasts, if they are wanted."""
    if settings.metrics is None:
        return nullcontext()
    # A server without metrics needn't wait for the import.
    from happycity_server.metrics import ArenaMetrics, UpkeepMetrics, metrics_served  # noqa: PLC0415
    from happycity_tournament.storage.sources import path_of  # noqa: PLC0415 - likewise

    loop = asyncio.get_running_loop()
    metrics = ArenaMetrics(parts.places, parts.tournaments, parts.server, parts.store, parts.ladder, loop)
    path = None if tokens is None else tokens.path
    upkeep = UpkeepMetrics(path_of(settings.store), settings.tls_cert, path, parts.clocks.wall)
    return metrics_served(settings.metrics, metrics, upkeep)


def _web(
    settings: ServerSettings, parts: _ServerParts, certificate: CertificateFiles | None
) -> AbstractAsyncContextManager[str | None]:
    """Serve the pages while the context lasts, if they are wanted."""
    if settings.web is None:
        return nullcontext()
    host, port = split_host_port(settings.web)
    # On loopback, a proxy that encrypts, or a browser on this machine, is spoken to unencrypted.
    tls = None if certificate is None or is_loopback(settings.web) else certificate.context
    names = frozenset(name.lower() for name in (settings.web_name, host) if name)
    site = Site(tls=tls, names=names, viewers=settings.web_viewers)
    return pages_served(parts.arena, host, port, site)


def _log_settings(settings: ServerSettings, tokens: TokenFile | None, server: RunningServer) -> None:
    """Log how the server is run, above all what it does without."""
    _log.info(
        "listening",
        address=server.address,
        store=settings.shown_store,
        tls=settings.tls_cert is not None,
        client_certificates=settings.client_ca is not None,
        tokens=str(tokens.path) if tokens is not None else None,
        metrics=server.metrics,
        web=server.web,
    )
    if tokens is None:
        _log.info("access_open", text="there are no tokens: all clients have all rights")
    elif not len(tokens):
        text = f"{tokens.path} has no tokens; create one with: happycity token create"
        _log.warning("no_tokens", text=text)
    if settings.tls_cert is None and not is_loopback(settings.listen):
        _log.warning("insecure", text="other machines can connect without TLS: tokens can be read on the way")
    if settings.no_clock:
        _log.warning(
            "no_clock", text="no clock runs in any match, and silent bots are waited for: for debugging only"
        )


def serve_until_stopped(settings: ServerSettings, *, lineup: Lineup | None = None) -> None:
    """Serve until SIGINT or SIGTERM; print the address in one line that programs can read.

    A second signal voids the matches that are still running. With the `lineup` of a run, workers start its
    bots, and what becomes of workers is printed in further lines, as the run shows it. HappyCityError if the
    server can't start, or has lost its store.
    """

    async def main() -> None:
        stop, force = asyncio.Event(), asyncio.Event()

        def on_signal() -> None:
            (force if stop.is_set() else stop).set()

        def tell_user(text: str, **details: object) -> None:
            if lineup is not None and not stop.is_set():
                print_line({"remark": text, **details})

        if settings.stop_with_stdin:
            loop = asyncio.get_running_loop()
            on_stdin_end(lambda: loop.call_soon_threadsafe(stop.set))
        with on_stop_signal(on_signal):
            async with run_server(settings, force=force, lineup=lineup, tell_user=tell_user) as server:
                others = {"metrics": server.metrics, "web": server.web}
                shown = {name: address for name, address in others.items() if address is not None}
                print_line({"listening": server.address, **shown})
                server.store_lost.add_done_callback(lambda _: stop.set())
                await stop.wait()
                if server.store_lost.done():
                    force.set()  # no match that ends now could be stored
                    _log.error("store_lost", problem=str(server.store_lost.result()))
                    raise server.store_lost.result()

    raise_file_limit()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what is imported stays, and needn't be looked through again
    with private_files():
        run(main())
