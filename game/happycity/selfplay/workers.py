"""Worker processes that play games in step; the arrays are in memory that all of them share."""

from __future__ import annotations

import math
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from numpy.typing import NDArray

from happycity.errors import ConfigError, IllegalMoveError
from happycity.rules.deals import Config
from happycity.selfplay.batch import Arrays, Batch
from happycity.selfplay.rewards import Reward

_ALIGNMENT = 64  # bytes, a cache line
_ENDING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Share:
    """What one worker plays."""

    memory_name: str
    config: Config
    games: int
    """Of all workers."""
    rows: slice
    """Those of this one."""
    seed: int
    reward: Reward


class Workers:
    """Processes that each play a share of the games."""

    def __init__(self, config: Config, *, games: int, seed: int, workers: int, reward: Reward) -> None:
        context = get_context("spawn")
        self._memory = SharedMemory(create=True, size=_bytes_of(config, games))
        self.arrays = _arrays_in(self._memory, config, games)
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        for number in range(workers):
            rows = slice(number * games // workers, (number + 1) * games // workers)
            share = _Share(self._memory.name, config, games, rows, seed, reward)
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, share), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)
        self._await_all()

    def step(self, actions: Sequence[int] | NDArray[np.integer]) -> None:
        """Let all workers play, and wait for them."""
        self.arrays.actions[:] = actions
        for pipe in self._pipes:
            try:
                pipe.send(None)
            except OSError:
                raise ConfigError(_ENDED) from None
        self._await_all()

    def close(self) -> None:
        """End the processes and free the memory."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(_ENDING_SECONDS)
            if process.is_alive():
                process.kill()
        self._pipes, self._processes = [], []
        if hasattr(self, "arrays"):
            del self.arrays
            self._memory.unlink()

    def _await_all(self) -> None:
        illegal: IllegalMoveError | None = None
        for pipe in self._pipes:
            try:
                illegal = pipe.recv() or illegal
            except (EOFError, OSError):
                raise ConfigError(_ENDED) from None
        if illegal is not None:
            raise illegal


_ENDED = "workers: a worker process has ended"


def _work(pipe: Connection, share: _Share) -> None:
    """Play a share of the games until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    memory = SharedMemory(name=share.memory_name)
    rows = share.rows
    arrays = _arrays_in(memory, share.config, share.games).rows(rows)
    seeds = range(share.seed + rows.start, share.seed + rows.stop)
    batch = Batch(share.config, seeds=seeds, stride=share.games, reward=share.reward, arrays=arrays)
    pipe.send(None)
    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        try:
            batch.step(arrays.actions.tolist())
        except IllegalMoveError as error:
            pipe.send(error)
        else:
            pipe.send(None)


def _places(config: Config, games: int) -> dict[str, int]:
    """Return where each array begins, and under "" where the last one ends."""
    places, at = {}, 0
    for name, (shape, dtype) in Arrays.shapes(config, games).items():
        places[name] = at
        size = math.prod(shape) * np.dtype(dtype).itemsize
        at += -(-size // _ALIGNMENT) * _ALIGNMENT
    places[""] = at
    return places


def _bytes_of(config: Config, games: int) -> int:
    return _places(config, games)[""]


def _arrays_in(memory: SharedMemory, config: Config, games: int) -> Arrays:
    places, shapes = _places(config, games), Arrays.shapes(config, games)
    return Arrays(
        **{
            name: np.ndarray(shape, dtype, buffer=memory.buf, offset=places[name])
            for name, (shape, dtype) in shapes.items()
        }
    )
