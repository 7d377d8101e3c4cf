"""What keeps memory and work in bounds: the latest entries alone, one write at a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class LatestEntries(OrderedDict[_K, _V]):
    """Entries of which a maximum is kept: those that were set last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _K, value: _V) -> None:
        """Keep an entry, the oldest beyond the maximum no longer."""
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class LatestWrite:
    """Writes something that changes as it is, one write at a time; what changes meanwhile is written next."""

    def __init__(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write nothing yet; `write` raises nothing, and writes what there is when it is called."""
        self._write = write
        self._has_changed = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Have it written as it is."""
        self._has_changed = True
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def wait(self) -> None:
        """Return when nothing is being written."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        try:
            while self._has_changed:
                self._has_changed = False
                await self._write()
        finally:
            self._task = None
