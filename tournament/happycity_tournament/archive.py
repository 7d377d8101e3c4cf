"""The store as asyncio code sees it: one thread of its own, and one transaction for all that waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from happycity_tournament.store import Store, StoredGame, StoreError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Waiting = tuple[StoredGame, "asyncio.Future[None]"]

GATHER_SECONDS = 0.05
"""How long games gather before they are committed together: a transaction costs as much as ten games."""


class Archive:
    """Commits games in the order in which they come, those of a short while together.

    Use it as an asynchronous context; it is left only after everything is committed.
    """

    def __init__(self, store: Store) -> None:
        self.commits = 0
        """Transactions with games so far, failed ones included."""
        self.commit_seconds = 0.0
        """How long those took together."""
        self.games_waiting = 0
        """Finished games that are not committed yet."""
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._waiting: list[_Waiting] = []
        self._committing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._committing is not None:
            await self._committing
        self._thread.shutdown()

    async def save(self, game: StoredGame) -> None:
        """Return once the game is committed.

        Raises:
            StoreError: it could not be; the game is not stored.
        """
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((game, committed))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit())
        self.games_waiting += 1
        try:
            await committed
        finally:
            self.games_waiting -= 1

    async def call(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method of `store` in its thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: method(*args, **kwargs))

    @property
    def store(self) -> Store:
        """The store, whose methods are to be called by `call`."""
        return self._store

    async def _commit(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(GATHER_SECONDS)
                batch, self._waiting = self._waiting, []
                await self._commit_batch(batch)
        finally:
            self._committing = None

    async def _commit_batch(self, batch: Sequence[_Waiting]) -> None:
        """Commit games together or, if one of them can't be stored, each alone: only that one fails."""
        failure = await self._add([game for game, _ in batch])
        alone = failure is not None and len(batch) > 1 and not _for_all(failure)
        for game, committed in batch:
            if alone:
                failure = await self._add([game])
            if committed.cancelled():
                continue
            if failure is None:
                committed.set_result(None)
            else:
                committed.set_exception(failure)

    async def _add(self, games: Sequence[StoredGame]) -> Exception | None:
        """Store all of `games` or none; return why not."""
        began = time.perf_counter()
        try:
            await self.call(self._store.add_games, games)
        except Exception as error:  # noqa: BLE001 - whoever waits for a game must hear of any failure
            return error
        finally:
            self.commits += 1
            self.commit_seconds += time.perf_counter() - began
        return None


def _for_all(failure: Exception) -> bool:
    return isinstance(failure, StoreError) and failure.for_all
