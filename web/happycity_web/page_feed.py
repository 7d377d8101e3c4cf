"""A page that is made again and again for all who look at it, and sent to them in its changing parts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic, thread_time
from typing import Protocol

from happycity_viewer.plies import encode
from happycity_web.pace import Pace
from happycity_web.reader import Reader
from happycity_web.render import Part

PAGE_SECONDS = 1.0
"""Time between two messages to a viewer of a page, at least."""
_COST_SHARE = 0.02  # of a processor's time that the making of one page may take


class Page(Protocol):
    """A page of which parts change."""

    @property
    def is_final(self) -> bool:
        """Whether nothing of it will change any more."""

    def parts(self, known: Mapping[str, Part], reader: Reader) -> Mapping[str, Part]:
        """Return its parts by name as a reader gets them; those that are known are taken over."""


MakePage = Callable[[], Awaitable[Page]]


class PageFeed:
    """A page that is made again as long as somebody looks at it."""

    def __init__(self, make: MakePage, reader: Reader, pace: Pace) -> None:
        self.version = 0
        """Goes up with each change."""
        self.changed = asyncio.Event()
        """Set at the next change, and then replaced."""
        self.viewers = 0
        self.is_final = False
        self.failure: Exception | None = None
        """Why it can't be made any more."""
        self._make = make
        self._reader = reader
        self._pace = pace
        self._parts: dict[str, Part] = {}
        self._changes: dict[str, tuple[int, float]] = {}
        """By name of a part: the version in which it changed last, and when it was made."""
        self._messages: dict[int, str] = {}
        """By version: the message to viewers who have that one."""
        self.task = asyncio.create_task(self._keep_current())

    def message(self, since: int) -> str:
        """Return the parts that have changed since a version as JSON, made once for all viewers."""
        if since not in self._messages:
            changed = {
                name: self._parts[name].html
                for name, (version, _) in self._changes.items()
                if version > since and name in self._parts
            }
            self._messages[since] = encode(changed)
        return self._messages[since]

    async def _keep_current(self) -> None:
        try:
            while not self.is_final:
                page = await self._make()
                cost = await asyncio.to_thread(self._render, page)
                self._messages.clear()
                self.is_final = page.is_final
                self._signal()
                await asyncio.sleep(max(self._pace.interval(PAGE_SECONDS), cost / _COST_SHARE))
        except Exception as error:  # noqa: BLE001 - its viewers get it
            self.failure = error
            self._signal()

    def _render(self, page: Page) -> float:
        """Render what is due; return the seconds of processor time that it took."""
        started, now = thread_time(), monotonic()
        known = {
            name: part for name, part in self._parts.items() if now < self._changes[name][1] + part.seconds
        }
        parts = dict(page.parts({} if page.is_final else known, self._reader))
        version = self.version + 1
        for name, part in parts.items():
            if name not in known:
                old = self._parts.get(name)
                changed = version if old is None or old.html != part.html else self._changes[name][0]
                self._changes[name] = changed, now
        self._parts = parts
        if any(changed == version for changed, _ in self._changes.values()):
            self.version = version
        return thread_time() - started

    def _signal(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()
