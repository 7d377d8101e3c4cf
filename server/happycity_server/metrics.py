"""Metrics for Prometheus: what the server counts, in the form that Prometheus reads."""

from __future__ import annotations

import asyncio
import math
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import structlog
from cryptography import x509
from prometheus_client import GCCollector, ProcessCollector, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector, CollectorRegistry

from happycity_runtime.tokens import TokenError, read_tokens_file
from happycity_runtime.transport import FileStamp, file_stamp, split_host_port
from happycity_server.errors import ListenError
from happycity_server.places.places import Places
from happycity_server.play.counters import LAG_BOUNDS_SECONDS, THINK_BOUNDS_US, Counters
from happycity_server.play.match import MatchState
from happycity_server.process.listening import BotServer
from happycity_server.tournaments.registry import Tournaments
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.backup import backup_mark

if TYPE_CHECKING:  # few servers keep one
    from happycity_server.ladder.ladder import Ladder

COLLECT_SECONDS = 5.0
"""How long a scrape waits for the event loop."""
REQUEST_SECONDS = 5.0
"""How long a request may take to arrive, and its response to be read."""


@dataclass(frozen=True, slots=True)
class ArenaMetrics(Collector):
    """Reads a server's numbers on its event loop, where nothing changes meanwhile."""

    places: Places
    tournaments: Tournaments
    server: BotServer
    store: AsyncStore
    ladder: Ladder | None
    loop: asyncio.AbstractEventLoop

    def collect(self) -> Sequence[Metric]:
        """Return all metrics; a thread of the HTTP server calls it."""
        return asyncio.run_coroutine_threadsafe(self.collected(), self.loop).result(COLLECT_SECONDS)

    async def collected(self) -> Sequence[Metric]:
        """Return all metrics; call it on the event loop."""
        own, python = version("happycity"), platform.python_version()
        build = {"version": own, "python": python, "grpc": grpc.__version__}
        return [
            InfoMetricFamily("happycity_build", "Versions of the server and its foundations.", build),
            *self._numbers(),
            *self._counters(),
            *self._ladder(),
        ]

    def _numbers(self) -> Iterator[Metric]:
        states = [match.state for match in self.places.newest_matches()]
        open_now = {state.value: states.count(state) for state in (MatchState.WAITING, MatchState.RUNNING)}
        yield _by_key(_gauge, "matches", "Matches that wait or run now.", "state", open_now)
        yield _gauge("workers", "Workers that have joined.", len(self.places.workers.joined))
        yield _gauge("gateways", "Gateways that have joined.", self.server.gate.gateways)
        yield _gauge("tournaments", "Tournaments that wait or run now.", len(self.tournaments.running))
        here = [session for session in self.places.lobby.sessions.values() if not session.gone]
        connected = len(self.places.connected())
        bots = {"connected": connected, "away": len(here) - connected}
        text, gate = "Bots that are connected, or were a moment ago.", self.server.gate
        yield _by_key(_gauge, "bots", text, "state", bots)
        yield _by_key(_counter, "refusals", "Refused calls and streams.", "reason", gate.refused)
        yield _gauge("open_streams", "Streams of all services.", sum(map(len, gate.streams.values())))
        store, text = self.store, "Finished games that are not stored yet."
        yield _counter("store_commits", "Transactions with games.", store.commits)
        yield _counter("store_commit_seconds", "What those took.", store.commit_seconds)
        yield _gauge("store_games_waiting", text, store.games_waiting)

    def _ladder(self) -> Iterator[Metric]:
        if self.ladder is None:
            return
        ladder, presence, text = self.ladder, self.ladder.presence, "Deals of the ladder that were finished."
        yield _gauge("ladder_deals", "Deals of the ladder that run now.", len(ladder.deals))
        yield _counter("ladder_deals_finished", text, ladder.deals_finished)
        yield _gauge("ladder_bots_waiting", "Bots with a free seat that play no deal.", len(presence.waits()))
        yield _gauge("ladder_longest_wait_seconds", "The longest such wait now.", presence.longest_wait())

    def _counters(self) -> Iterator[Metric]:
        counters = self.places.counters
        for entry in fields(Counters):
            if "text" in entry.metadata:
                kind = _gauge if entry.metadata["is_gauge"] else _counter
                name, text, value = entry.name, entry.metadata["text"], getattr(counters, entry.name)
                if by := entry.metadata["by"]:
                    yield _by_key(kind, name, text, by, value)
                else:
                    yield kind(name, text, value)
        yield _histogram(
            "think_seconds",
            "Think times of bots in matches that are over, by the server's clock.",
            [bound / 1e6 for bound in THINK_BOUNDS_US],
            counters.think_counts,
            total=counters.think_us / 1e6,
        )
        yield _histogram(
            "loop_lag_seconds",
            "How late the event loop's ticks came.",
            LAG_BOUNDS_SECONDS,
            counters.lag_counts,
            total=counters.lag_seconds,
        )
        dropped = getattr(structlog.get_config()["logger_factory"], "dropped", 0)
        yield _counter("log_lines_dropped", "Log lines that were not read in time.", dropped)


