"""The floods of strangers through a reverse proxy: limits count them as if there were none."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from tests.mcp.clients import settings_at
from tests.readers.nginx import before
from tests.server import harness as h
from tests.server.conftest import playing
from tests.waiting import LIMIT
from tests.web.floods import RUSH, answered_before_a_visitor, flood, upgrade
from tests.web.sockets import close_code, socket_of

from happycity_mcp import agents as agents_module
from happycity_mcp.server import HttpSettings, serving_http
from happycity_server.access import gate as gate_module
from happycity_web import serve

TRUSTED: dict[str, Any] = {"web": "127.0.0.1:0", "web_name": "localhost", "trusted_proxy": "127.0.0.1"}
GET_MATCH = "/happycity.v1.MatchService/GetMatch"
JOIN = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "join", "arguments": {}}}
ACCEPT = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


def client_at(url: str, source: str) -> httpx.AsyncClient:
    """Return a client that calls from an address of this machine."""
    transport = httpx.AsyncHTTPTransport(local_address=source)
    return httpx.AsyncClient(timeout=LIMIT, base_url=url, transport=transport)


async def test_pages_count_by_visitor(tmp_path: Path) -> None:
    """Whatever a visitor writes into the header itself."""
    async with h.serving(tmp_path, **TRUSTED, calls_per_second=0.001, calls_burst=3) as (server, _):
        assert server.web is not None
        with before(tmp_path, web=server.web, listen=server.address) as proxy:
            for source in ("127.0.0.2", "127.0.0.3"):
                async with client_at(proxy.url, source) as visitor:
                    statuses = [
                        (await visitor.get(path, headers={"X-Forwarded-For": f"6.6.6.{number}"})).status_code
                        for number, path in enumerate(("/", "/static/icon.svg", "/nothing", "/", "/"))
                    ]
                assert statuses == [200, 200, 404, 429, 429]


async def test_a_visitor_waits_for_no_other_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One asks for hundreds of pages at once; the answer of another one comes among the first."""
    monkeypatch.setattr(gate_module, "TURN_SECONDS", 0.01)
    async with h.serving(tmp_path, **TRUSTED) as (server, _):
        assert server.web is not None
        with before(tmp_path, web=server.web, listen=server.address) as proxy:
            static, page = await asyncio.to_thread(answered_before_a_visitor, proxy.url)
    assert static <= page < RUSH / 2


async def test_sockets_are_cut_off_and_shared(tmp_path: Path, frames: asyncio.Queue[int]) -> None:
    """By their frames, by their number for each visitor, and where the visitor has most of all."""
    async with h.serving(tmp_path, **TRUSTED, web_viewers=3, streams_per_peer=2) as (server, _):
        assert server.web is not None
        with before(tmp_path, web=server.web, listen=server.address) as proxy:
            await asyncio.to_thread(flood, proxy.url, upgrade(), b"\x89\x80\0\0\0\0")
            async with asyncio.timeout(LIMIT):
                assert await frames.get() <= serve.FRAMES_AT_ONCE

            def opened(source: str) -> Any:
                return socket_of(proxy.url, local_addr=(source, 0))

            async with (
                opened("127.0.0.2") as oldest,
                opened("127.0.0.2") as old,
                opened("127.0.0.3") as other,
            ):
                for page in (oldest, old, other):
                    assert await page.recv()
                async with opened("127.0.0.2") as more:
                    assert await close_code(more) == 4429
                async with opened("127.0.0.4") as newcomer:
                    assert await newcomer.recv()
                    assert await close_code(oldest) == 4429


async def test_bots_play_through_it_and_count_by_client(tmp_path: Path) -> None:
    async with h.serving(tmp_path, **TRUSTED) as (server, _):
        assert server.web is not None
        with before(tmp_path, web=server.web, listen=server.address) as proxy:
            async with (
                playing(proxy.address, "anna", "ben", games=0),
                grpc.aio.insecure_channel(proxy.address) as channel,
            ):
                created = await h.matches_at(channel).CreateMatch(**h.terms("anna", "ben"))
                await h.ended_match(h.matches_at(channel), created.match_id)
    (tmp_path / "limited").mkdir()
    async with h.serving(tmp_path / "limited", **TRUSTED, calls_per_second=0.001, calls_burst=1) as (
        server,
        _,
    ):
        assert server.web is not None
        with before(tmp_path, web=server.web, listen=server.address) as proxy:
            async with grpc.aio.insecure_channel(proxy.address) as channel:
                # The client is on the machine of the proxy, so it is believed as one more proxy.
                asked = [
                    (await h.called(channel, GET_MATCH, (("x-forwarded-for", client),))).reason
                    for client in ("2001:db8::1", "2001:db8::2", "7.7.7.7")
                ]
    assert asked == ["UNKNOWN_MATCH", "RATE_LIMITED", "UNKNOWN_MATCH"]


async def test_agents_of_one_address_leave_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents_module, "MAX_AGENTS", 3)
    http = HttpSettings(address="127.0.0.1:0", trusted_proxies="127.0.0.1", allowed_hosts=("localhost",))
    async with (
        h.serving(tmp_path, **TRUSTED) as (server, channel),
        serving_http(settings_at(server.address), http) as url,
    ):
        assert server.web is not None
        agents = url.removesuffix("/mcp")
        with before(tmp_path, web=server.web, listen=server.address, mcp=agents) as proxy:

            async def join(source: str, name: str) -> str:
                params = {"name": "join", "arguments": {"name": name}}
                async with client_at(proxy.url, source) as client:
                    return (await client.post("/mcp", json=JOIN | {"params": params}, headers=ACCEPT)).text

            for number in range(3):
                assert "You are connected" in await join("127.0.0.2", f"greedy{number}")
            assert "3 agents play here already" in await join("127.0.0.2", "greedy3")
            assert "You are connected" in await join("127.0.0.3", "ann")
            listed = await h.Service(channel, "happycity.v1.BotService").ListBots()
    assert [bot.name for bot in listed.bots if bot.connected] == ["ann", "greedy1", "greedy2"]
