"""The processes in which simulations are played, so that no match waits for them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from typing import TypeVar

import structlog

from happycity_server.refusals import Reason, Refusal
from happycity_server.workers import prepare

_log = structlog.get_logger()
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


class Simulators:
    """Worker processes, started when they are first needed.

    They are spawned, not forked: a fork would take the threads of gRPC by surprise. Jobs are short, and each
    call has no more of them waiting than keep the workers busy; so calls take turns, and one that is
    cancelled costs nothing more than what is being played at that moment.
    """

    def __init__(self, workers: int) -> None:
        """Take how many processes there may be; 0 turns simulations off."""
        self.playouts = 0
        """Playouts since the start."""
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._starting = asyncio.Lock()
        self._closing = False

    def check_served(self) -> None:
        """Refuse a call if there are no simulations here, or no more.

        Raises:
            Refusal: that is so.
        """
        if not self._workers:
            raise Refusal(Reason.UNSUPPORTED_SERVICE, "simulations are turned off on this server")
        if self._closing:
            raise Refusal(Reason.SHUTTING_DOWN, "the server is shutting down")

    async def run(
        self, function: Callable[[_Job], _Result], jobs: Iterable[_Job]
    ) -> AsyncGenerator[_Result, None]:
        """Have the workers do jobs; yield the results in the order of the jobs.

        Raises:
            Refusal: the server shuts down meanwhile.
        """
        pool = await self._started()
        loop = asyncio.get_running_loop()
        waiting: deque[asyncio.Future[_Result]] = deque()
        try:
            for job in jobs:
                self.check_served()
                waiting.append(loop.run_in_executor(pool, function, job))
                if len(waiting) > self._workers:  # one more, so that no worker waits for the event loop
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        except BrokenExecutor:
            self._give_up(pool)
            raise
        finally:
            for future in waiting:
                future.cancel()

    def close_soon(self) -> None:
        """Begin nothing more; calls that are being served end after their present job."""
        self._closing = True

    async def close(self) -> None:
        """End the processes."""
        self.close_soon()
        async with self._starting:
            pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)

    async def _started(self) -> ProcessPoolExecutor:
        async with self._starting:
            self.check_served()
            if self._pool is None:
                # In a thread, as starting a process takes longer than the event loop should wait.
                self._pool = await asyncio.to_thread(_new_pool, self._workers)
                _log.info("simulators_started", workers=self._workers)
            return self._pool

    def _give_up(self, pool: ProcessPoolExecutor) -> None:
        """Forget a pool of which a process died; the next call starts another one."""
        if self._pool is pool:
            self._pool = None
            _log.error("simulators_died")


def _new_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool with all its processes started: one for each job that finds no idle one."""
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=prepare)
    for _ in range(workers):
        pool.submit(os.getpid)
    return pool
