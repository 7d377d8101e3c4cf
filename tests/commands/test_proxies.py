"""Commands where the environment names a proxy, as in firms and universities."""

import asyncio
import re
from pathlib import Path

import pytest
from tests.commands.programs import happycity, tournament
from tests.programs import run
from tests.proxies import CountingProxy, proxy
from tests.tournament.servers import arena
from tests.waiting import PATIENT

from happycity_client import Settings
from happycity_llm.endpoint import Budget, Endpoint, ModelError
from happycity_mcp.arena import connected_bots
from happycity_runtime.transport import Target, proxy_for, uses_proxy

__all__ = ["proxy"]  # a fixture

ROOT = Path(__file__).parents[2]
_PRODUCT = ("game", "runtime", "server", "tournament", "web", "viewer", "ladder", "clients")
_SOURCES = {".py", ".go", ".ts", ".cpp", ".h", ".rs", ".java", ".in"}
_GENERATED = {"node_modules", "target", "build", "dist", "tests", "v1.rs", "bin"}
_COMMANDS = (
    "happycity status {grpc}",
    "happycity status --health {grpc}",
    "happycity status --json {grpc}",
    "tournament list --server {grpc}",
    "tournament games --server {grpc} 1",
    "tournament show {grpc}#1",
    "happycity submit --server {grpc} --list",
    "happycity join {grpc}/join/hci_1_x --bot ann",
    "happycity invite list --server {grpc}",
)


@pytest.mark.parametrize("unencrypted", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_no_command_reaches_a_server_here_by_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: CountingProxy, unencrypted: str
) -> None:
    """Whatever a server answers, it is the server that answers: the proxy sees no connection."""
    monkeypatch.chdir(tmp_path)
    with arena(tmp_path, {}, web="127.0.0.1:0") as opened:
        address = f"grpc://{unencrypted}:{opened.address.rpartition(':')[2]}"
        commands = _COMMANDS if unencrypted == "127.0.0.1" else _COMMANDS[:1]
        for command in commands:
            name, *arguments = command.format(grpc=address, web=opened.web).split()
            done = (happycity if name == "happycity" else tournament)(*arguments)
            for failure in ("can't be reached", "no answer", "nothing listens", "proxy"):
                assert failure not in done.errors, (command, done)
        opened.call(connected_bots(Settings(server=address)))
    assert proxy.requests == []


@pytest.mark.level(1)
async def test_http_clients_reach_this_machine_without_a_proxy(proxy: CountingProxy) -> None:
    """A model that is served here, in clear; one elsewhere by TLS is asked through the proxy."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    def endpoint(url: str) -> Endpoint:
        return Endpoint(model="m", base_url=url, api_key="", max_tokens=5, budget=Budget())

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        here = endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        with pytest.raises(ModelError):
            await here.ask([], None)
        await here.close()
    assert proxy.requests == []


@pytest.mark.level(0)
@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://models.example/v1", True),
        ("https://models.example:8443/v1", True),
        ("http://models.example/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("https://127.0.0.1:8000/v1", False),
        ("https://localhost/v1", False),
        ("https://LOCALHOST:1/v1", False),
        ("https://[::1]:8000/v1", False),
        ("https://[::ffff:127.0.0.1]:8000/v1", False),
        ("https://within.example/v1", False),
        ("noise", False),
    ],
)
def test_proxy_of_a_url(monkeypatch: pytest.MonkeyPatch, url: str, wanted: bool) -> None:  # noqa: FBT001
    """Only TLS to another machine may go through one; `no_proxy` and SOCKS are respected."""
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "proxy.example:3128")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "within.example")
    assert proxy_for(url) == ("http://proxy.example:3128" if wanted else None)
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "socks5://proxy.example:1080")
    assert proxy_for(url) is None


@pytest.mark.level(0)
@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("grpcs://arena.example:443", True),
        ("grpcs://203.0.113.7:443", True),
        ("grpc://arena.example:50051", False),
        ("arena.example:50051", False),
        ("unix:/run/arena.sock", False),
        *((f"grpcs://{host}:1", False) for host in ("127.0.0.1", "127.9.9.9", "localhost", "LocalHost")),
        *((f"grpcs://{host}:1", False) for host in ("[::1]", "[::ffff:127.0.0.1]")),
    ],
)
def test_proxies_are_for_encrypted_connections_to_other_machines(address: str, wanted: bool) -> None:  # noqa: FBT001
    assert uses_proxy(Target.parse(address)) is wanted


@pytest.mark.level(1)
@pytest.mark.parametrize("variable", ["grpc_proxy", "https_proxy", "http_proxy"])
def test_a_proxy_in_the_way_is_named(
    monkeypatch: pytest.MonkeyPatch, proxy: CountingProxy, variable: str
) -> None:
    """By the variable that gRPC takes first, without the proxy's password."""
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        if name != variable:
            monkeypatch.delenv(name)
    done = happycity("status", "grpcs://arena.invalid:443")
    assert done.status == 2
    assert (
        f"the connection goes through the proxy of the variable {variable}, unless no_proxy has"
        in done.errors
    )
    assert "geheim" not in done.errors
    assert done.errors.count("\n") == 1
    assert proxy.requests[:1] == ["CONNECT arena.invalid:443 HTTP/1.1"]
    monkeypatch.setenv("no_proxy", "other.example, arena.invalid")
    assert "proxy" not in happycity("status", "grpcs://arena.invalid:443").errors


