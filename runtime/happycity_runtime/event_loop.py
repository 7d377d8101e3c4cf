"""The event loop of a program, its tasks, and the signals that end it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import IO, Any, TypeVar

from happycity_entry import EXIT_STOPPED as EXIT_STOPPED  # noqa: PLC0414 - others import it from here
from happycity_runtime.program import open_standard_streams

_T = TypeVar("_T")

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run `main` on uvloop where that is installed, else on asyncio's own loop."""
    open_standard_streams()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def run_until_stopped(main: Coroutine[Any, Any, _T]) -> _T:
    """Run `main` until its end, and cancel it at the first SIGINT or SIGTERM.

    CancelledError is raised if it was stopped by a signal; further signals don't interrupt its clean-up.
    """

    async def stoppable() -> _T:
        task = asyncio.create_task(main)
        with on_stop_signal(lambda: task.cancelling() or task.cancel()):
            return await task

    return run(stoppable())


@asynccontextmanager
async def running(*calls: Awaitable[Any]) -> AsyncIterator[list[asyncio.Future[Any]]]:
    """Run calls as tasks, which end with the context: see `end_tasks`."""
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(call) for call in calls]
    try:
        yield tasks
    finally:
        await end_tasks(*tasks)


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and wait until they have ended; what they raise is ignored."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def spawn(work: Coroutine[Any, Any, _T], tasks: set[asyncio.Task[Any]]) -> asyncio.Task[_T]:
    """Run a coroutine as a task that is among `tasks` until it ends, as the event loop doesn't keep it."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait until one of some coroutines ends, and cancel the others; its failure is raised."""
    async with running(*waits) as tasks:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


def loops_own(pipe: IO[bytes]) -> IO[bytes]:
    """Return a pipe for the running event loop, which closes it, in a form in which it does so once.

    uvloop closes the descriptor of a pipe, and then the file: by then another thread may have opened
    something under the same number, and loses it.
    """
    if not type(asyncio.get_running_loop()).__module__.startswith("uvloop"):
        return pipe
    with pipe:
        return open(os.dup(pipe.fileno()), pipe.mode, buffering=0, closefd=False)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop  # noqa: PLC0415 - not installed with a bare SDK
    except ImportError:
        return None
    return uvloop.new_event_loop


@contextmanager
def on_stop_signal(
    handler: Callable[[], object], signals: Sequence[signal.Signals] = STOP_SIGNALS
) -> Iterator[None]:
    """Call `handler` for each SIGINT and SIGTERM, or of other signals, while the context lasts.

    It does so also where the process inherited another disposition, as a background job ignores SIGINT.
    """
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":  # its loops know no signal handlers
        previous = [
            (number, signal.signal(number, lambda *_: loop.call_soon_threadsafe(handler)))
            for number in signals
        ]
        try:
            yield
        finally:
            for number, older in previous:
                signal.signal(number, older)
        return
    for number in signals:
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
