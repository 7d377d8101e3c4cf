"""Calling a function for each item of a long stream, in several processes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_AHEAD = 4  # chunks for each process that run or wait, so that a stream of any length takes little memory


def in_processes(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    *,
    processes: int,
    chunk: int,
    alone: int = 0,
) -> Iterator[_Result]:
    """Yield the results of a function of a module in the order of the items, and raise what it raises.

    A process gets `chunk` items at once; if there are no more than that, all is done in this process, which
    also does the first `alone` items.
    """
    stream = iter(items)
    yield from map(function, islice(stream, alone))
    chunks = iter(lambda: list(islice(stream, chunk)), [])
    first = list(islice(chunks, 2))
    if processes == 1 or len(first) < 2:
        for part in (*first, *chunks):
            yield from map(function, part)
        return
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin) as pool:
        waiting = [pool.submit(_mapped, function, part) for part in first]
        try:
            while waiting:
                ahead = islice(chunks, _AHEAD * processes - len(waiting))
                waiting += [pool.submit(_mapped, function, part) for part in ahead]
                yield from waiting.pop(0).result()
        finally:
            pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _mapped(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    return list(map(function, items))
