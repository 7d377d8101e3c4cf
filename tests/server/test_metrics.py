"""Metrics as Prometheus sees them."""

from __future__ import annotations

import asyncio
import re
import socket
import urllib.request
from pathlib import Path

import grpc
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.server.conftest import PATIENCE, FirstMove
from tests.server.trust import bearer, called, settings

from happycity import Config
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire import config_message
from happycity_client import Settings, play_games
from happycity_server.app import running
from happycity_server.match_service import MatchService
from happycity_server.metrics import MetricsError

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
Samples = dict[tuple[str, str], float]


async def families(address: str) -> list[Metric]:
    """Read all metrics by HTTP."""

    def read() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    return list(text_string_to_metric_families(await asyncio.to_thread(read)))


async def scraped(address: str) -> Samples:
    """Read all samples, by name and the value of their label, if they have one."""
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in await families(address)
        for sample in family.samples
    }


async def counted(address: str, reason: str) -> Samples:
    """Return all samples once a refusal was counted, which may be after its caller has heard of it."""
    while ("happycity_refusals_total", reason) not in (samples := await scraped(address)):
        pass
    return samples


async def test_numbers_of_a_match_are_found(tmp_path: Path) -> None:
    """What two bots did in a match is counted: games, decisions, think times, streams, commits."""
    async with running(settings(tmp_path, metrics="127.0.0.1:0")) as arena:
        assert arena.metrics is not None
        before = await scraped(arena.metrics)
        bots = [
            asyncio.create_task(play_games(FirstMove, Settings(name=name, server=arena.address)))
            for name in ("one", "two")
        ]
        async with grpc.aio.insecure_channel(arena.address) as channel:
            request = pb.CreateMatchRequest(config=config_message(Config(players=2)), bots=["one", "two"])
            created = await MatchServiceStub(channel).CreateMatch(request)
            watching = MatchServiceStub(channel).WatchMatch(
                pb.WatchMatchRequest(match_id=created.match.match_id)
            )
            decisions = [step.decisions async for step in watching][-1]
        after = await scraped(arena.metrics)
        for bot in bots:
            bot.cancel()
        await asyncio.gather(*bots, return_exceptions=True)
    assert before["happycity_matches_finished_total", ""] == 0
    assert before["happycity_think_seconds_count", ""] == 0
    assert after["happycity_matches_started_total", ""] == 1
    assert after["happycity_matches_finished_total", ""] == 1
    assert after["happycity_decisions_total", ""] == decisions
    assert 0 < after["happycity_think_seconds_count", ""] <= decisions
    assert after["happycity_think_seconds_bucket", "+Inf"] == after["happycity_think_seconds_count", ""]
    assert after["happycity_bots", "connected"] == 2
    assert after["happycity_streams_opened_total", ""] == 2
    assert after["happycity_store_commits_total", ""] == 1
    assert after["happycity_store_games_waiting", ""] == 0
    assert after["happycity_outbox_high_water_bytes", ""] > 0


async def test_every_metric_is_documented(tmp_path: Path) -> None:
    """The operators' page names exactly the metrics that there are; the process's own are there too."""
    async with running(settings(tmp_path, metrics="127.0.0.1:0")) as arena:
        assert arena.metrics is not None
        names = {
            f"{family.name}_total" if family.type == "counter" else family.name
            for family in await families(arena.metrics)
        }
    told = re.findall(r"^\| `(happycity_\w+)`", OPERATIONS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(told) == sorted(name for name in names if name.startswith("happycity"))
    assert {"process_resident_memory_bytes", "python_gc_collections_total"} <= names


async def test_refusals_are_counted_by_reason(tmp_path: Path) -> None:
    """Whoever refuses, the interceptor, a service or the play stream, it is counted once."""
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"format": "happycity-tokens/1", "tokens": []}')
    async with (
        running(settings(tmp_path, metrics="127.0.0.1:0", tokens=tokens)) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        await called(channel, "/happycity.v1.PlayService/Play", bearer("hc_00000000_x"))
        assert arena.metrics is not None
        samples = await counted(arena.metrics, "unauthenticated")
    assert samples["happycity_refusals_total", "unauthenticated"] == 1
    async with (
        running(settings(tmp_path, metrics="127.0.0.1:0")) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        await called(channel, "/happycity.v1.PlayService/Play")
        await called(channel, "/happycity.v1.MatchService/GetMatch")
        assert arena.metrics is not None
        await counted(arena.metrics, "hello_expected")
        samples = await counted(arena.metrics, "unknown_match")
    assert samples["happycity_refusals_total", "hello_expected"] == 1
    assert samples["happycity_refusals_total", "unknown_match"] == 1


async def test_failures_of_the_server_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that fails for no reason of its own is one for the operator."""

    def fail(*_: object) -> None:
        raise RuntimeError("that was not expected")

    monkeypatch.setattr(MatchService, "_stored", fail)
    async with (
        running(settings(tmp_path, metrics="127.0.0.1:0")) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        outcome = await called(channel, "/happycity.v1.MatchService/GetMatch")
        assert arena.metrics is not None
        samples = await counted(arena.metrics, "internal")
    assert (outcome.status, outcome.reason) == (grpc.StatusCode.INTERNAL, "")
    assert samples["happycity_refusals_total", "internal"] == 1


async def test_metrics_are_off_by_default(tmp_path: Path) -> None:
    """Nobody is listened to unless that was asked for."""
    async with running(settings(tmp_path)) as arena:
        assert arena.metrics is None


async def test_port_that_is_taken_costs_one_line(tmp_path: Path) -> None:
    """The address is told, and the server does not start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(MetricsError, match=f"metrics: {address} can't be listened on: "):
            async with running(settings(tmp_path, metrics=address)):
                pass
