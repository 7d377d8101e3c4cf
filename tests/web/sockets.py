"""WebSockets of pages, of which mostly the end matters."""

from typing import Any

import websockets
from tests.waiting import LIMIT


async def close_code(socket: websockets.ClientConnection) -> int:
    try:
        async for _ in socket:
            pass
    except websockets.ConnectionClosedError:
        pass
    assert socket.close_code is not None
    return socket.close_code


def socket_of(url: str, **options: Any) -> websockets.connect:
    """Return the WebSocket of a page; `options` are those of `websockets.connect`."""
    # It has as long as all else, and no pings: an answer may be late on a busy machine.
    return websockets.connect(url.replace("http", "ws"), open_timeout=LIMIT, ping_interval=None, **options)


async def closed_with(url: str, **headers: str) -> int:
    """Open the socket of a page; return the code with which it is closed at once, 0 if it sends something."""
    async with socket_of(url, additional_headers=headers) as socket:
        try:
            await socket.recv()
        except websockets.ConnectionClosed:
            assert socket.close_code is not None
            return socket.close_code
    return 0
