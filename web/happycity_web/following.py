"""Sends a page, or the positions of a match, over a socket as long as its viewer reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.websockets import WebSocket, WebSocketDisconnect

from happycity_viewer.plies import encode
from happycity_web.live import Feeds, MatchPlies
from happycity_web.pace import Pace
from happycity_web.page_feed import MakePage
from happycity_web.reader import Reader

SEND_SECONDS = 20.0
"""How long a viewer may take to read a message, before its socket is closed."""


async def follow_page(socket: WebSocket, feeds: Feeds, *, key: str, make: MakePage, reader: Reader) -> None:
    """Send the parts of a page that change, until nothing changes any more or the viewer leaves.

    A viewer that reads slowly gets the latest state of what it missed, and nothing between.
    """

    async def send_parts() -> None:
        async with feeds.of_page(key, make, reader) as feed:
            version = 0
            while feed.failure is None:
                changed = feed.changed
                if feed.version > version:
                    message, version = feed.message(version), feed.version
                    await send(socket, message, feeds.pace)
                elif feed.is_final:
                    return
                else:
                    await changed.wait()
            raise feed.failure

    await while_connected(socket, send_parts(), feeds.pace)


async def follow_match(socket: WebSocket, match: MatchPlies, pace: Pace) -> None:
    """Send the positions of a match from the one that the viewer names, and its end.

    A viewer that reads slowly gets all that came meanwhile at once.
    """
    try:
        first = max(0, int(socket.query_params.get("from", "0")))
    except ValueError:
        first = 0

    async def send_plies() -> None:
        position = first
        while True:
            shown, positions = match.shown, len(match.texts)
            if position < positions:
                message, position = match.message(position), positions
                await send(socket, message, pace)
            elif match.end is not None:
                await send(socket, f'{{"end":{encode(match.end)}}}', pace)
                return
            else:
                await shown.wait()

    await while_connected(socket, send_plies(), pace)


async def send(socket: WebSocket, text: str, pace: Pace) -> None:
    """Send a message; a viewer that doesn't read is disconnected."""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            with pace.message():
                await socket.send_text(text)
    except TimeoutError:
        raise WebSocketDisconnect from None


async def _ignore(_: str) -> None:
    """Do nothing about what a viewer sends."""


async def while_connected(
    socket: WebSocket,
    sending: Awaitable[None],
    pace: Pace,
    *,
    take: Callable[[str], Awaitable[None]] = _ignore,
) -> None:
    """Send until the end, or until the viewer leaves; `take` gets what the viewer sends meanwhile."""
    tasks = asyncio.ensure_future(sending), asyncio.ensure_future(_receive(socket, take))
    try:
        with pace.viewer():
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _receive(socket: WebSocket, take: Callable[[str], Awaitable[None]]) -> None:
    """Pass on what the viewer sends, until the viewer leaves."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        await take(message.get("text") or "")
