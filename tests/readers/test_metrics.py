"""Prometheus' own parsers read the metrics, and its linter finds nothing to improve."""

from pathlib import Path

import httpx
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from tests.readers.conftest import read_by, tool
from tests.server.conftest import playing
from tests.server.harness import ended_match, matches_at, serving, terms
from tests.waiting import LIMIT

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


async def test_prometheus_reads_the_metrics(tmp_path: Path) -> None:
    """As text and as OpenMetrics, after a match; each family has a description."""
    async with (
        serving(tmp_path, metrics="127.0.0.1:0") as (server, channel),
        playing(server.address, "one", "two"),
        httpx.AsyncClient(timeout=LIMIT, base_url=f"http://{server.metrics}") as client,
    ):
        created = await matches_at(channel).CreateMatch(**terms("one", "two"))
        await ended_match(matches_at(channel), created.match_id)
        text = (await client.get("/metrics", headers={"accept": "text/plain"})).text
        newer = await client.get("/metrics", headers={"accept": OPENMETRICS})
    plain = {family.name: family for family in text_string_to_metric_families(text)}
    assert len(plain) >= 40
    assert [name for name, family in plain.items() if not family.documentation] == []
    assert newer.headers["content-type"].startswith("application/openmetrics-text")
    parsed = openmetrics.text_string_to_metric_families(newer.text)  # type: ignore[no-untyped-call]
    assert len(list(parsed)) == len(plain)


async def test_promtool_finds_nothing(tmp_path: Path) -> None:
    promtool = tool("promtool", "prometheus")
    async with (
        serving(tmp_path, metrics="127.0.0.1:0") as (server, _),
        httpx.AsyncClient(timeout=LIMIT, base_url=f"http://{server.metrics}") as client,
    ):
        text = (await client.get("/metrics")).text
    assert read_by(promtool, "check", "metrics", text=text) == ""
