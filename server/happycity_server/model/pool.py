"""The processes in which the forward model plays, so that no match waits for it."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from typing import TypeVar

import structlog

from happycity_server.errors import ApiError, Reason

NICENESS = 10
"""By how much the processes lower their priority below the server's."""

_log = structlog.get_logger()
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


class Turns:
    """A number of places that callers get in turns, however many each of them waits for."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By caller, the next one first."""

    async def take(self, caller: str) -> None:
        """Wait for a place; `give` has to follow."""
        if self._free:
            self._free -= 1
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # it was granted in the same moment
                self.give()
            raise

    def give(self) -> None:
        """Free a place for the next caller."""
        while self._waiting:
            caller, granted = self._waiting.popitem(last=False)
            first = granted.popleft()
            if granted:
                self._waiting[caller] = granted  # behind all others
            if not first.done():
                first.set_result(None)
                return
        self._free += 1


class PlayoutPool:
    """Worker processes.

    They are spawned, not forked: a fork would copy the threads of gRPC in the middle of their work. Jobs are
    short, no more of them wait than keep the processes busy, and callers take turns; so a call that is
    cancelled costs nothing more than what is being played at that moment.
    """

    def __init__(self, workers: int) -> None:
        self.playouts = 0
        """Playouts since the start."""
        self._workers = workers
        self._pool: asyncio.Task[ProcessPoolExecutor] | None = None
        self._turns = Turns(workers + 1)  # one more, so that no process waits for the event loop
        self._closing = False

    def start(self) -> None:
        """Start the processes, so that the first call needn't wait for them."""
        if self._pool is None:
            # In a thread, as starting a process takes longer than the event loop should wait.
            self._pool = asyncio.create_task(asyncio.to_thread(_new_pool, self._workers))

    async def run(
        self, function: Callable[[_Job], _Result], jobs: Iterable[_Job], *, caller: str
    ) -> AsyncGenerator[_Result, None]:
        """Run jobs in the processes; yield the results in their order; ApiError if the server shuts down."""
        pool = await self._started()
        loop = asyncio.get_running_loop()
        waiting: deque[asyncio.Future[_Result]] = deque()
        try:
            for job in jobs:
                await self._turns.take(caller)
                try:
                    self._check_open()
                    future = loop.run_in_executor(pool, function, job)
                except BaseException:
                    self._turns.give()
                    raise
                future.add_done_callback(lambda _: self._turns.give())
                waiting.append(future)
                if len(waiting) > self._workers:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        except BrokenExecutor:
            self._discard(pool)
            raise
        finally:
            for future in waiting:
                future.cancel()

    def begin_close(self) -> None:
        """Start nothing more; calls that are being served end after their present job."""
        self._closing = True

    async def close(self) -> None:
        """End the processes."""
        self.begin_close()
        if self._pool is not None:
            pool = await self._pool
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    async def _started(self) -> ProcessPoolExecutor:
        self._check_open()
        self.start()
        assert self._pool is not None
        try:
            return await asyncio.shield(self._pool)
        except OSError:  # the next call tries again
            self._pool = None
            raise

    def _check_open(self) -> None:
        if self._closing:
            raise ApiError(Reason.SHUTTING_DOWN, "the server is shutting down")

    def _discard(self, pool: ProcessPoolExecutor) -> None:
        """Forget a pool of which a process died; the next call starts another one."""
        if self._pool is not None and self._pool.done() and self._pool.result() is pool:
            self._pool = None
            _log.error("simulation_process_died")


def _new_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool with all its processes started: one for each job that finds no idle one."""
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_prepare_worker)
    for _ in range(workers):
        pool.submit(_import_rules)
    return pool


def _import_rules() -> None:
    """Import what jobs need, before the first one comes."""
    import happycity_server.model.playouts  # noqa: F401, PLC0415


def _prepare_worker() -> None:
    """Lower the priority of a new process, leave stopping to its server, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal
    if sys.platform != "win32":
        os.nice(NICENESS)
    threading.Thread(target=_end_with_server, name="server", daemon=True).start()


def _end_with_server() -> None:
    """Wait for the server's end: a worker of one that was killed would wait for jobs without end."""
    server = multiprocessing.parent_process()
    assert server is not None
    with suppress(OSError):
        server.join()
    os._exit(1)
