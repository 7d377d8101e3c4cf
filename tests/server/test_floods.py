"""What strangers without a token can do with bare connections: little, and only for a short time."""

import resource
import socket
import struct
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc
import pytest
from tests.server.harness import bearer, issued_token
from tests.server.server_process import ServerProcess, gateway_process, server_process
from tests.waiting import LIMIT

from happycity.v1.match_service_pb2 import ListMatchesRequest
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity_runtime.tokens import Role

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")

MAX_MEGABYTES = 255.0
_HEADERS, _RESET, _SETTINGS = 1, 3, 4
_END_HEADERS = 4
_CANCEL = struct.pack(">I", 8)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2 (RFC 9113, section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def header_block(path: str) -> bytes:
    """Return the headers of a call, as literals without indexing (RFC 7541, section 6.2.2)."""
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "arena",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return b"".join(
        b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value for name, value in pairs
    )


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(_SETTINGS, 0, 0)


@pytest.fixture
def token(tmp_path: Path) -> str:
    """Return the only token of the server. Calls are limited by token, or else by address."""
    return issued_token(tmp_path / "tokens.json", Role.OBSERVER, "olga")


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.nightly)], ids=["direct", "by gateway"])
def server(tmp_path: Path, token: str, request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    """Yield a server, or a gateway before it, which strangers reach instead."""
    with server_process(tmp_path, "--tokens", f"{tmp_path}/tokens.json") as process:
        if not request.param:
            yield process
            return
        gate = issued_token(tmp_path / "tokens.json", Role.GATEWAY, "gate")
        with gateway_process(process, token=gate) as gateway:
            yield gateway


def newcomer_is_served(server: ServerProcess, token: str = "") -> None:
    """Call a method over a new connection."""
    metadata = bearer(token) if token else ()
    with grpc.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        request = ListMatchesRequest()
        MatchServiceStub(channel).ListMatches(request, metadata=metadata, timeout=LIMIT, wait_for_ready=True)


def connect(server: ServerProcess) -> socket.socket:
    host, _, port = server.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=LIMIT)


def send_calls(server: ServerProcess, calls: int, *, reset: bool) -> None:
    """Begin calls whose message never comes, over as many connections as the server makes necessary."""
    block = header_block("/happycity.v1.MatchService/ListMatches")
    sent = 0
    while sent < calls:
        # The server may end a connection at any time.
        with connect(server) as connection, suppress(OSError):
            reader = threading.Thread(target=read_all, args=(connection,))
            reader.start()
            connection.sendall(PREFACE)
            for first in range(1, 2 * (calls - sent), 200):
                streams = range(first, first + 200, 2)
                frames = b"".join(
                    frame(_HEADERS, _END_HEADERS, stream, block)
                    + (frame(_RESET, 0, stream, _CANCEL) if reset else b"")
                    for stream in streams
                )
                connection.sendall(frames)
                sent += len(streams)
            connection.shutdown(socket.SHUT_RDWR)
            reader.join()


def read_all(connection: socket.socket) -> None:
    with suppress(OSError):
        while connection.recv(65_536):
            pass


@pytest.mark.level(3)
@pytest.mark.parametrize(
    "reset",
    [
        pytest.param(True, id="resets", marks=pytest.mark.level(2)),
        pytest.param(False, id="headers without a message"),
    ],
)
def test_calls_without_a_message_cost_little(
    server: ServerProcess, token: str, request: pytest.FixtureRequest, *, reset: bool
) -> None:
    """Memory stays bounded however many calls are begun; newcomers who call the same are served meanwhile."""
    calls = 100_000
    with ThreadPoolExecutor(4) as pool:
        flood = [pool.submit(send_calls, server, calls, reset=reset) for _ in range(4)]
        most = 0.0
        while not all(future.done() for future in flood):
            newcomer_is_served(server, token)
            most = max(most, server.megabytes())
        for future in flood:
            future.result()
    assert most < MAX_MEGABYTES


@pytest.mark.level(2)
@pytest.mark.parametrize("greeting", [b"", PREFACE], ids=["silent", "without a call"])
def test_idle_connections_shut_nobody_out(tmp_path: Path, greeting: bytes) -> None:
    """A server allows itself more connections than the usual soft limit, and each one costs little."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 2000
    if hard < 2 * count:
        pytest.skip(f"this machine allows {hard} open files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))  # inherited by the server
    try:
        with ExitStack() as stack:
            server = stack.enter_context(server_process(tmp_path, "--open"))
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            for _ in range(count):
                stack.enter_context(connect(server)).sendall(greeting)
            newcomer_is_served(server)
            assert server.megabytes() < MAX_MEGABYTES
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.level(2)
@pytest.mark.parametrize("greeting", [b"", PREFACE], ids=["silent", "without a call"])
def test_idle_connections_are_closed(server: ServerProcess, greeting: bytes) -> None:
    """A connection that makes no handshake, or no call, ends after a while: 10 s and 30 s."""
    with connect(server) as connection:
        connection.sendall(greeting)
        read_all(connection)  # returns at the end; the time-out of the socket would be an error
        connection.settimeout(LIMIT)
        assert connection.recv(1) == b""
