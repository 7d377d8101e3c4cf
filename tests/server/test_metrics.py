"""Metrics as Prometheus sees them."""

import asyncio
import math
import re
import socket
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.server.conftest import playing
from tests.server.harness import (
    bearer,
    called,
    ended_match,
    issued_token,
    matches_at,
    serving,
    settings,
    terms,
)
from tests.waiting import LIMIT

from happycity_runtime.tokens import Role, read_tokens_file
from happycity_server import metrics as metrics_module
from happycity_server.app import RunningServer, run_server
from happycity_server.cli import backup
from happycity_server.errors import ListenError
from happycity_server.metrics import ArenaMetrics, UpkeepMetrics
from happycity_server.process.certificates import make_certificates
from happycity_tournament.storage.store import Store

DEPLOY = Path(__file__).parents[2] / "deploy"
Samples = dict[tuple[str, str], float]


@asynccontextmanager
async def measured(folder: Path, **values: Any) -> AsyncIterator[tuple[RunningServer, str, grpc.aio.Channel]]:
    """Run a server with metrics; yields it, the address of the metrics, and a channel."""
    async with serving(folder, metrics="127.0.0.1:0", **values) as (server, channel):
        assert server.metrics is not None
        yield server, server.metrics, channel


async def families(address: str) -> list[Metric]:
    def read() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=LIMIT) as response:
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
    async with measured(tmp_path) as (server, metrics, channel):
        before = await scraped(metrics)
        async with playing(server.address, "one", "two"):
            created = await matches_at(channel).CreateMatch(**terms("one", "two"))
            decisions = (await ended_match(matches_at(channel), created.match_id)).decisions
            after = await scraped(metrics)
    for name, number in {
        "matches_started_total": 1,
        "matches_finished_total": 1,
        "decisions_total": decisions,
        "streams_opened_total": 2,
        "store_commits_total": 1,
        "store_games_waiting": 0,
    }.items():
        assert before[f"happycity_{name}", ""] == 0
        assert after[f"happycity_{name}", ""] == number
    thought = after["happycity_think_seconds_count", ""]
    assert 0 < thought <= decisions
    assert after["happycity_think_seconds_bucket", "+Inf"] == thought
    assert after["happycity_bots", "connected"] == 2
    assert after["happycity_outbox_high_water_bytes", ""] > 0
    assert after["happycity_loop_lag_seconds_count", ""] > before["happycity_loop_lag_seconds_count", ""]


async def test_documented_metrics_are_there(tmp_path: Path) -> None:
    """The metrics that the alarms and the dashboard name are served."""
    (tmp_path / "ladder.toml").write_text("")
    async with measured(tmp_path, ladder=tmp_path / "ladder.toml") as (_, metrics, _channel):
        names = {
            f"{family.name}_total" if family.type == "counter" else family.name
            for family in await families(metrics)
        }
    names |= {"happycity_certificate_expiry_seconds", "happycity_token_expiry_seconds"}  # not on this server
    for file, count in (("alerts.yml", 10), ("grafana/happycity.json", 20)):
        documented = set(re.findall(r"\bhappycity_\w+", (DEPLOY / file).read_text("utf-8")))
        assert len(documented) >= count
        assert {name.removesuffix("_bucket") for name in documented} <= names
    assert {"process_resident_memory_bytes", "python_gc_collections_total"} <= names


async def test_refusals_are_counted_by_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal by interceptor, service or play stream counts once, and so does a failure of the server."""
    tokens = tmp_path / "tokens.json"
    tokens.write_text('{"format": "happycity-tokens/1", "tokens": []}')
    get_match, play_stream = "/happycity.v1.MatchService/GetMatch", "/happycity.v1.PlayService/Play"
    async with measured(tmp_path, tokens=tokens) as (_, metrics, channel):
        await called(channel, play_stream, bearer("hc_00000000_x"))
        samples = await counted(metrics, "unauthenticated")
    assert samples["happycity_refusals_total", "unauthenticated"] == 1

    def fail(*_: object) -> None:
        raise RuntimeError("unexpected")

    async with measured(tmp_path) as (_, metrics, channel):
        for path in (play_stream, get_match):
            await called(channel, path)
        monkeypatch.setattr(Store, "game", fail)
        outcome = await called(channel, get_match)
        assert (outcome.status, outcome.reason) == (grpc.StatusCode.INTERNAL, "")
        for reason in ("hello_expected", "unknown_match", "internal"):
            samples = await counted(metrics, reason)
            assert samples["happycity_refusals_total", reason] == 1


async def test_taken_port_is_refused(tmp_path: Path) -> None:
    """The error names the address, and the server does not start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ListenError, match=f"metrics: {address} can't be listened on: "):
            async with run_server(settings(tmp_path, metrics=address)):
                pass


