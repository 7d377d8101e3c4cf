"""The store as asyncio code sees it: one thread writes, another one reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import NamedTuple, ParamSpec, Self, TypeVar

from happycity_tournament.games import FinishedGame
from happycity_tournament.storage.errors import StoreError
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


class _UnstoredGame(NamedTuple):
    """A game that is to be committed."""

    game: tuple[FinishedGame, Record]
    saved: asyncio.Future[None]
    """Done when the game is committed, or could not be."""


class AsyncStore:
    """Commits games in the order in which they come, those of a short while together.

    Reading has a thread of its own, so that games are committed in time whatever is read. Use it as an
    asynchronous context; it is left only after everything is committed.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        """The store, whose methods are to be called by `read` and `write`."""
        self.commits = 0
        """Transactions with games so far, failed ones included."""
        self.commit_seconds = 0.0
        """How long those took together."""
        self.games_waiting = 0
        """Finished games that are not committed yet."""
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-writer")
        self._reader = self._loader = self._writer
        if not store.in_memory:  # which has one connection, that no two threads may use at once
            self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-reader")
            self._loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-loader")
        self._gathering: list[_UnstoredGame] = []
        self._enough = asyncio.Event()
        """Set when enough games have gathered to be written without waiting for more."""
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
            while len(self._gathering) >= MAX_GATHERED:
                await asyncio.wait((self._gathering[-1].saved,))
            await self._gather(game, record)
        finally:
            self.games_waiting -= 1

    async def write(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method that writes, in the thread that does so."""
        return await asyncio.get_running_loop().run_in_executor(
            self._writer, partial(method, *args, **kwargs)
        )

    async def read(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method that only reads, in a thread of its own."""
        return await asyncio.get_running_loop().run_in_executor(
            self._reader, partial(method, *args, **kwargs)
        )

    async def load(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method that reads for seconds, in a thread apart from that of `read`."""
        return await asyncio.get_running_loop().run_in_executor(
            self._loader, partial(method, *args, **kwargs)
        )

    async def _gather(self, game: FinishedGame, record: Record) -> None:
        """Add a game to those that are committed next, and wait for that."""
        saved = asyncio.get_running_loop().create_future()
        self._gathering.append(_UnstoredGame((game, record), saved))
        if len(self._gathering) == ENOUGH_GAMES:
            self._enough.set()
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit())
        try:
            await asyncio.shield(saved)
        except asyncio.CancelledError:
            await asyncio.wait((saved,))
            saved.exception()  # nobody else asks for it
            raise

    async def _commit(self) -> None:
        try:
            while self._gathering:
                with suppress(TimeoutError):
                    async with asyncio.timeout(GATHER_SECONDS):
                        await self._enough.wait()
                batch, self._gathering = self._gathering, []
                self._enough.clear()
                await self._commit_batch(batch)
        finally:
            self._committing = None

    async def _commit_batch(self, batch: Sequence[_UnstoredGame]) -> None:
        """Commit games together or, if one of them can't be stored, each alone: only that one fails."""
        failure = await self._add(batch)
        for_all = isinstance(failure, StoreError) and failure.for_all
        alone = failure is not None and len(batch) > 1 and not for_all
        for saving in batch:
            if alone:
                failure = await self._add([saving])
            if failure is None:
                saving.saved.set_result(None)
            else:
                saving.saved.set_exception(failure)

    async def _add(self, batch: Sequence[_UnstoredGame]) -> Exception | None:
        """Store all games of a batch or none; return why not."""
        started = time.perf_counter()
        try:
            await self.write(self.store.add_games, [saving.game for saving in batch])
        except Exception as error:  # noqa: BLE001 - the callers of all games must get it
            return error
        finally:
            self.commits += 1
            self.commit_seconds += time.perf_counter() - started
        return None
