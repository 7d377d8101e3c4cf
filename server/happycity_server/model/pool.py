"""The processes in which simulations are played, so that no match waits for them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
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


class PlayoutPool:
    """Worker processes, started when they are first needed.

    They are spawned, not forked: a fork would copy the threads of gRPC in the middle of their work. Jobs are
    short, and each call has no more of them waiting than keep the workers busy; so calls take turns, and one
    that is cancelled costs nothing more than what is being played at that moment.
    """

    def __init__(self, workers: int) -> None:
        """Limit the number of processes."""
        self.playouts = 0
        """Playouts since the start."""
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._starting = asyncio.Lock()
        self._closing = False

    async def run(
        self, function: Callable[[_Job], _Result], jobs: Iterable[_Job]
    ) -> AsyncGenerator[_Result, None]:
        """Run jobs in the processes; yield the results in the order of the jobs.

        Raises:
            ApiError: the server is shutting down.
        """
        pool = await self._started()
        loop = asyncio.get_running_loop()
        waiting: deque[asyncio.Future[_Result]] = deque()
        try:
            for job in jobs:
                self._check_open()
                waiting.append(loop.run_in_executor(pool, function, job))
                if len(waiting) > self._workers:  # one more, so that no worker waits for the event loop
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        except BrokenExecutor:
            self._discard(pool)
            raise
        finally:
            for future in waiting:
                future.cancel()

    def close_soon(self) -> None:
        """Start nothing more; calls that are being served end after their present job."""
        self._closing = True

    async def close(self) -> None:
        """End the processes."""
        self.close_soon()
        async with self._starting:
            pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    def _check_open(self) -> None:
        if self._closing:
            raise ApiError(Reason.SHUTTING_DOWN, "the server is shutting down")

    async def _started(self) -> ProcessPoolExecutor:
        async with self._starting:
            self._check_open()
            if self._pool is None:
                # In a thread, as starting a process takes longer than the event loop should wait.
                self._pool = await asyncio.to_thread(_new_pool, self._workers)
                _log.info("simulation_started", workers=self._workers)
            return self._pool

    def _discard(self, pool: ProcessPoolExecutor) -> None:
        """Forget a pool of which a process died; the next call starts another one."""
        if self._pool is pool:
            self._pool = None
            _log.error("simulation_process_died")


def _new_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool with all its processes started: one for each job that finds no idle one."""
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_prepare_worker)
    for _ in range(workers):
        pool.submit(os.getpid)
    return pool


def _prepare_worker() -> None:
    """Lower the priority of a new process, leave stopping to its server, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal
    if sys.platform != "win32":
        os.nice(NICENESS)
    threading.Thread(target=_end_with_server, name="server", daemon=True).start()


def _end_with_server() -> None:
    """Wait for the server's end: a worker of one that was killed would wait for jobs for ever."""
    server = multiprocessing.parent_process()
    assert server is not None
    with suppress(OSError):
        server.join()
    os._exit(1)
