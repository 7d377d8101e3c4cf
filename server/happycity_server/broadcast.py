"""What many wait for: a value that changes, and values that are made once for all who ask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

from happycity.errors import HappyCityError
from happycity_server.latest import LatestEntries

_log = structlog.get_logger()
_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


class BroadcastError(HappyCityError):
    """What keeps a value current has failed; the failure is logged."""


class Broadcast(Generic[_T]):
    """A value that changes until the broadcast ends, and all who watch it.

    A watcher gets the value as it is, and again after changes; one that is slow gets the latest value only. A
    failure ends the broadcast and is raised to every watcher, so none waits for ever.
    """

    def __init__(self, value: _T) -> None:
        self.value = value
        self.version = 0
        """Counts how often the value was published; at 0 there is none yet."""
        self.is_over = False
        """Whether nothing is published any more."""
        self.failure: Exception | None = None
        """Why it ended early."""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def publish(self) -> None:
        """Let all watchers have the value as it is now."""
        self.version += 1
        self._wake()

    def end(self, failure: Exception | None = None) -> None:
        """Let all watchers go, with a failure if there was one."""
        if not self.is_over:
            self.is_over, self.failure = True, failure
            self._wake()

    def follow(self, work: Coroutine[Any, Any, None], **about: object) -> None:
        """Run what keeps the value current; its end, or its failure, is that of the broadcast.

        A failure is logged once, with `about`. Watchers get errors that are meant for them, and for others a
        BroadcastError.
        """

        def end(_: asyncio.Task[None]) -> None:
            work.close()  # if the task was cancelled before its first step
            self._task = None  # it holds what it has raised, and that holds this
            self.end()

        self._task = asyncio.create_task(self._run(work, about))
        self._task.add_done_callback(end)

    def cancel(self) -> None:
        """Stop what keeps the value current, which ends the broadcast."""
        if self._task is not None:
            self._task.cancel()

    async def values(self, *, seen: int = 0) -> AsyncIterator[_T]:
        """Yield the value now, if its version is another than `seen`, and after changes, until the end."""
        while await self.next(seen):
            seen = self.version
            yield self.value

    async def next(self, seen: int) -> bool:
        """Wait for another version than `seen`; return False if the broadcast has ended without one."""
        while self.version == seen and not self.is_over:
            await self._changed.wait()
        if self.failure is not None:
            raise self.failure
        return self.version != seen

    async def _run(self, work: Coroutine[Any, Any, None], about: dict[str, object]) -> None:
        try:
            await work
        except HappyCityError as error:
            _log.info("broadcast_ended", problem=str(error), **about)
            self.end(error)
        except Exception as error:  # noqa: BLE001 - it is passed on to the watchers
            _log.exception("broadcast_failed", **about)
            self.end(BroadcastError(f"it can't be shown any more: {error}"))

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class SharedValues(Generic[_K, _T]):
    """Values by key, each made once for all who ask for it meanwhile; the latest ones are kept."""

    def __init__(self, *, kept: int) -> None:
        """Keep a maximum of values that are made."""
        self._made = LatestEntries[_K, _T](kept)
        self._making: dict[_K, asyncio.Future[_T]] = {}

    def __contains__(self, key: _K) -> bool:
        """Return whether a value is kept, or being made."""
        return key in self._made or key in self._making

    async def get(self, key: _K, make: Callable[[], Awaitable[_T]]) -> _T:
        """Return a value, made by `make` if it is not there; a failure is raised to all who wait for it.

        It is made to its end, also if those who asked for it have left.
        """
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        if key not in self._making:
            self._making[key] = asyncio.ensure_future(make())
            self._making[key].add_done_callback(partial(self._note_made, key))
        return await asyncio.shield(self._making[key])

    def _note_made(self, key: _K, made: asyncio.Future[_T]) -> None:
        del self._making[key]
        if not made.cancelled() and made.exception() is None:
            self._made[key] = made.result()
