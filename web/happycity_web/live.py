"""What viewers get while something runs: each position and page is made once, however many look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Protocol
from weakref import WeakKeyDictionary

import structlog
from starlette.websockets import WebSocket, WebSocketDisconnect

from happycity.records import Json
from happycity.v1 import match_service_pb2 as pb
from happycity.wire import event_of, incident_of, move_of, result_of, view_of, void_reason_of
from happycity_server.frontends import Arena, MatchFeed
from happycity_viewer.plies import Answer, encode, end_json, ply_json

SEND_SECONDS = 20.0
"""How long a viewer may take to read a message, before its socket is closed."""
PAGE_SECONDS = 1.0
"""How often a page is looked at for changes."""
_COST_SHARE = 0.05  # of the time that the making of one page may take

_log = structlog.get_logger()


class MatchPlies:
    """The positions of a match as JSON, and its end."""

    def __init__(self, feed: MatchFeed, bots: Sequence[str]) -> None:
        self.bots = bots
        """By seat."""
        self.plies: list[Json] = []
        self.texts: list[str] = []
        """The same, encoded."""
        self.end: Json | None = None
        self.changed = asyncio.Event()
        """Set at the next change, and then replaced."""
        self._task = asyncio.create_task(self._read(feed))

    async def reach(self, plies: int) -> None:
        """Wait until there are so many positions, or the match has ended."""
        while len(self.plies) < plies and self.end is None:
            await self.changed.wait()

    async def finished(self) -> None:
        """Wait for the end."""
        while self.end is None:
            await self.changed.wait()

    async def _read(self, feed: MatchFeed) -> None:
        try:
            async for response in feed.responses(skip=0):
                self._add(pb.WatchMatchResponse.FromString(response))
                await asyncio.sleep(0)  # between positions, other things go on
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            _log.exception("plies_failed")
            self.end = {"void": "unknown"}
        self._signal()

    def _add(self, response: pb.WatchMatchResponse) -> None:
        if response.HasField("end"):
            self.end = _end(response.end)
        else:
            ply = _ply(response.step, self.bots)
            self.plies.append(ply)
            self.texts.append(encode(ply))
        self._signal()

    def _signal(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def _ply(step: pb.MatchStep, bots: Sequence[str]) -> Json:
    """Return a position of a game between `bots` as the viewer takes it."""
    answer = None
    if step.HasField("move"):
        is_timed = step.HasField("think_us")
        answer = Answer(
            seat=step.seat,
            move=move_of(step.move),
            answered=is_timed,
            think_us=step.think_us if is_timed else None,
            metrics=dict(step.metrics),
        )
    return ply_json(
        step.decisions,
        view_of(step.view),
        list(map(event_of, step.events)),
        bots,
        answer=answer,
        incidents=list(map(incident_of, step.incidents)),
    )


def _end(end: pb.MatchEnd) -> Json:
    """Return how a game ended as the viewer takes it."""
    if end.WhichOneof("end") == "void_reason":
        return end_json((), void_reason_of(end.void_reason))
    return end_json(result_of(end.result))


class Page(Protocol):
    """A page that can be rendered."""

    def html(self) -> str:
        """Return the page."""


MakePage = Callable[[], Awaitable[Page]]


class _PageFeed:
    """A page that is made again as long as somebody looks at it."""

    def __init__(self, make: MakePage) -> None:
        self.html = ""
        self.changed = asyncio.Event()
        self.viewers = 0
        self.failure: Exception | None = None
        """Why it can't be made any more."""
        self._make = make
        self.task = asyncio.create_task(self._keep_current())

    async def _keep_current(self) -> None:
        try:
            while True:
                started = perf_counter()
                page = await self._make()
                html = await asyncio.to_thread(page.html)
                if html != self.html:
                    self.html = html
                    self._signal()
                cost = perf_counter() - started
                await asyncio.sleep(max(PAGE_SECONDS, cost / _COST_SHARE))
        except Exception as error:  # noqa: BLE001 - its viewers get it
            self.failure = error
            self._signal()

    def _signal(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Feeds:
    """What viewers share."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self._matches: WeakKeyDictionary[MatchFeed, MatchPlies] = WeakKeyDictionary()
        self._pages: dict[str, _PageFeed] = {}

    async def of_match(self, match_id: int) -> MatchPlies:
        """Return the positions of a match, which grow while it runs.

        Raises:
            ApiError: there is no such match, or the caller may not see it yet.
        """
        feed = await self.arena.match_feed(match_id)
        plies = self._matches.get(feed)
        if plies is None:
            arena = self.arena
            got = await arena.call(arena.matches.GetMatch, pb.GetMatchRequest(match_id=match_id))
            # Another viewer may have come meanwhile.
            plies = self._matches.get(feed) or MatchPlies(feed, list(got.match.bots))
            self._matches[feed] = plies
        return plies

    @asynccontextmanager
    async def of_page(self, key: str, make: MakePage) -> AsyncIterator[_PageFeed]:
        """Give a page that is kept current while the context lasts, shared by all with the same key."""
        feed = self._pages.get(key)
        if feed is None:
            feed = self._pages[key] = _PageFeed(make)
        feed.viewers += 1
        try:
            yield feed
        finally:
            feed.viewers -= 1
            if not feed.viewers:
                feed.task.cancel()
                del self._pages[key]


async def follow_page(socket: WebSocket, feeds: Feeds, *, key: str, make: MakePage) -> None:
    """Send a page whenever it changes, until the viewer leaves; a slow viewer gets the latest only."""

    async def send() -> None:
        async with feeds.of_page(key, make) as feed:
            sent = ""
            while feed.failure is None:
                changed = feed.changed
                if feed.html != sent:
                    sent = feed.html
                    await _send(socket, sent)
                else:
                    await changed.wait()
            raise feed.failure

    await _while_connected(socket, send())


async def follow_match(socket: WebSocket, match: MatchPlies) -> None:
    """Send the positions of a match from the one that the viewer names, and its end.

    A slow viewer gets all that came meanwhile at once.
    """
    try:
        first = max(0, int(socket.query_params.get("from", "0")))
    except ValueError:
        first = 0

    async def send() -> None:
        position = first
        while True:
            changed, texts = match.changed, match.texts
            if position < len(texts):
                await _send(socket, _message(texts[position:]))
                position = max(position, len(texts))
            elif match.end is not None:
                await _send(socket, f'{{"end":{encode(match.end)}}}')
                return
            else:
                await changed.wait()

    await _while_connected(socket, send())


def _message(texts: Sequence[str]) -> str:
    return f'{{"plies":[{",".join(texts)}]}}'


async def _send(socket: WebSocket, text: str) -> None:
    """Send a message; a viewer that doesn't read is disconnected."""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await socket.send_text(text)
    except TimeoutError:
        raise WebSocketDisconnect from None


async def _while_connected(socket: WebSocket, sending: Awaitable[None]) -> None:
    """Send until the end, or until the viewer leaves; what a viewer sends is thrown away."""
    tasks = asyncio.ensure_future(sending), asyncio.ensure_future(_left(socket))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _left(socket: WebSocket) -> None:
    """Wait until the viewer leaves."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
