"""Floods of strangers over bare connections, and how long they hold the event loop."""

import asyncio
import base64
import select
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from tests.waiting import LIMIT

READ_BYTES = 128 * 1024
"""Not more than the event loop reads at once."""
RUSH = 100
"""Pages that one address asks for at once."""


class LongestCallback:
    """The longest time, in CPU seconds, that the event loop was in one of its turns."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0
        self._is_over = False

    def begin(self) -> None:
        self._since = time.thread_time()
        asyncio.get_running_loop().call_soon(self._tick)

    def end(self) -> None:
        self._is_over = True

    def _tick(self) -> None:
        self.seconds = max(self.seconds, time.thread_time() - self._since)
        if not self._is_over:
            self.begin()


@asynccontextmanager
async def longest_callback() -> AsyncIterator[LongestCallback]:
    """Measure while the context lasts."""
    measured = LongestCallback()
    measured.begin()
    try:
        yield measured
    finally:
        measured.end()


def connection(url: str, source: str = "127.0.0.1") -> socket.socket:
    """Connect to the pages at a URL, from an address of this machine."""
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    return socket.create_connection((address.hostname, address.port), LIMIT, (source, 0))


def upgrade(path: str = "/", **headers: str) -> bytes:
    """Return the request for a WebSocket."""
    key = base64.b64encode(bytes(16)).decode()
    lines = {
        "Host": "localhost",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()


def flood(url: str, begin: bytes, unit: bytes, *, reads_answer: bool = True) -> bytes:
    """Send a request, and then as many units as a server reads at once; return its answer to the end."""
    answer = b""
    with connection(url) as sending, suppress(OSError):
        sending.sendall(begin)
        if reads_answer:
            while b"\r\n\r\n" not in answer:
                answer += sending.recv(65536)
        sending.sendall(unit * (READ_BYTES // len(unit)))
        sending.shutdown(socket.SHUT_WR)
        while part := sending.recv(65536):
            answer += part
    return answer


async def least(times: int, measure: Callable[[], object]) -> float:
    """Return the least of the longest callbacks while something goes on in a thread, several times."""
    longest = []
    for _ in range(times):
        async with longest_callback() as measured:
            await asyncio.to_thread(measure)
        longest.append(measured.seconds)
    return min(longest)


def ask(url: str, path: str, source: str, *, times: int = 1) -> list[socket.socket]:
    """Ask for a page over as many connections; return them without reading what comes."""
    asking = []
    for _ in range(times):
        asking.append(connection(url, source))
        asking[-1].sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return asking


def answered(asking: list[socket.socket]) -> int:
    """Return how many of some requests have an answer by now."""
    return len(select.select(asking, [], [], 0)[0])


def answered_before_a_visitor(url: str) -> list[int]:
    """Let an address ask for many pages at once; return how many it got before another one had its own.

    First before a file, then before a page.
    """
    rushing, before = ask(url, "/index.json", "127.0.0.2", times=RUSH), []
    for path in ("/static/icon.svg", "/index.json"):
        (visiting,) = ask(url, path, "127.0.0.3")
        assert b" 200 OK" in visiting.recv(65536)
        visiting.close()
        before.append(answered(rushing))
    for one in rushing:
        one.close()
    return before
