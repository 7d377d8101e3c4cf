"""Live updates over WebSockets: pages and matches that are sent again as they change."""

from __future__ import annotations

import asyncio
import gzip
import math
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import cache
from hashlib import sha256
from time import monotonic, thread_time
from typing import Any, NamedTuple, ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from happycity.records.record import Json
from happycity_runtime.event_loop import first_of
from happycity_server.access.roles import Principal, principal, principal_variable
from happycity_server.broadcast import Broadcast
from happycity_server.frontends import Arena
from happycity_server.places.watch import WatchedMatch
from happycity_viewer.languages import Language
from happycity_viewer.plies import encode, end_json, position_json, words_json
from happycity_web.cache import PageCache
from happycity_web.purchases import Purchases
from happycity_web.render import Page, Part, Reader, language_of

MATCH_SECONDS = 0.1
"""Time between two messages to a viewer of a match, at least; positions of that time go together."""
PAGE_SECONDS = 1.0
"""Time between two messages to a viewer of a page, at least."""
VIEWER_SECONDS = 0.01
"""Time between two messages to the same viewers, for each viewer there is: so writing to all of them takes
about 1.5 % of the event loop's time."""
LOAD_SECONDS = 0.3
"""How long a page waits for what may take seconds; it follows with the next version of the page."""
RENDERING_SHARE = 0.02
"""Of a processor's time, for rendering all pages that follow by themselves for one caller."""
ASKING_SHARE = 0.1
"""Of time, for asking services what those pages show; most of it is waiting."""
COMPRESSION = 8
"""zlib's level for pages. 100 moves take 2.4 ms; at level 5, 1.0 ms for 6 % more bytes; 9 gains nothing."""

NextPage = Callable[[], Awaitable[Page]]
_P = ParamSpec("_P")
_T = TypeVar("_T")


class LivePage:
    """A page that is made again as long as it has viewers, for all viewers of the same page."""

    def __init__(self, make: NextPage, reader: Reader) -> None:
        self.viewers: list[Principal] = []
        """Who looks at it, once for each socket."""
        self.pause = 0.0
        """Seconds between two versions, by what the last one has cost."""
        self.changes = Broadcast(None)
        self._make = make
        self._reader = reader
        self._parts: Mapping[str, Part] = {}
        self._messages: dict[int, str] = {}
        """By version: the message to viewers who have that one."""

    def message(self, since: int) -> str:
        """Return the parts that have changed since a version as JSON, made once for all viewers."""
        if since not in self._messages:
            changed = {name: part.html for name, part in self._parts.items() if part.version > since}
            self._messages[since] = encode(changed)
        return self._messages[since]

    async def update(self, in_thread: Callable[..., Awaitable[float]]) -> bool:
        """Make the next version; return whether it is the last one. `in_thread` calls a function."""
        started = monotonic()
        page = await self._make()
        asking = monotonic() - started
        rendering = await in_thread(self._render, page)
        self.pause = rendering / RENDERING_SHARE + asking / ASKING_SHARE
        if any(part.version > self.changes.version for part in self._parts.values()):
            self._messages.clear()
            self.changes.publish()
        return page.is_final

    def _render(self, page: Page) -> float:
        """Render what is due, of a final page all; return the seconds of processor time that it took."""
        started, now = thread_time(), math.inf if page.is_final else monotonic()
        self._parts = page.parts(self._parts, self._reader, version=self.changes.version + 1, now=now)
        return thread_time() - started


class Feeds:
    """What all pages share: the arena, the thread in which they are made, and what follows by itself."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.viewers = 0
        """Sockets that are open."""
        self.cache = PageCache(arena.charge)
        self.purchases = Purchases()
        self._pages: dict[Hashable, LivePage] = {}
        # One, as Python runs one at a time anyway, and each more would make the event loop wait longer.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pages")

    async def in_thread(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a function in the thread in which pages are made, for the same caller."""
        loop, context = asyncio.get_running_loop(), copy_context()
        return await loop.run_in_executor(self._thread, lambda: context.run(call, *args, **kwargs))

    def interval(self, least: float) -> float:
        """Return how many seconds must lie between two messages to the same viewers, `least` or more."""
        return max(least, self.viewers * VIEWER_SECONDS)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    @asynccontextmanager
    async def live_page(self, key: Hashable, make: NextPage, reader: Reader) -> AsyncIterator[LivePage]:
        """Give a page that is kept current while the context lasts, shared by all with the same key."""
        page, viewer = self._pages.get(key), principal()
        if page is None:
            page = self._pages[key] = LivePage(make, reader)
            page.changes.follow(self._keep_current(page))
        page.viewers.append(viewer)
        try:
            yield page
        finally:
            page.viewers.remove(viewer)
            if not page.viewers:
                page.changes.cancel()
                del self._pages[key]

    async def _keep_current(self, page: LivePage) -> None:
        """Make a page again and again, to its last version; who pays for it asks for what it shows."""
        while True:
            payer, _ = self.payer_of(page)
            principal_variable.set(payer)
            if await page.update(self.in_thread):
                return
            _, pause = self.payer_of(page)
            await asyncio.sleep(max(self.interval(PAGE_SECONDS), pause))

    def payer_of(self, page: LivePage) -> tuple[Principal, float]:
        """Return who pays for a page, and the seconds until it is made again.

        All pages that a caller looks at share what they may cost. The viewer who has the fewest others to pay
        for pays for this one, so that no viewer slows it down for the others.
        """
        loads = defaultdict[str, float](float)
        for other in self._pages.values():
            for caller in {viewer.caller for viewer in other.viewers}:
                loads[caller] += other.pause
        payer = min(page.viewers, key=lambda viewer: loads[viewer.caller])
        return payer, loads[payer.caller]


