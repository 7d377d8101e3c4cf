"""The process that talks to Ray, as the server sees it, and the workers that it has started on nodes."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from pydantic import ValidationError

from happycity import HappyCityError
from happycity.match import one_line
from happycity.runtime.child import Child, child_environment
from happycity_server.workers.local import WorkerStartError
from happycity_server.workers.task import DriverReport, DriverRequest, DriverTask, Report

CONNECT_SECONDS = 60.0
"""How long Ray may take to connect, and to take the code, before the run is given up."""
STOP_SECONDS = 15.0
"""How long a worker may take to end that was asked to; its bots get 10 s of them."""
RAY_LOG = "ray.log"

_log = structlog.get_logger()


class ClusterError(HappyCityError):
    """A cluster can't be used."""


@dataclass(slots=True, eq=False)
class NodeWorker:
    """A worker on a node."""

    number: int
    started: int
    """Tells it from those of the same number before it."""
    driver: Driver
    address: str = ""
    control: str = ""
    node: str = ""
    ready: asyncio.Future[WorkerStartError | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    """Done when it listens, or with the reason why it doesn't come to."""
    over: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done when nothing of it is left, with how it ended."""
    problem: str = ""
    """Why it ended, or didn't start; "" while nobody knows."""

    async def wait(self) -> str:
        """Return how it ended."""
        return await asyncio.shield(self.over)

    async def stop(self) -> None:
        """End it with its bots; kill it if it doesn't end."""
        self.driver.request(DriverRequest(worker=self.started))
        await asyncio.wait((self.over,), timeout=STOP_SECONDS)
        if not self.over.done():
            self.kill()
            await asyncio.wait((self.over,), timeout=STOP_SECONDS)

    def renew_files(self, files: dict[str, str]) -> None:
        """Replace files of its node."""
        self.driver.request(DriverRequest(worker=self.started, files=files))

    def kill(self) -> None:
        """End it at once."""
        self.driver.request(DriverRequest(worker=self.started, kill=True))


class Driver:
    """The process that talks to Ray, and its workers."""

    def __init__(
        self,
        child: Child,
        folder: Path | None,
        on_report: Callable[[NodeWorker, Report], None],
        on_loss: Callable[[NodeWorker], None],
    ) -> None:
        self._workers: dict[int, NodeWorker] = {}
        self._starts = itertools.count(1)
        self._child = child
        self._log = "the log" if folder is None else str(folder / RAY_LOG)
        self._on_report = on_report
        self._on_loss = on_loss
        self._reading: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        """Whether it can be asked for something."""
        return self._reading is not None and not self._reading.done()

    async def connect(self, address: str, *, cpus: int) -> tuple[float, ...]:
        """Connect to a cluster, where each worker gets so many CPUs; return those of its nodes.

        Raises:
            ClusterError: it can't be used.
        """
        self._write(DriverTask(address=address, cpus=cpus).model_dump_json())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                report = await self._report()
        except TimeoutError:
            raise ClusterError(f"--ray {address}: Ray gives no answer after {CONNECT_SECONDS:g} s") from None
        if report is None:
            raise ClusterError(f"--ray {address}: Ray can't be used; {self._log} says why")
        if report.failed:
            raise ClusterError(f"--ray {address}: {report.failed}")
        self._reading = asyncio.create_task(self._read())
        return report.nodes

    def start(self, number: int, task: str) -> NodeWorker:
        """Start a worker on a node with its task."""
        worker = NodeWorker(number, next(self._starts), self)
        self._workers[worker.started] = worker
        self.request(DriverRequest(worker=worker.started, start=task))
        return worker

    def request(self, request: DriverRequest) -> None:
        """Ask for something; a driver that has ended is noticed by its reader."""
        self._write(request.model_dump_json(exclude_defaults=True))

    async def stop(self) -> None:
        """End the process, with all workers that are left."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        await self._child.wait(STOP_SECONDS)
        await self._child.stop(STOP_SECONDS)
        if self._reading is not None:
            await self._reading
        assert self._child.stdout is not None
        self._child.stdout.close()

    def _write(self, line: str) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(f"{line}\n".encode())
            self._child.stdin.flush()
        except (BrokenPipeError, ValueError):  # it has ended
            return

    async def _read(self) -> None:
        """Take the lines of the process until it ends; then all its workers are lost."""
        while (report := await self._report()) is not None:
            worker = self._workers.get(report.worker)
            if worker is None:
                continue
            if report.report is not None:
                self._on_report(worker, report.report)
            if report.lost:
                self._end(worker, report.lost)
        for worker in list(self._workers.values()):
            self._end(worker, "the connection to the Ray cluster was lost")

    def _end(self, worker: NodeWorker, reason: str) -> None:
        """Note that nothing of a worker is left."""
        worker.problem = worker.problem or one_line(reason)
        del self._workers[worker.started]
        worker.over.set_result(worker.problem)
        if not worker.ready.done():
            worker.ready.set_result(WorkerStartError(f"worker {worker.number}: {worker.problem}"))
        else:
            self._on_loss(worker)

    async def _report(self) -> DriverReport | None:
        """Return the next line of the process; None at its end."""
        assert self._child.stdout is not None
        line = await asyncio.to_thread(self._child.stdout.readline)
        try:
            return DriverReport.model_validate_json(line) if line else None
        except ValidationError:
            _log.error("ray_driver_line", line=line.decode(errors="replace")[:200])
            return None


def spawn_driver(folder: Path | None) -> Child:
    """Start the process that talks to Ray; it ends with this one.

    What Ray logs goes to a file in the folder; without one, it goes where this process's log goes.

    Raises:
        ChildError: it can't be started.
    """
    with nullcontext() if folder is None else (folder / RAY_LOG).open("ab") as log:
        return Child.start(
            [sys.executable, "-m", "happycity_server.workers.ray_driver"],
            environment=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
