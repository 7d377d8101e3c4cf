"""Viewers of one page in one process: each holds a WebSocket, and counts what comes without looking at it."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from urllib.parse import urlsplit

from happycity.runtime.event_loop import run

OPENS_AT_ONCE = 20
_HANDSHAKE = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Viewer(asyncio.Protocol):
    """A socket that reads, or one that does not any more after the handshake."""

    def __init__(self, host: str, path: str, *, reads: bool) -> None:
        self.opened = asyncio.Event()
        self.bytes = 0
        self.is_closed = False
        self._request = _HANDSHAKE.format(path=path, host=host)
        self._reads = reads
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Ask for the page."""
        self._transport = transport
        transport.write(self._request.encode())

    def data_received(self, data: bytes) -> None:
        """Count what has come."""
        self.bytes += len(data)
        self.opened.set()
        if not self._reads:
            assert self._transport is not None
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note it."""
        self.is_closed = True


async def main() -> None:
    """Open all sockets, not too many at a time; hold them until a line comes; report what they got."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("viewers", type=int)
    parser.add_argument("--deaf", type=int, default=0, help="of these, how many don't read")
    options = parser.parse_args()
    url = urlsplit(options.url)
    loop, at_once = asyncio.get_running_loop(), asyncio.Semaphore(OPENS_AT_ONCE)
    viewers = [
        Viewer(url.netloc, url.path, reads=number >= options.deaf) for number in range(options.viewers)
    ]

    async def connect(viewer: Viewer) -> None:
        async with at_once:
            await loop.create_connection(lambda: viewer, url.hostname, url.port)
            await viewer.opened.wait()

    await asyncio.gather(*map(connect, viewers))
    _report(viewers=len(viewers))
    await asyncio.to_thread(sys.stdin.readline)
    _report(bytes=sum(viewer.bytes for viewer in viewers), closed=sum(viewer.is_closed for viewer in viewers))


def _report(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(main())
