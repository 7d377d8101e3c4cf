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
from happycity.runtime.child import Child, describe_status
from happycity_server.workers.spawn import spawn
from happycity_server.workers.task import WorkerTask

START_SECONDS = 60.0
STOP_SECONDS = 5.0

_log = structlog.get_logger()


class WorkerStartError(HappyCityError):
    """A worker can't be started."""


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

    async def start(self, task: WorkerTask) -> StartedWorker:
        """Start a worker; raise a WorkerStartError if it doesn't come to listen."""


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

    def __init__(self, spare: Iterable[Child] = ()) -> None:
        """Use the `spare` processes first, which `spawn` has started before."""
        self._spare = list(spare)

    async def start(self, task: WorkerTask) -> LocalWorker:
        """Start a worker; raise a WorkerStartError if it doesn't come to listen."""
        child = self._spare.pop() if self._spare else spawn()
        try:
            assert child.stdin is not None
            with suppress(BrokenPipeError):  # its end says it
                child.stdin.write(f"{task.model_dump_json(exclude_unset=True)}\n".encode())
                child.stdin.flush()
            assert child.stdout is not None
            async with asyncio.timeout(START_SECONDS):
                line = await asyncio.to_thread(child.stdout.readline)
            addresses = json.loads(line or b"{}")
            if "listening" not in addresses:
                problem = addresses.get("error", "it ended before it listened; the log says why")
                raise WorkerStartError(f"worker {task.number}: {problem}")
        except TimeoutError:
            await _end(child)
            raise WorkerStartError(
                f"worker {task.number}: it doesn't listen after {START_SECONDS:g} s"
            ) from None
        except BaseException:
            await _end(child)
            raise
        _log.info("worker_started", worker=task.number, pid=child.pid, address=addresses["listening"])
        return LocalWorker(addresses["listening"], addresses["control"], child)


async def _end(child: Child) -> None:
    if child.stdin is not None:
        with suppress(BrokenPipeError):
            child.stdin.close()
    await child.stop(STOP_SECONDS)
    if child.stdout is not None:
        child.stdout.close()
