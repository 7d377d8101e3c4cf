"""The MCP server as agents' programs reach it: over the standard streams and over HTTP."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from tests.mcp.clients import Player, joined, settings_at, stdio
from tests.server.harness import PATIENT, serving
from tests.waiting import LIMIT

from happycity import Config, ConfigError
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.messages import config_message
from happycity_mcp import server as server_module
from happycity_mcp.cli import mcp
from happycity_mcp.server import HttpSettings, serving_http
from happycity_runtime import http as http_module

CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
"""The first request of a client of an older version of MCP."""


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with serving(tmp_path) as (server, _):
        yield server.address


@asynccontextmanager
async def connected(address: str, transport: str) -> AsyncIterator[Client]:
    """Yield a client of an MCP server for an arena; `transport` may name an older version of MCP."""
    if transport == "stdio":
        async with stdio(address) as client:
            yield client
        return
    mode = "legacy" if transport == "older http" else "auto"
    async with (
        serving_http(settings_at(address), HttpSettings(address="127.0.0.1:0")) as url,
        Client(url, mode=mode) as client,
    ):
        yield client


@pytest.mark.level(2)
@pytest.mark.parametrize(("transport", "mode"), [("stdio", "expert"), ("older http", "family")])
async def test_a_client_plays_a_whole_game(address: str, transport: str, mode: str) -> None:
    """By the tools alone, in both seats, each move is played as it was listed."""
    async with connected(address, transport) as client:
        ann = await joined(client, "ann")
        results = await ann.play_to_end(await ann.call("practice", against=["ann"], mode=mode), move=-1)
        if len(results) == 1:  # the other seat's end may come a moment later
            results += (await ann.call("wait_for_turn", timeout=50))["results"]
        assert {result["ending"] for result in results} == {"finished"}
        assert {result["place"] for result in results} <= {1, 2}
        await ann.call("leave")


@pytest.mark.level(2)
async def test_two_agents_play_at_one_table(address: str) -> None:
    async with (
        serving_http(settings_at(address), HttpSettings(address="127.0.0.1:0")) as url,
        Client(url) as first,
        Client(url) as second,
    ):
        ann, ben = await joined(first, "ann"), await joined(second, "ben")
        async with settings_at(address)("").access.channel(address) as channel:
            stub: Any = MatchServiceStub(channel)
            config = config_message(Config(players=2))
            await stub.CreateMatch(
                pb.CreateMatchRequest(config=config, bots=["ann", "ben"], time_control=PATIENT)
            )

        async def play(player: Player) -> list[dict[str, Any]]:
            return await player.play_to_end(await player.call("wait_for_turn", timeout=50), move=-1)

        results = await asyncio.gather(play(ann), play(ben))
        assert [result["ending"] for (result,) in results] == ["finished", "finished"]
        assert all("You are seat 1 of 2" in text for text in ann.texts if "Your turn" in text)
        assert all("You are seat 2 of 2" in text for text in ben.texts if "Your turn" in text)


async def test_a_client_that_is_cut_off_goes_on_with_its_key(address: str) -> None:
    """The bot stays connected over HTTP: another connection plays on at the same decision."""
    async with serving_http(settings_at(address), HttpSettings(address="127.0.0.1:0")) as url:
        async with Client(url) as first:
            ann = await joined(first, "ann")
            turn = await ann.call("practice", against=["ann"])
        async with Client(url) as second:
            again = Player(second, "ann", ann.key)
            assert (await again.call("wait_for_turn"))["decision_id"] == turn["decision_id"]
            assert (await again.play(turn))["decision_id"] == turn["decision_id"] + 1


@pytest.mark.level(2)
async def test_an_agents_program_that_ends_takes_its_bot_along(address: str) -> None:
    """When the standard input ends, the game is forfeited and the process ends by itself."""
    async with stdio(address) as client:
        ann = await joined(client, "ann")
        await ann.call("practice", against=["ann"])
    async with connected(address, "http") as other:
        ben = await joined(other, "ben")
        lobby = await ben.call("lobby")
    assert [bot["name"] for bot in lobby["bots"] if bot["connected"]] == ["ben"]


@pytest.mark.level(2)
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command(stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "happycity", "mcp"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "happycity"
        process.send_signal(stop)
        assert process.wait(LIMIT) == 0


@pytest.mark.parametrize(
    ("headers", "token", "status"),
    [
        ({"Host": "evil.example"}, "", 421),
        ({"Origin": "http://evil.example"}, "", 403),
        ({"Origin": "http://localhost:3000"}, "", 400),
        ({"Host": "arena.example.org"}, "", 400),
        ({}, "secret", 401),
        ({"Authorization": "Bearer guessed"}, "secret", 401),
        ({"Authorization": "Bearer secret"}, "secret", 400),
    ],
)
async def test_only_those_who_may_are_served(headers: dict[str, str], token: str, status: int) -> None:
    """Pages of other sites and callers without the token get nothing; 400 is a request without content."""
    http = HttpSettings(address="127.0.0.1:0", token=token, allowed_hosts=("arena.example.org",))
    async with serving_http(settings_at(""), http) as url, httpx.AsyncClient(timeout=LIMIT) as client:
        response = await client.post(
            url, json={}, headers={"Accept": "application/json, text/event-stream", **headers}
        )
        assert response.status_code == status


async def test_each_address_has_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it calls, also with a wrong token; a proxy's clients are counted apart."""
    monkeypatch.setattr(server_module, "CALLS_PER_SECOND", 0.5)
    monkeypatch.setattr(server_module, "CALLS_AT_ONCE", 3)
    http = HttpSettings(address="127.0.0.1:0", token="secret", trusted_proxies="127.0.0.1")
    async with serving_http(settings_at(""), http) as url, httpx.AsyncClient(timeout=LIMIT) as client:

        async def post(address: str) -> httpx.Response:
            return await client.post(url, json={}, headers={"X-Forwarded-For": address})

        answers = [await post("192.0.2.1") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
        assert int(answers[-1].headers["Retry-After"]) == 2
        assert (await post("192.0.2.2")).status_code == 401


async def test_a_huge_request_is_refused() -> None:
    async with (
        serving_http(settings_at(""), HttpSettings(address="127.0.0.1:0")) as url,
        httpx.AsyncClient(timeout=LIMIT) as client,
    ):
        assert (await client.post(url, content=b"x" * 100_000)).status_code == 413


async def test_idle_connections_of_a_stranger_shut_no_agent_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the token; beyond their number they get 503, and they are closed after a time."""
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 20)
    monkeypatch.setattr(http_module, "REQUEST_SECONDS", 3.0)
    address, http = "127.0.0.1:0", HttpSettings(address="127.0.0.1:0", token="secret")
    async with serving_http(settings_at(""), http) as url:
        address = url.removeprefix("http://").removesuffix("/mcp")
        host, _, port = address.rpartition(":")
        strangers = [await asyncio.open_connection(host, int(port)) for _ in range(300)]
        for _, writer in strangers[:20]:
            writer.write(b"POST /mcp HTTP/1.1\r\nX: ")
        ends = [(await reader.read()).split(b"\r\n")[0] for reader, _ in strangers]
        assert ends == [b"HTTP/1.1 408 Request Timeout"] * 20 + [b"HTTP/1.1 503 Service Unavailable"] * 280
        async with httpx.AsyncClient(timeout=LIMIT, headers={"Authorization": "Bearer secret"}) as client:
            accepted = {"Accept": "application/json, text/event-stream"}
            assert (await client.post(url, json={}, headers=accepted)).status_code == 400
        for _, writer in strangers:
            writer.close()


@pytest.mark.level(2)
async def test_nothing_is_kept_for_clients_that_only_initialize(address: str) -> None:
    """However often a client of an older version of MCP begins again, the next one gets in."""
    async with (
        serving_http(settings_at(address), HttpSettings(address="127.0.0.1:0")) as url,
        httpx.AsyncClient(timeout=LIMIT) as client,
    ):
        for _ in range(200):
            response = await client.post(
                url, json=HELLO, headers={"Accept": "application/json, text/event-stream"}
            )
            assert response.status_code == 200


def test_bad_settings_are_refused_at_the_start() -> None:
    # Without a token only this machine is served.
    for address, problem in [
        ("0.0.0.0:8000", "needs a token: put one into HAPPYCITY_MCP_TOKEN"),
        ("arena.example.org:8000", "needs a token"),
        ("8000", "'8000' is not host:port"),
        ("127.0.0.1:http", "is not host:port"),
    ]:
        with pytest.raises(ConfigError, match=problem):
            HttpSettings(address=address).check()

    # Not when an agent joins.
    cases: list[tuple[dict[str, Any], str]] = [
        ({"http": "8000"}, "--http: '8000' is not host:port"),
        ({"allow_host": ["x"]}, "--allow-host: it has no effect without --http"),
        ({"trusted_proxy": "::1"}, "--trusted-proxy: it has no effect without --http"),
        ({"http": "127.0.0.1:0", "trusted_proxy": "nginx"}, "--trusted-proxy: 'nginx' does not appear to be"),
        ({"name": "a b"}, "bot name 'a b': use 1-64 of a-z, A-Z, 0-9 and . _ - +"),
        ({"server": "http://arena:1"}, "HAPPYCITY_SERVER: 'http://arena:1' is not an address"),
    ]
    for options, problem in cases:
        with pytest.raises(ConfigError) as caught:
            mcp(**options)
        assert str(caught.value).startswith(problem)
