"""Metrics as Prometheus sees them."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.server.conftest import FirstMove
from tests.server.harness import bearer, called, settings

from happycity import Config
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.messages import config_message
from happycity_client import Settings, play
from happycity_server import metrics as metrics_module
from happycity_server.app import run_server
from happycity_server.metrics import ArenaMetrics, MetricsError
from happycity_tournament.storage import Store

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
Samples = dict[tuple[str, str], float]


async def families(address: str) -> list[Metric]:
    """Read all metrics by HTTP."""

    def read() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as response:
            return str(response.read().decode())

    return list(text_string_to_metric_families(await asyncio.to_thread(read)))


async def scraped(address: str) -> Samples:
    """Read all samples, by name and the value of their label, if they have one."""
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in await families(address)
        for sample in family.samples
    }


async def counted(address: str, reason: str) -> Samples:
    """Return all samples once a refusal was counted, which may be after its caller has got it."""
    while ("happycity_refusals_total", reason) not in (samples := await scraped(address)):
        pass
    return samples


async def test_numbers_of_a_match_are_found(tmp_path: Path) -> None:
    """A match of two bots is counted: games, decisions, think times, streams, commits, ticks of the loop."""
    async with run_server(settings(tmp_path, metrics="127.0.0.1:0")) as server:
        assert server.metrics is not None
        before = await scraped(server.metrics)
        bots = [
            asyncio.create_task(play(FirstMove, Settings(name=name, server=server.address)))
            for name in ("one", "two")
        ]
        async with grpc.aio.insecure_channel(server.address) as channel:
            request = pb.CreateMatchRequest(config=config_message(Config(players=2)), bots=["one", "two"])
            created = await MatchServiceStub(channel).CreateMatch(request)
            finished = await MatchServiceStub(channel).WaitMatch(
                pb.WaitMatchRequest(match_id=created.match_id)
            )
        after = await scraped(server.metrics)
        for bot in bots:
            bot.cancel()
        await asyncio.gather(*bots, return_exceptions=True)
    assert before["happycity_matches_finished_total", ""] == 0
    assert before["happycity_think_seconds_count", ""] == 0
    assert after["happycity_matches_started_total", ""] == 1
    assert after["happycity_matches_finished_total", ""] == 1
    assert after["happycity_decisions_total", ""] == finished.decisions
    assert 0 < after["happycity_think_seconds_count", ""] <= finished.decisions
    assert after["happycity_think_seconds_bucket", "+Inf"] == after["happycity_think_seconds_count", ""]
    assert after["happycity_bots", "connected"] == 2
    assert after["happycity_streams_opened_total", ""] == 2
    assert after["happycity_store_commits_total", ""] == 1
    assert after["happycity_store_games_waiting", ""] == 0
    assert after["happycity_outbox_high_water_bytes", ""] > 0
    assert after["happycity_loop_lag_seconds_count", ""] > before["happycity_loop_lag_seconds_count", ""]


async def test_every_metric_is_documented(tmp_path: Path) -> None:
    """The operators' page names exactly the metrics that there are; the process's own are there too."""
    (tmp_path / "ladder.toml").write_text("")
    with_ladder = settings(tmp_path, metrics="127.0.0.1:0", ladder=tmp_path / "ladder.toml")
    async with run_server(with_ladder) as server:
        assert server.metrics is not None
        names = {
            f"{family.name}_total" if family.type == "counter" else family.name
            for family in await families(server.metrics)
        }
    documented = re.findall(
        r"^\| `(happycity_\w+)`", OPERATIONS.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert sorted(documented) == sorted(name for name in names if name.startswith("happycity"))
    assert {"process_resident_memory_bytes", "python_gc_collections_total"} <= names


async def test_refusals_are_counted_by_reason(tmp_path: Path) -> None:
    """A refusal by the interceptor, a service or the play stream is counted once."""
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"format": "happycity-tokens/1", "tokens": []}')
    async with (
        run_server(settings(tmp_path, metrics="127.0.0.1:0", tokens=tokens)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        await called(channel, "/happycity.v1.PlayService/Play", bearer("hc_00000000_x"))
        assert server.metrics is not None
        samples = await counted(server.metrics, "unauthenticated")
    assert samples["happycity_refusals_total", "unauthenticated"] == 1
    async with (
        run_server(settings(tmp_path, metrics="127.0.0.1:0")) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        await called(channel, "/happycity.v1.PlayService/Play")
        await called(channel, "/happycity.v1.MatchService/GetMatch")
        assert server.metrics is not None
        await counted(server.metrics, "hello_expected")
        samples = await counted(server.metrics, "unknown_match")
    assert samples["happycity_refusals_total", "hello_expected"] == 1
    assert samples["happycity_refusals_total", "unknown_match"] == 1


async def test_failures_of_the_server_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that fails by an error of the server is INTERNAL, and counted as such."""

    def fail(*_: object) -> None:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(Store, "game", fail)
    async with (
        run_server(settings(tmp_path, metrics="127.0.0.1:0")) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        outcome = await called(channel, "/happycity.v1.MatchService/GetMatch")
        assert server.metrics is not None
        samples = await counted(server.metrics, "internal")
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.INTERNAL, "")
    assert samples["happycity_refusals_total", "internal"] == 1


async def test_metrics_are_off_by_default(tmp_path: Path) -> None:
    """There is no metrics port unless a setting names one."""
    async with run_server(settings(tmp_path)) as server:
        assert server.metrics is None


async def test_taken_port_is_refused(tmp_path: Path) -> None:
    """The error names the address, and the server does not start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(MetricsError, match=f"metrics: {address} can't be listened on: "):
            async with run_server(settings(tmp_path, metrics=address)):
                pass


async def test_unfinished_requests_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that doesn't come to its end is cut off after a while, and its thread ends."""
    monkeypatch.setattr(metrics_module, "REQUEST_SECONDS", 0.1)
    async with run_server(settings(tmp_path, metrics="127.0.0.1:0")) as server:
        assert server.metrics is not None
        host, _, port = server.metrics.partition(":")
        sockets = [socket.create_connection((host, int(port))) for _ in range(20)]
        for connection in sockets:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n")
        for connection in sockets:
            connection.settimeout(60)
            assert await asyncio.to_thread(connection.recv, 1) == b""
            connection.close()


async def test_scrapes_do_not_race_with_the_event_loop(tmp_path: Path) -> None:
    """Numbers are collected on the event loop: no scrape fails while bots come and go."""
    async with run_server(settings(tmp_path, metrics="127.0.0.1:0")) as server:
        assert server.metrics is not None
        loop = asyncio.get_running_loop()
        threads: set[int] = set()
        collect = ArenaMetrics.collect

        async def noted(metrics: ArenaMetrics) -> Sequence[Metric]:
            threads.add(threading.get_ident())
            assert asyncio.get_running_loop() is loop
            return await collect(metrics)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ArenaMetrics, "collect", noted)
            await asyncio.gather(*(scraped(server.metrics) for _ in range(8)))
    assert threads == {threading.get_ident()}
