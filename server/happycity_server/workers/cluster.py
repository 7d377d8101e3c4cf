"""Starts workers with their bots on the nodes of a Ray cluster."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from pydantic import ValidationError

from happycity import HappyCityError
from happycity.match import one_line
from happycity.plural import plural
from happycity.runtime.child import Child, child_environment
from happycity_server.workers.local import WorkerSettingsError, WorkerStartError
from happycity_server.workers.task import (
    HOST_OF_THE_NODE,
    DriverReport,
    DriverRequest,
    DriverTask,
    NodeTask,
    Report,
    WorkerTask,
)
from happycity_tournament.bots.cluster import CPUS_OF_A_WORKER, ClusterTask

CONNECT_SECONDS = 90.0
"""How long Ray may take to connect, and to take the code, before the run is given up."""
START_SECONDS = 120.0
"""How long a worker may take to listen: its node is chosen, or started, and gets the code first."""
STOP_SECONDS = 15.0
"""How long a worker may take to end that was asked to; its bots get 10 s of them."""
MOST_WORKERS = 256

_log = structlog.get_logger()
Remark = Callable[[str], None]


class ClusterError(HappyCityError):
    """A cluster can't be used."""


@dataclass(slots=True, eq=False)
class NodeWorker:
    """A worker on a node."""

    number: int
    started: int
    """Tells it from those of the same number before it."""
    driver: _Driver
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
            self.driver.request(DriverRequest(worker=self.started, kill=True))
            await asyncio.wait((self.over,), timeout=STOP_SECONDS)


class _Driver:
    """The process that talks to Ray, and its workers."""

    def __init__(
        self,
        child: Child,
        on_report: Callable[[NodeWorker, Report], None],
        on_loss: Callable[[NodeWorker], None],
    ) -> None:
        self.workers: dict[int, NodeWorker] = {}
        self._child = child
        self._on_report = on_report
        self._on_loss = on_loss
        self._reading: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        """Whether it can be asked for something."""
        return self._reading is not None and not self._reading.done()

    async def connect(self, address: str) -> tuple[float, ...]:
        """Connect to a cluster; return the CPUs of its nodes.

        Raises:
            ClusterError: it can't be used.
        """
        self._write(DriverTask(address=address, cpus=CPUS_OF_A_WORKER).model_dump_json())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                report = await self._report()
        except TimeoutError:
            raise ClusterError(f"--ray {address}: Ray gives no answer after {CONNECT_SECONDS:g} s") from None
        if report is None:
            raise ClusterError(f"--ray {address}: Ray can't be used; the server's log says why")
        if report.failed:
            raise ClusterError(f"--ray {address}: {report.failed}")
        self._reading = asyncio.create_task(self._read())
        return report.nodes

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
            worker = self.workers.get(report.worker)
            if worker is None:
                continue
            if report.report is not None:
                self._on_report(worker, report.report)
            if report.lost:
                self._end(worker, report.lost)
        for worker in list(self.workers.values()):
            self._end(worker, "the connection to the Ray cluster was lost")

    def _end(self, worker: NodeWorker, reason: str) -> None:
        """Note that nothing of a worker is left."""
        worker.problem = worker.problem or one_line(reason)
        del self.workers[worker.started]
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


