"""The store as asyncio code sees it: one thread writes, another one reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, Self, TypeVar

from happycity_tournament.games import FinishedGame
from happycity_tournament.storage.database import StoreError
from happycity_tournament.storage.packing import Record
from happycity_tournament.storage.store import Store

_P = ParamSpec("_P")
_T = TypeVar("_T")

GATHER_SECONDS = 0.05
"""How long games gather before they are committed together: a transaction costs as much as ten games."""
ENOUGH_GAMES = 200
"""Games that need not wait for more before they are committed: these would hardly make a game cheaper."""
MAX_GATHERED = 2000
"""Games that are committed together at most. More wait in `save`, and so do their callers."""


class _Batch:
    """Games that are committed together."""

    def __init__(self) -> None:
        self.games: list[tuple[FinishedGame, Record]] = []
        self.failures: dict[int, Exception] = {}
        """Why games could not be stored, by their index."""
        self.enough = asyncio.Event()
        """Set when so many games have gathered that they need not wait for more."""
        self.settled = asyncio.Event()
        """Set when each game is committed, or could not be."""


class AsyncStore:
    """Commits games in the order in which they come, those of a short while together.

    Reading has a thread of its own, so that games are committed in time whatever is read. Use it as an
    asynchronous context; it is left only after everything is committed.
    """

    def __init__(self, store: Store, *, max_gathered: int = MAX_GATHERED) -> None:
        self.store = store
        """The store, whose methods are to be called by `read` and `write`."""
        self.commits = 0
        """Transactions with games so far, failed ones included."""
        self.commit_seconds = 0.0
        """How long those took together."""
        self.games_waiting = 0
        """Finished games that are not committed yet."""
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-writer")
        # A database in memory has one connection, which no two threads may use at once.
        self._reader = (
            self._writer
            if store.in_memory
            else ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-reader")
        )
        self._gathering = _Batch()
        self._max_gathered = max_gathered
        self._loader = (
            self._writer
            if store.in_memory
            else ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-loader")
        )
        self._committing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._committing is not None:
            await self._committing
        self._writer.shutdown()
        self._reader.shutdown()
        self._loader.shutdown()

    async def save(self, game: FinishedGame, record: Record) -> None:
        """Return once a game and its record are committed, or could not be, even if this is cancelled before.

        Otherwise a game whose caller was cancelled would be stored while it is taken for missing. One that
        still waits for room is not stored.

        Raises:
            StoreError: they could not be; the game is not stored.
        """
        self.games_waiting += 1
        try:
            while len(self._gathering.games) >= self._max_gathered:
                await self._gathering.settled.wait()
            await self._gather(game, record)
        finally:
            self.games_waiting -= 1

    async def write(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method that writes, in the thread that does so."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, lambda: method(*args, **kwargs))

    async def read(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method that only reads, in a thread of its own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, lambda: method(*args, **kwargs))

    async def load(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method that reads for seconds, in a thread apart from that of `read`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._loader, lambda: method(*args, **kwargs))

    async def _gather(self, game: FinishedGame, record: Record) -> None:
        """Add a game to those that are committed next, and wait for that."""
        batch = self._gathering
        index = len(batch.games)
        batch.games.append((game, record))
        if len(batch.games) == ENOUGH_GAMES:
            batch.enough.set()
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit())
        try:
            await batch.settled.wait()
        except asyncio.CancelledError:
            await batch.settled.wait()
            raise
        if index in batch.failures:
            raise batch.failures[index]

    async def _commit(self) -> None:
        try:
            while self._gathering.games:
                with suppress(TimeoutError):
                    async with asyncio.timeout(GATHER_SECONDS):
                        await self._gathering.enough.wait()
                batch, self._gathering = self._gathering, _Batch()
                await self._commit_batch(batch)
                batch.settled.set()
        finally:
            self._committing = None

    async def _commit_batch(self, batch: _Batch) -> None:
        """Commit games together or, if one of them can't be stored, each alone: only that one fails."""
        failure = await self._add(batch.games)
        for_all = isinstance(failure, StoreError) and failure.for_all
        alone = failure is not None and len(batch.games) > 1 and not for_all
        for index, game in enumerate(batch.games) if failure is not None else ():
            if alone:
                failure = await self._add([game])
            if failure is not None:
                batch.failures[index] = failure

    async def _add(self, batch: Sequence[tuple[FinishedGame, Record]]) -> Exception | None:
        """Store all games of a batch or none; return why not."""
        started = time.perf_counter()
        try:
            await self.write(self.store.add_games, batch)
        except Exception as error:  # noqa: BLE001 - the callers of all games must get it
            return error
        finally:
            self.commits += 1
            self.commit_seconds += time.perf_counter() - started
        return None