class Ply(NamedTuple):
    """A position of a match as the viewer takes it."""

    json: Json
    text: str
    """The same, encoded."""


def _position(match: WatchedMatch, number: int) -> Ply:
    position = position_json(match.playback, number)
    return Ply(position, encode(position))


@cache
def plies_in(language: Language) -> Callable[[WatchedMatch, int], Ply]:
    """Return what makes a position with the words of a language; all else is made once for all languages."""

    def ply(match: WatchedMatch, number: int) -> Ply:
        position = match.positions(_position)[number]
        words = words_json(match.playback, number, texts=language.texts)
        return Ply(position.json | words, f"{position.text[:-1]},{encode(words)[1:]}")

    return ply


def end_of(match: WatchedMatch) -> Json | None:
    """Return how a match ended as the viewer takes it, None while it is played."""
    return end_json(match.playback.results, match.playback.void_reason) if match.is_over else None


async def plies_of(feeds: Feeds, match: WatchedMatch, language: Language) -> list[Ply]:
    """Return the positions of a match so far, which are made once for all who ask."""
    if match.is_over:
        return await feeds.in_thread(match.positions, plies_in(language))
    return match.positions(plies_in(language))


def pack(text: Callable[[], str]) -> bytes:
    """Make a text and compress it; call it in a thread."""
    return gzip.compress(text().encode(), COMPRESSION, mtime=0)


def packed_response(request: Request, content: bytes, media_type: str) -> Response:
    """Return the response with content that `pack` has made; without it for a reader who has the same."""
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"etag": f"W/{tag}", "vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(content), media_type=media_type, headers=headers)
    return Response(content, media_type=media_type, headers=headers | {"content-encoding": "gzip"})


async def within_page_time(request: Request, value: Awaitable[_T]) -> _T | None:
    """Return what may take seconds to load; None if it does, and the page can follow.

    JSON, and scripts that say `wait`, get it however long it takes. What makes the value
    has to go on when it is no longer awaited, as `SharedValues` do.
    """
    is_final = request.url.path.endswith(".json") or "wait" in request.query_params
    try:
        async with asyncio.timeout(None if is_final else LOAD_SECONDS):
            return await value
    except TimeoutError:
        return None


async def follow_match(feeds: Feeds, socket: WebSocket) -> None:
    """Send the positions of a match from the one that the viewer names, and its end.

    A viewer that reads slowly gets all that came meanwhile at once.
    """
    _, watched = await feeds.arena.matches.watch(principal(), socket.path_params["match_id"])
    language = language_of(socket)

    async def send_plies() -> None:
        position = first_ply(socket)
        async for match in watched.values():
            plies = await plies_of(feeds, match, language)
            if position < len(plies):
                message, position = plies_message(plies, position), len(plies)
                await socket.send_text(message)
                await asyncio.sleep(feeds.interval(MATCH_SECONDS))
        await socket.send_text(encode({"end": end_of(watched.value)}))

    await while_connected(socket, send_plies(), feeds)


def first_ply(socket: WebSocket) -> int:
    """Return the first position that a viewer lacks."""
    text = socket.query_params.get("from", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def plies_message(plies: list[Ply], first: int) -> str:
    """Return the message with all positions from `first` on."""
    return f'{{"plies":[{",".join(ply.text for ply in plies[first:])}]}}'


async def while_connected(
    socket: WebSocket,
    sending: Coroutine[Any, Any, None],
    feeds: Feeds,
    *,
    take: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Send until the end, or until the viewer leaves; `take` gets what the viewer sends meanwhile."""
    feeds.viewers += 1
    try:
        await first_of(sending, _receive(socket, take))
    finally:
        feeds.viewers -= 1


async def _receive(socket: WebSocket, take: Callable[[str], Awaitable[None]] | None) -> None:
    """Pass on what the viewer sends, until the viewer leaves."""
    while True:
        message: Any = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        if take is not None:
            await take(message.get("text") or "")