class RayLauncher:
    """Starts workers on the nodes of a cluster, and notes what becomes of them and of their bots."""

    remote = True

    def __init__(self, task: ClusterTask, remark: Remark) -> None:
        self.workers = 0
        """How many workers the cluster is to have, once it is connected."""
        self._task = task
        self._remark = remark
        self._driver: _Driver | None = None
        self._connecting = asyncio.Lock()
        self._starts = itertools.count(1)
        self._seen: set[int] = set()
        self._failures: set[str] = set()

    async def connect(self, driver: Child) -> None:
        """Connect to the cluster by a process that `spawn_driver` has started.

        Raises:
            ClusterError: the cluster can't be used.
        """
        nodes = await self._connect(driver)
        by_cpus = sum(int(cpus) // CPUS_OF_A_WORKER for cpus in nodes)
        self.workers = self._task.workers or min(by_cpus, self._task.most_workers, MOST_WORKERS)
        if not self.workers:
            await self.close()
            raise ClusterError(
                f"--ray {self._task.address}: no node has {CPUS_OF_A_WORKER} CPUs, which a worker takes"
            )
        size, workers = plural(len(nodes), "node"), plural(self.workers, "worker")
        self._remark(f"Ray cluster of {size}: starting {workers}")

    async def start(self, task: WorkerTask) -> NodeWorker:
        """Start a worker; see `Launcher.start`."""
        async with self._connecting:
            if self._driver is None or not self._driver.runs:
                try:
                    await self._connect(spawn_driver())
                except HappyCityError as error:
                    raise WorkerStartError(f"worker {task.number}: {error}") from None
        driver = self._driver
        assert driver is not None
        worker = NodeWorker(task.number, next(self._starts), driver)
        driver.workers[worker.started] = worker
        tokens = await asyncio.to_thread(task.settings.tokens.read_text)
        on_node = NodeTask(
            worker=task.model_copy(update={"control_host": HOST_OF_THE_NODE}),
            tokens=tokens,
            bots=self._task.bots,
        ).model_dump_json(exclude_unset=True)
        driver.request(DriverRequest(worker=worker.started, start=on_node))
        try:
            async with asyncio.timeout(START_SECONDS):
                problem = await asyncio.shield(worker.ready)
        except TimeoutError:
            driver.request(DriverRequest(worker=worker.started, kill=True))
            where = (
                f" on {worker.node}" if worker.node else f": no node has {CPUS_OF_A_WORKER} CPUs free for it"
            )
            late = WorkerStartError(
                f"worker {task.number}: it doesn't listen after {START_SECONDS:g} s{where}"
            )
            self._note_failure(late)
            raise late from None
        except asyncio.CancelledError:
            driver.request(DriverRequest(worker=worker.started, kill=True))
            raise
        if problem is not None:
            self._note_failure(problem)
            raise problem
        _log.info("worker_started", worker=task.number, node=worker.node, control=worker.control)
        self._note_start(worker)
        return worker

    async def close(self) -> None:
        """End the driver, with all that is left."""
        if self._driver is not None:
            await self._driver.stop()

    async def _connect(self, child: Child) -> tuple[float, ...]:
        driver = _Driver(child, self._note, self._note_loss)
        try:
            nodes = await driver.connect(self._task.address)
        except BaseException:
            await driver.stop()
            raise
        self._driver = driver
        return nodes

    def _note_start(self, worker: NodeWorker) -> None:
        """Say that a worker plays: once for all at the start, then of each that comes back."""
        if worker.number in self._seen:
            self._remark(f"worker {worker.number} plays again, on {worker.node}")
            return
        self._seen.add(worker.number)
        if len(self._seen) == self.workers:
            self._remark(f"{plural(self.workers, 'worker')} on the nodes play")

    def _note_loss(self, worker: NodeWorker) -> None:
        if worker.control:
            self._remark(
                f"worker {worker.number} on {worker.node} was lost: {worker.problem}; it starts again"
            )

    def _note_failure(self, problem: WorkerStartError) -> None:
        """Say why a worker doesn't start; it is tried again and again, and each reason is said once."""
        if str(problem) not in self._failures:
            self._failures.add(str(problem))
            self._remark(f"{problem}; trying again")

    def _note(self, worker: NodeWorker, report: Report) -> None:
        """Take what happened on the node of a worker."""
        if report.node:
            worker.node = report.node
        if report.control:
            worker.address, worker.control = report.listening, report.control
            if not worker.ready.done():
                worker.ready.set_result(None)
        if report.ended:
            worker.problem = one_line(report.ended)
        if report.failed:
            worker.problem = one_line(f"{report.failed} (on {worker.node})")
            kind = WorkerSettingsError if report.refused else WorkerStartError
            if not worker.ready.done():
                worker.ready.set_result(kind(f"worker {worker.number}: {worker.problem}"))
        if report.bot_ended:
            self._remark(f"{one_line(report.bot_ended)} (on {worker.node}); its games there are forfeited")
        if report.output:
            path = self._task.folder / Path(report.log).name
            with path.open("a", encoding="utf-8") as file:
                file.write(report.output)


class Cluster:
    """The cluster of a run, and the process that is to talk to it, which imports meanwhile what it needs."""

    def __init__(self, task: ClusterTask) -> None:
        """Start the process.

        Raises:
            ChildError: it can't be started.
        """
        self._task = task
        self._driver = spawn_driver()

    @asynccontextmanager
    async def launcher(self, remark: Remark) -> AsyncIterator[RayLauncher]:
        """Give what starts workers on the nodes; they end with the context. `remark` gets lines for people.

        Raises:
            ClusterError: the cluster can't be used.
        """
        launcher = RayLauncher(self._task, remark)
        await launcher.connect(self._driver)
        try:
            yield launcher
        finally:
            await launcher.close()


def spawn_driver() -> Child:
    """Start the process that talks to Ray; it ends with this one.

    Raises:
        ChildError: it can't be started.
    """
    return Child.start(
        [sys.executable, "-m", "happycity_server.workers.ray_driver"],
        environment=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None,
    )
