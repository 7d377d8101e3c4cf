"""Starts workers as processes on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import structlog

from happycity import HappyCityError
from happycity.runtime.child import Child, ChildError, describe_status
from happycity_server.workers.spawn import spawn
from happycity_server.workers.task import WorkerTask

START_SECONDS = 20.0
"""How long a worker may take to listen: less than a run waits for its server, which waits for its workers."""
STOP_SECONDS = 5.0

_log = structlog.get_logger()


class WorkerStartError(HappyCityError):
    """A worker can't be started."""


class WorkerSettingsError(WorkerStartError):
    """A worker can't use its settings, and says why: its address is taken, for example."""


class StartedWorker(Protocol):
    """A worker that runs somewhere."""

    @property
    def address(self) -> str:
        """Where bots connect, as it is listened on."""

    @property
    def control(self) -> str:
        """Where the server reaches it."""

    async def wait(self) -> str:
        """Return how it ended."""

    async def stop(self) -> None:
        """End it; kill it if it doesn't end."""


class Launcher(Protocol):
    """Starts workers somewhere."""

    @property
    def keeps_addresses(self) -> bool:
        """Whether a worker that starts again listens where it did before."""

    @property
    def has_bots(self) -> bool:
        """Whether each worker has bots of its own there: nobody waits for it or is sent to it."""

    @property
    def has_house(self) -> bool:
        """Whether each worker runs the server's own bots itself; else the server's connect to it."""

    async def start(self, task: WorkerTask) -> StartedWorker:
        """Start a worker.

        Raises:
            WorkerSettingsError: it can't use its settings.
            WorkerStartError: it doesn't come to listen.
        """


@dataclass(frozen=True, slots=True)
class LocalWorker:
    """A worker on this machine; it ends with this process."""

    address: str
    control: str
    child: Child

    async def wait(self) -> str:
        """Return how it ended."""
        status = await self.child.wait()
        assert status is not None
        return describe_status(status)

    async def stop(self) -> None:
        """End it; kill it if it doesn't end."""
        await _end(self.child)


class LocalLauncher:
    """Starts workers as processes on this machine, whose logs go where this process's go."""

    keeps_addresses = True
    has_bots = False
    has_house = False

    def __init__(self, spare: Iterable[Child] = (), *, start_seconds: float = START_SECONDS) -> None:
        """Use the `spare` processes first, which `spawn` has started before."""
        self._spare = list(spare)
        self._start_seconds = start_seconds

    async def start(self, task: WorkerTask) -> LocalWorker:
        """Start a worker; see `Launcher.start`."""
        try:
            child = self._spare.pop() if self._spare else spawn()
        except ChildError as error:
            raise WorkerStartError(f"worker {task.number}: {error}") from None
        try:
            listening, control = await _addresses(child, task, self._start_seconds)
        except BaseException:
            await _end(child)
            raise
        _log.info("worker_started", worker=task.number, pid=child.pid, address=listening)
        return LocalWorker(listening, control, child)


async def _addresses(child: Child, task: WorkerTask, seconds: float) -> tuple[str, str]:
    """Give a process its task; return where it listens for bots, and where for the server."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError):  # its end says it
        child.stdin.write(f"{task.model_dump_json(exclude_unset=True)}\n".encode())
        child.stdin.flush()
    try:
        async with asyncio.timeout(seconds):
            line = await asyncio.to_thread(child.stdout.readline)
    except TimeoutError:
        raise WorkerStartError(f"worker {task.number}: it doesn't listen after {seconds:g} s") from None
    try:
        answer = json.loads(line)
        if "error" not in answer:
            return str(answer["listening"]), str(answer["control"])
    except (ValueError, KeyError, TypeError):
        text = f"worker {task.number}: it ended before it listened; the log says why"
        raise WorkerStartError(text) from None
    raise WorkerSettingsError(f"worker {task.number}: {answer['error']}")


async def _end(child: Child) -> None:
    if child.stdin is not None:
        with suppress(BrokenPipeError):
            child.stdin.close()
    await child.stop(STOP_SECONDS)
    if child.stdout is not None:
        child.stdout.close()