async def test_unfinished_requests_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that doesn't come to its end is cut off after a while, and its thread ends."""
    monkeypatch.setattr(metrics_module, "REQUEST_SECONDS", 0.1)
    async with measured(tmp_path) as (_, metrics, _channel):
        host, _, port = metrics.partition(":")
        sockets = [socket.create_connection((host, int(port))) for _ in range(20)]
        for connection in sockets:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n")
        for connection in sockets:
            connection.settimeout(LIMIT)
            assert await asyncio.to_thread(connection.recv, 1) == b""
            connection.close()


async def test_scrapes_do_not_race_with_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are collected on the event loop: no scrape fails while bots come and go."""
    threads: set[int] = set()
    collect = ArenaMetrics.collected

    async def noted(metrics: ArenaMetrics) -> Sequence[Metric]:
        threads.add(threading.get_ident())
        return await collect(metrics)

    monkeypatch.setattr(ArenaMetrics, "collected", noted)
    async with measured(tmp_path) as (_, metrics, _channel):
        await asyncio.gather(*(scraped(metrics) for _ in range(8)))
    assert threads == {threading.get_ident()}


def test_tokens_are_read_again_only_when_they_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of thousands of tokens costs nothing at each scrape."""
    tokens, read = tmp_path / "tokens.json", []

    def counted(path: Path) -> Any:
        read.append(path)
        return read_tokens_file(path)

    monkeypatch.setattr("happycity_server.metrics.read_tokens_file", counted)
    upkeep = UpkeepMetrics(None, None, tokens, time.time)
    for number in (1, 2):
        issued_token(tokens, Role.BOT, f"bot{number}", hours=number)
        for _ in range(3):
            (left,) = (family.samples[0].value for family in upkeep.collect())
            assert 3500 < left < 3600
        assert len(read) == number


async def test_what_an_operator_looks_after_is_measured(tmp_path: Path) -> None:
    """Free disk, the age of the last backup, and when certificate and tokens expire; all have alarms."""
    tokens, certificate = tmp_path / "tokens.json", tmp_path / "cert.pem"
    _, own, _ = make_certificates(["127.0.0.1"], now=datetime.now(UTC), days=30)
    certificate.write_text(own)
    issued_token(tokens, Role.ORGANISER, "olga")
    issued_token(tokens, Role.BOT, "gone", hours=-1)
    now = time.time()
    upkeep = UpkeepMetrics(tmp_path / "games.sqlite", certificate, tokens, lambda: now)

    def measured_now() -> dict[str, float]:
        return {
            family.name.removeprefix("happycity_"): family.samples[0].value for family in upkeep.collect()
        }

    before = measured_now()
    assert before["disk_free_bytes"] > 0
    assert before["backup_age_seconds"] == before["token_expiry_seconds"] == math.inf
    assert before["certificate_expiry_seconds"] == pytest.approx(30 * 86400, abs=120)
    Store.create(f"sqlite:///{tmp_path}/games.sqlite").close()
    backup(tmp_path / "copy.sqlite", store=f"sqlite:///{tmp_path}/games.sqlite")
    issued_token(tokens, Role.BOT, "anna", hours=2)
    now = time.time() + 10
    after = measured_now()
    assert 9 < after["backup_age_seconds"] < 60
    assert 7000 < after["token_expiry_seconds"] < 7200
    for broken in (tokens, certificate):
        broken.write_text("?")
    assert measured_now().keys() == {"disk_free_bytes", "backup_age_seconds"}
    alerts = (DEPLOY / "alerts.yml").read_text()
    assert all(f"happycity_{name}" in alerts for name in before)
