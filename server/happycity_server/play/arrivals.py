"""Waiting for bots to connect."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress


class Arrivals:
    """Wakes those who wait for bots, when these connect."""

    def __init__(self, is_connected: Callable[[str], bool]) -> None:
        self._is_connected = is_connected
        self._events: defaultdict[str, set[asyncio.Event]] = defaultdict(set)  # to be set, by bot
        self._closed = False

    def note(self, bot: str) -> None:
        """Wake those who wait for a bot that has just connected."""
        for event in self._events.get(bot, ()):
            event.set()

    def close(self) -> None:
        """Let nobody wait any longer, as the server is about to stop."""
        self._closed = True
        for event in set().union(*self._events.values()):
            event.set()

    async def wait_for(self, bots: Iterable[str], seconds: float) -> list[str]:
        """Wait until all `bots` are connected, but not longer than `seconds`; return those missing."""
        names = list(bots)
        with suppress(TimeoutError), self._events_of(names) as event:
            async with asyncio.timeout(seconds):
                while not self._closed and self._missing(names):
                    event.clear()
                    await event.wait()
        return self._missing(names)

    async def wait_for_any(self, bots: Iterable[str]) -> None:
        """Wait until one of `bots` is connected, or until the server is about to stop."""
        names = list(set(bots))
        with self._events_of(names) as event:
            while not self._closed and len(self._missing(names)) == len(names):
                await event.wait()

    def _missing(self, bots: Iterable[str]) -> list[str]:
        return [name for name in bots if not self._is_connected(name)]

    @contextmanager
    def _events_of(self, bots: Iterable[str]) -> Iterator[asyncio.Event]:
        """Yield an event that is set when one of `bots` connects, and when the server is about to stop."""
        event, names = asyncio.Event(), set(bots)
        for name in names:
            self._events[name].add(event)
        try:
            yield event
        finally:
            for name in names:
                self._events[name].discard(event)
                if not self._events[name]:
                    del self._events[name]
