"""Starts workers with their bots on the nodes of a Ray cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog

from happycity import HappyCityError
from happycity.match import one_line
from happycity.runtime.child import Child
from happycity.text.plural import plural
from happycity_server.config import MAX_WORKERS, ServerSettings
from happycity_server.workers.driver import ClusterError, Driver, NodeWorker, spawn_driver
from happycity_server.workers.local import WorkerSettingsError, WorkerStartError
from happycity_server.workers.task import (
    FILES,
    HOST_OF_THE_NODE,
    NodeTask,
    Report,
    WorkerTask,
)
from happycity_tournament.bots.cluster import ClusterTask

START_SECONDS = 120.0
"""How long a worker may take to listen: its node is chosen, or started, and gets the code first."""
FILES_SECONDS = 1.0
"""How often the server's tokens and certificates are looked at, which the nodes have copies of."""

_log = structlog.get_logger()
Remark = Callable[[str], None]


class RayLauncher:
    """Starts workers on the nodes of a cluster, and notes what becomes of them and of their bots."""

    keeps_addresses = False
    has_house = True  # the server's own bots don't reach a node without TLS

    def __init__(self, task: ClusterTask, remark: Remark) -> None:
        self.workers = 0
        """How many workers the cluster is to have, once it is connected."""
        self._task = task
        self._remark = remark
        self._driver: Driver | None = None
        self._connecting = asyncio.Lock()
        self._renewing: set[asyncio.Task[None]] = set()
        self._seen: set[int] = set()
        self._failures: set[str] = set()

    @property
    def has_bots(self) -> bool:
        """See `Launcher.has_bots`."""
        return self._task.bots is not None

    async def connect(self, driver: Child) -> None:
        """Connect to the cluster by a process that `spawn_driver` has started.

        Raises:
            ClusterError: the cluster can't be used.
        """
        nodes = await self._connect(driver)
        by_cpus = sum(int(cpus) // self._task.cpus_of_a_worker for cpus in nodes)
        self.workers = self._task.workers or min(by_cpus, self._task.most_workers, MAX_WORKERS)
        if not self.workers:
            await self.close()
            raise ClusterError(f"--ray {self._task.address}: no node has {self._cpus}, which a worker takes")
        size, workers = plural(len(nodes), "node"), plural(self.workers, "worker")
        self._remark(f"Ray cluster of {size}: starting {workers}")

    async def start(self, task: WorkerTask) -> NodeWorker:
        """Start a worker; see `Launcher.start`."""
        try:
            driver = await self._connected()
            files = await asyncio.to_thread(contents_of, task.settings)
            worker = driver.start(task.number, self._on_node(task, files))
            await self._ready(worker)
        except WorkerStartError as error:
            self._note_failure(error)
            raise
        _log.info("worker_started", worker=task.number, node=worker.node, control=worker.control)
        self._note_start(worker)
        renewing = asyncio.create_task(_renew_files(worker, task.settings, files))
        self._renewing.add(renewing)
        renewing.add_done_callback(self._renewing.discard)
        return worker

    def _on_node(self, task: WorkerTask, files: dict[str, str]) -> str:
        """Return what a node gets to run a worker."""
        own = task.model_copy(update={"control_host": HOST_OF_THE_NODE})
        on_node = NodeTask(worker=own, files=files, bots=self._task.bots)
        return on_node.model_dump_json(exclude_unset=True)

    @property
    def _cpus(self) -> str:
        return plural(self._task.cpus_of_a_worker, "CPU")

    async def _ready(self, worker: NodeWorker) -> None:
        """Wait until a worker listens; kill one that doesn't come to, or isn't waited for any longer."""
        try:
            async with asyncio.timeout(START_SECONDS):
                problem = await asyncio.shield(worker.ready)
        except TimeoutError:
            worker.kill()
            where = f" on {worker.node}" if worker.node else f": no node has {self._cpus} free"
            text = f"worker {worker.number}: it doesn't listen after {START_SECONDS:g} s{where}"
            raise WorkerStartError(text) from None
        except asyncio.CancelledError:
            worker.kill()
            raise
        if problem is not None:
            raise problem

    async def _connected(self) -> Driver:
        """Return the driver, or another one if that has ended."""
        async with self._connecting:
            if self._driver is None or not self._driver.runs:
                await self.close()
                try:
                    await self._connect(spawn_driver(self._task.folder))
                except HappyCityError as error:
                    raise WorkerStartError(f"Ray: {error}") from None
            assert self._driver is not None
            return self._driver

    async def close(self) -> None:
        """End the driver, with all that is left."""
        if self._driver is not None:
            await self._driver.stop()
        await asyncio.gather(*self._renewing)

    async def _connect(self, child: Child) -> tuple[float, ...]:
        driver = Driver(child, self._task.folder, self._note, self._note_loss)
        try:
            nodes = await driver.connect(self._task.address, cpus=self._task.cpus_of_a_worker)
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
            problem = report.failed.removeprefix(f"worker {worker.number}: ")
            worker.problem = one_line(f"{problem} (on {worker.node})")
            kind = WorkerSettingsError if report.refused else WorkerStartError
            if not worker.ready.done():
                worker.ready.set_result(kind(f"worker {worker.number}: {worker.problem}"))
        if report.bot_ended:
            self._remark(f"{one_line(report.bot_ended)} (on {worker.node}); its games there are forfeited")
        if report.output and self._task.folder is not None:
            path = self._task.folder / Path(report.log).name
            with path.open("a", encoding="utf-8") as file:
                file.write(report.output)


def contents_of(settings: ServerSettings) -> dict[str, str]:
    """Return the contents of the files that a worker reads, as far as they are there, by their settings."""
    contents = {}
    for name in FILES:
        path: Path | None = getattr(settings, name)
        if path is not None:
            with suppress(OSError, UnicodeDecodeError):  # the node keeps its copy
                contents[name] = path.read_text(encoding="utf-8")
    return contents


async def _renew_files(worker: NodeWorker, settings: ServerSettings, files: dict[str, str]) -> None:
    """Send the files of the settings to a worker's node whenever they change, until the worker is over."""
    while not worker.over.done():
        await asyncio.wait((worker.over,), timeout=FILES_SECONDS)
        current = await asyncio.to_thread(contents_of, settings)
        if current != files:
            worker.renew_files(current)
            files = current


class Cluster:
    """A cluster, and the process that is to talk to it, which imports meanwhile what it needs."""

    def __init__(self, task: ClusterTask) -> None:
        """Start the process.

        Raises:
            ChildError: it can't be started.
        """
        self._task = task
        self._driver = spawn_driver(task.folder)

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
