"""What changes in ladders of servers in threads of this process, reported to tests that wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import pytest
from tests.waiting import LIMIT

from happycity_server.ladder.ladder import Ladder
from happycity_tournament.storage.async_store import AsyncStore

_P = ParamSpec("_P")
_T = TypeVar("_T")


class News:
    """Wakes tests that wait whenever something has changed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._changes = 0

    def note(self) -> None:
        """Say that something has changed."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def until(self, event: Callable[[], _T | None]) -> _T:
        """Return what an event returns once that is true; it is looked at now and after each change."""
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            self.note()

        limit = threading.Timer(LIMIT, end)
        limit.daemon = True
        limit.start()
        try:
            while not is_late.is_set():
                seen = self._changes  # before the look, so that no change during it is missed
                result = event()
                if result:
                    return result
                self._wait_for_change(seen)
        finally:
            limit.cancel()
        raise TimeoutError(f"nothing came of {event} within {LIMIT:g} s")

    def _wait_for_change(self, seen: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._changes != seen)


NEWS = News()
"""That of all servers in this process."""


class _TellingStore(AsyncStore):
    """A store that reports what was written; reading is not reported, which tests do when they look."""

    async def write(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await super().write(method, *args, **kwargs)
        finally:
            NEWS.note()


class _TellingLadder(Ladder):
    """A ladder that tells when it has had a turn: who is there, plays or has to wait may be different."""

    async def _try_turn(self, turn: Coroutine[Any, Any, None]) -> bool:
        try:
            return await super()._try_turn(turn)
        finally:
            NEWS.note()


@contextmanager
def telling() -> Iterator[None]:
    """Let the servers that start while the context lasts tell what changes, also afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("happycity_server.app.AsyncStore", _TellingStore)
        patch.setattr("happycity_server.ladder.ladder.Ladder", _TellingLadder)
        yield
