"""Metrics for Prometheus: what the server counts anyway, put into words when somebody asks."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import grpc
from prometheus_client import GCCollector, ProcessCollector, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector, CollectorRegistry

from happycity.errors import HappyCityError
from happycity_server.access import AccessInterceptor
from happycity_server.addresses import host_and_port
from happycity_server.lobby import Lobby
from happycity_server.matches import MatchState
from happycity_server.simulators import Simulators
from happycity_server.tally import THINK_BOUNDS_US
from happycity_server.tournaments import Tournaments
from happycity_tournament.archive import Archive


class MetricsError(HappyCityError):
    """The address for metrics can't be listened on."""


@dataclass(frozen=True, slots=True)
class ArenaCollector(Collector):
    """Reads a server's numbers at the moment when it is asked.

    It is called by a thread of its own and takes no lock: it reads numbers, and copies of collections.
    """

    lobby: Lobby
    tournaments: Tournaments
    interceptor: AccessInterceptor
    simulators: Simulators

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        yield InfoMetricFamily(
            "happycity_build",
            "Versions of the server and what it stands on.",
            {
                "version": version("happycity"),
                "python": platform.python_version(),
                "grpc": grpc.__version__,
            },
        )
        yield from self._matches()
        yield from self._thinking()
        yield from self._connections()
        yield from self._loop()
        yield from _archive(self.tournaments.archive)
        yield _counter("happycity_playouts", "Playouts of simulations.", self.simulators.playouts)

    def _matches(self) -> Iterator[Metric]:
        tally, states = self.lobby.tally, [match.state for match in list(self.lobby.matches.values())]
        open_now = {state.value: states.count(state) for state in (MatchState.WAITING, MatchState.RUNNING)}
        yield _gauges("happycity_matches", "Matches that wait or run now.", "state", open_now)
        yield _counter("happycity_matches_started", "Matches that were begun.", tally.matches_started)
        yield _counter("happycity_matches_finished", "Matches that came to an end.", tally.matches_finished)
        yield _counters("happycity_matches_voided", "Matches broken off.", "reason", tally.matches_voided)
        yield _counters("happycity_strikes", "Late and illegal answers.", "kind", tally.strikes)
        yield _counters("happycity_forfeits", "Seats that were forfeited.", "reason", tally.forfeits)
        yield GaugeMetricFamily(
            "happycity_tournaments", "Tournaments that wait or run now.", self.tournaments.open_count
        )

    def _thinking(self) -> Iterator[Metric]:
        tally = self.lobby.tally
        yield _counter("happycity_decisions", "Decisions of matches that are over.", tally.decisions)
        counts, total, buckets = list(tally.think_counts), 0, []
        for bound, count in zip((*THINK_BOUNDS_US, None), counts, strict=True):
            total += count
            buckets.append(("+Inf" if bound is None else repr(bound / 1e6), float(total)))
        yield HistogramMetricFamily(
            "happycity_think_seconds",
            "Think times of bots in matches that are over, by the server's clock.",
            buckets=buckets,
            sum_value=tally.think_us / 1e6,
        )

    def _connections(self) -> Iterator[Metric]:
        tally = self.lobby.tally
        sessions = list(self.lobby.sessions.values())
        streams = [stream for session in sessions if (stream := session.stream) is not None]
        bots = {"connected": len(streams), "away": len(sessions) - len(streams)}
        yield _gauges("happycity_bots", "Bots that are connected, or were a moment ago.", "state", bots)
        yield _counter("happycity_streams_opened", "Play streams that were welcomed.", tally.streams_opened)
        yield _counter("happycity_streams_resumed", "Of these, resumed ones.", tally.streams_resumed)
        yield _counter(
            "happycity_streams_taken_over",
            "Of these, those that took a name over without its resume token.",
            tally.streams_taken_over,
        )
        yield _counter("happycity_streams_lost", "Play streams without a goodbye.", tally.streams_lost)
        yield _counters(
            "happycity_refusals", "Refused calls and streams.", "reason", self.interceptor.refused
        )
        yield GaugeMetricFamily(
            "happycity_open_streams", "Streams of all services.", self.interceptor.open_streams
        )
        waiting = sum(stream.waiting_bytes for stream in streams)
        yield GaugeMetricFamily("happycity_outbox_bytes", "Bytes that wait to be sent to bots.", waiting)
        yield GaugeMetricFamily(
            "happycity_outbox_high_water_bytes",
            "The most that ever waited for one bot.",
            tally.outbox_high_water,
        )
        asked = sum(session.is_asked for session in sessions)
        yield GaugeMetricFamily("happycity_bots_asked", "Bots of which an answer is awaited.", asked)

    def _loop(self) -> Iterator[Metric]:
        tally = self.lobby.tally
        yield GaugeMetricFamily(
            "happycity_loop_lag_seconds",
            "The longest delay of the event loop since the last scrape.",
            tally.take_worst_lag(),
        )
        yield _counter("happycity_overloads", "How often the event loop was stuck.", tally.overloads)
        yield _counter(
            "happycity_overload_seconds", "What was taken out of the clocks by that.", tally.overload_seconds
        )


def _archive(archive: Archive) -> Iterator[Metric]:
    yield _counter("happycity_store_commits", "Transactions with games.", archive.commits)
    yield _counter("happycity_store_commit_seconds", "What those took.", archive.commit_seconds)
    yield GaugeMetricFamily(
        "happycity_store_games_waiting", "Finished games that are not stored yet.", archive.games_waiting
    )


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value)


def _counters(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for key, value in _pairs(values):
        family.add_metric([key.lower()], value)
    return family


def _gauges(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for key, value in _pairs(values):
        family.add_metric([key], value)
    return family


def _pairs(values: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    return list(values.items())  # a copy: the event loop may add a key meanwhile


@contextmanager
def metrics_served(address: str, collector: Collector) -> Iterator[str]:
    """Answer Prometheus while the context lasts, in threads of its own; yields the address.

    Raises:
        MetricsError: it can't be listened on.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    host, port = host_and_port(address)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise MetricsError(f"metrics: {address} can't be listened on: {error.strerror}") from None
    try:
        yield f"{address.rpartition(':')[0]}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
