"""Pages that are made for many viewers: what is made again, what is sent, and what they may cost."""

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
import pytest_asyncio
from tests.server.harness import pages
from tests.web.sockets import socket_of

from happycity_server.access.roles import Principal, principal, principal_variable
from happycity_server.broadcast import BroadcastError
from happycity_viewer.languages import language
from happycity_web import watch
from happycity_web.render import Page, Part, Reader, _Parts
from happycity_web.serve import PageSocket
from happycity_web.watch import Feeds, LivePage

_READER = Reader(language("en"))


@dataclass
class _Numbers:
    """A page with a number that changes at once, and one that may be old."""

    made: list[str] = field(default_factory=list)
    is_final: bool = False

    def parts(
        self, before: Mapping[str, Part], reader: Reader, *, version: int, now: float
    ) -> Mapping[str, Part]:
        parts = _Parts(before, version=version, now=now)
        for name, seconds in (("fast", 0.0), ("slow", 1000.0)):
            parts.mark(name, seconds=seconds, caller=partial(self._make, name))
        return parts.parts

    def _make(self, name: str) -> str:
        self.made.append(name)
        return f"{name} {self.made.count(name)}"


@pytest_asyncio.fixture
async def feeds() -> AsyncIterator[Feeds]:
    """Yield what pages share, without an arena; the caller is a token's."""
    principal_variable.set(Principal("token 1", frozenset()))
    made = Feeds(MagicMock())
    yield made
    made.close()


async def test_a_viewer_gets_the_parts_that_changed(feeds: Feeds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are made when they are due, all at the end, and sent if they differ from before."""
    monkeypatch.setattr(watch, "PAGE_SECONDS", 0.0)
    numbers = _Numbers()

    async def make() -> Page:
        numbers.is_final = numbers.made.count("fast") == 2
        return cast(Page, numbers)

    messages, version = [], 0
    async with feeds.live_page("numbers", make, _READER) as page:
        async for _ in page.changes.values():
            messages.append(json.loads(page.message(version)))
            version = page.changes.version
        assert messages[:2] == [{"fast": "fast 1", "slow": "slow 1"}, {"fast": "fast 2"}]
        assert json.loads(page.message(0)) == {"fast": "fast 3", "slow": "slow 2"}
        assert page.message(0) is page.message(0)


async def test_a_page_that_fails_ends_its_viewers(feeds: Feeds) -> None:
    """If a page can't be made any more, its viewers get the reason, and the next one begins again."""

    async def make() -> Page:
        raise ValueError("gone")

    async with feeds.live_page("page", make, _READER) as page:
        with pytest.raises(BroadcastError, match="gone"):
            await anext(page.changes.values())
    async with feeds.live_page("page", make, _READER) as other:
        assert other is not page


async def test_a_caller_pays_for_all_its_pages_together(feeds: Feeds) -> None:
    """A caller that looks at one page of many slows it down for no other, and pays also as the second one."""

    async def make() -> Page:
        await asyncio.Event().wait()
        raise AssertionError

    async with AsyncExitStack() as stack:

        async def look(key: object) -> LivePage:
            return await stack.enter_async_context(feeds.live_page(key, make, _READER))

        first, second = principal(), Principal("token 2", frozenset())
        own = [await look(key) for key in range(63)]
        shared = await look("shared")
        principal_variable.set(second)
        other = await look("other")
        for page in (*own, shared, other):
            page.pause = 3.5
        for page in (own[0], shared):
            assert feeds.payer_of(page) == (first, 64 * 3.5)
        assert feeds.payer_of(other) == (second, 3.5)
        async with feeds.live_page("shared", make, _READER):
            assert feeds.payer_of(own[0]) == (first, 64 * 3.5)
            for page in (shared, other):
                assert feeds.payer_of(page) == (second, 2 * 3.5)
        assert feeds.payer_of(shared) == (first, 64 * 3.5)


async def test_who_pays_for_a_page_asks_for_what_it_shows(
    feeds: Feeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first viewer of a page may have left, or have asked for too much, when it is made again."""
    monkeypatch.setattr(watch, "PAGE_SECONDS", 0.0)
    asked = asyncio.Queue[str]()

    async def make() -> Page:
        asked.put_nowait(principal().caller)
        return cast(Page, _Numbers())

    async with AsyncExitStack() as stack:
        async with feeds.live_page("page", make, _READER):
            assert await asked.get() == "token 1"
            principal_variable.set(Principal("token 2", frozenset()))
            await stack.enter_async_context(feeds.live_page("page", make, _READER))
        while not asked.empty():
            asked.get_nowait()
        assert "token 2" in [await asked.get() for _ in range(2)]  # one may have been begun before


@pytest.mark.level(2)
async def test_pages_that_differ_by_what_they_ignore_are_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 sockets of one page with queries that mean nothing to it share one page."""
    made = []
    make = LivePage.__init__

    def count(page: LivePage, *args: Any) -> None:
        made.append(page)
        make(page, *args)

    monkeypatch.setattr(LivePage, "__init__", count)
    async with pages(folder) as url, AsyncExitStack() as stack:

        async def look(query: str) -> None:
            await (await stack.enter_async_context(socket_of(f"{url}/matches?{query}"))).recv()

        for number in range(64):
            await look(f"x={number}&only=all&page=")
        assert len(made) == 1
        await look("only=forfeited")
        assert len(made) == 2


async def test_sockets_that_have_ended_are_freed_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their memory waits for no collection of garbage, which would stop all games meanwhile."""
    freed, make = asyncio.Semaphore(0), PageSocket.__init__

    def register(socket: PageSocket, *args: Any, **kwargs: Any) -> None:
        make(socket, *args, **kwargs)
        weakref.finalize(socket, freed.release)

    monkeypatch.setattr(PageSocket, "__init__", register)
    gc.disable()
    try:
        async with pages(folder) as url:
            for _ in range(5):
                async with socket_of(url) as socket:
                    await socket.recv()
            for _ in range(5):
                await freed.acquire()
    finally:
        gc.enable()