def test_a_whole_run_makes_no_connection_to_a_proxy(tmp_path: Path, proxy: CountingProxy) -> None:
    """Server, bots and runner: the first command of the README."""
    arguments = ("run", "--rounds", "1", "--seats", "2", "--bots", "random,greedy", "--no-web", *PATIENT)
    done = run(*arguments, module="happycity_tournament", cwd=tmp_path)
    assert done.returncode == 0, done
    assert proxy.requests == []


@pytest.mark.level(1)
@pytest.mark.parametrize(
    ("folder", "pattern", "allowed"),
    [
        (".", r"grpc\.(aio\.)?(in)?secure_channel\(", {"runtime/happycity_runtime/transport.py": 2}),
        ("clients", r"grpc\.(NewClient|Dial|DialContext)\(", {"clients/go/settings.go": 1}),
        ("clients", r"new grpc\.Client\(", {"clients/typescript/src/session.ts": 1}),
        ("clients", r"Create(Custom)?Channel\(", {"clients/cpp/src/session.cpp": 1}),
        (
            "clients",
            r"Endpoint::(from_shared|from_static|try_from|new)\(",
            {"clients/rust/src/settings.rs": 1},
        ),
        (
            "clients",
            r"(Grpc\.newChannelBuilder\(address|ManagedChannelBuilder\.for|ChannelBuilder\.for)",
            {"clients/java/happycity/src/main/java/dev/happycity/Server.java": 1},
        ),
        (".", r"urlopen\(|httpx2?\.(get|post|request)\(|\brequests\.post\(|aiohttp\.ClientSession", {}),
        (".", r"AsyncClient\(|AsyncOpenAI\(", {"clients/llm/happycity_llm/endpoint.py": 2}),
    ],
)
def test_channels_are_made_in_one_place(folder: str, pattern: str, allowed: dict[str, int]) -> None:
    """Else what one client has learned of proxies and keepalive is unknown to the next."""
    found: dict[str, int] = {}
    for path in sorted(path for top in _PRODUCT for path in (ROOT / top).rglob("*.*")):
        name = path.relative_to(ROOT)
        if path.suffix not in _SOURCES or _GENERATED & set(name.parts) or not name.is_relative_to(folder):
            continue
        if count := len(re.findall(pattern, path.read_text(encoding="utf-8"))):
            found[str(name)] = count
    assert found == allowed