def _gauge(name: str, text: str, value: float | None = None, **options: Any) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"happycity_{name}", text, value, **options)


def _counter(name: str, text: str, value: float | None = None, **options: Any) -> CounterMetricFamily:
    return CounterMetricFamily(f"happycity_{name}", text, value, **options)


def _by_key(kind: Any, name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    family: GaugeMetricFamily = kind(name, text, labels=[label])
    for key, value in values.items():
        family.add_metric([key.lower()], value)
    return family


def _histogram(
    name: str, text: str, bounds: Sequence[float], counts: Sequence[int], *, total: float
) -> Metric:
    """Return a histogram; `counts` are by bucket, the last one without an upper end."""
    so_far, buckets = 0, []
    for bound, count in zip((*map(repr, bounds), "+Inf"), counts, strict=True):
        so_far += count
        buckets.append((bound, float(so_far)))
    return HistogramMetricFamily(f"happycity_{name}", text, buckets=buckets, sum_value=total)


@dataclass(frozen=True, slots=True)
class UpkeepMetrics(Collector):
    """What an operator has to look after: disk, backups, certificate, tokens.

    It reads files, so it is called in a thread of the HTTP server, never on the event loop.
    """

    database: Path | None
    """The SQLite file; None for PostgreSQL."""
    certificate: Path | None
    tokens: Path | None
    now: Callable[[], float]
    """Returns Unix time in seconds."""

    def collect(self) -> Iterator[Metric]:
        """Yield what can be read now; a file that is missing or malformed leaves its metric out."""
        store, cert, tokens = self.database, self.certificate, self.tokens
        for name, text, path, read in (
            ("disk_free_bytes", "Free bytes where the SQLite store is.", store, _free_bytes),
            ("backup_age_seconds", "Since the store's last backup; +Inf: none.", store, self._backup_age),
            ("certificate_expiry_seconds", "Until the certificate expires.", cert, self._certificate_left),
            ("token_expiry_seconds", "Until a token expires; +Inf: none does.", tokens, self._token_left),
        ):
            with suppress(OSError, ValueError, TokenError):
                if path is not None:
                    yield _gauge(name, text, read(path))

    def _backup_age(self, database: Path) -> float:
        mark = backup_mark(database)
        return self.now() - mark.stat().st_mtime if mark.exists() else math.inf

    def _certificate_left(self, path: Path) -> float:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        return certificate.not_valid_after_utc.timestamp() - self.now()

    def _token_left(self, path: Path) -> float:
        ends = _token_ends(path, file_stamp(path))
        return min((end - self.now() for end in ends if end > self.now()), default=math.inf)


@lru_cache(maxsize=4)
def _token_ends(path: Path, _stamp: FileStamp) -> Sequence[float]:
    """Return when the tokens of a file end; it is read again when its stamp has changed."""
    tokens = read_tokens_file(path).tokens
    return [one.expires.timestamp() for one in tokens if one.expires is not None]


def _free_bytes(database: Path) -> float:
    return shutil.disk_usage(database.parent).free


@contextmanager
def metrics_served(address: str, *collectors: Collector) -> Iterator[str]:
    """Serve metrics over HTTP while the context lasts, in threads of its own; yields the address.

    ListenError if the address can't be listened on.
    """
    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(collector)
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    host, port = split_host_port(address)
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        raise ListenError(f"metrics: {address} can't be listened on: {error.strerror}") from None
    # The library has no option for it; an unfinished request would keep its thread.
    server.RequestHandlerClass.timeout = REQUEST_SECONDS  # type: ignore[attr-defined]  # as socketserver has it
    try:
        yield f"{address.rpartition(':')[0]}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
