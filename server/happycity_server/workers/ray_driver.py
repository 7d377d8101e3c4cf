"""Run what drives workers on a Ray cluster: `python -m happycity_server.workers.ray_driver`.

The server starts it and talks to it in lines of JSON: a `DriverTask` first, then a `DriverRequest` for each
worker to start, to stop or to give new files; `DriverReport`s come back. It is a process of its own, as Ray
ends its process when the head of its cluster is lost, and the server with its store must outlive that. This
is the only module that imports Ray.

Each worker is an actor that starts `happycity_server.workers.node` and passes lines on; Ray places it, ships
the code, and notices when its node is lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory

import ray
from ray.exceptions import ActorUnavailableError, RayError

from happycity import HappyCityError
from happycity.match import one_line
from happycity.runtime.event_loop import open_standard_streams
from happycity_server.config import LOCAL_RAY
from happycity_server.workers.shipping import write_packages
from happycity_server.workers.task import (
    HOST_OF_THE_NODE,
    DriverReport,
    DriverRequest,
    DriverTask,
    Report,
)

_DETAILS = ("class_name", "actor_id", "pid", "namespace", "ip")
LINE_BYTES = 4 * 1024 * 1024
"""The longest line between the programs."""
REACH_SECONDS = 5.0
"""How long the head of a cluster may take to accept a connection."""

_Say = Callable[[DriverReport], None]


class NodeActor:
    """Runs on a node: a worker with its bots in a program of their own, which ends with this actor."""

    def __init__(self) -> None:
        self._program: Process | None = None

    async def start(self, task: str) -> str:
        """Start the program with its task, and return the node's address."""
        host: str = ray.util.get_node_ip_address()
        self._program = await asyncio.create_subprocess_exec(
            # As a grandchild: Ray kills the children of an actor, and the bots of the program would stay.
            *("sh", "-c", 'exec 3<&0; "$@" <&3 3<&- &', "sh"),
            *(sys.executable, "-m", "happycity_server.workers.node"),
            stdin=PIPE,
            stdout=PIPE,
            limit=LINE_BYTES,
            start_new_session=True,
        )
        assert self._program.stdin is not None
        self._program.stdin.write(task.replace(HOST_OF_THE_NODE, host).encode() + b"\n")
        await self._program.stdin.drain()
        return host

    async def line(self) -> str:
        """Return the next line of the program; "" once it has ended."""
        assert self._program is not None
        assert self._program.stdout is not None
        line = await self._program.stdout.readline()
        return line.decode()

    async def renew_files(self, files: dict[str, str]) -> None:
        """Pass files of the server on to the program."""
        assert self._program is not None
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(files).encode() + b"\n")

    async def stop(self) -> None:
        """Ask the program to end."""
        assert self._program is not None
        assert self._program.stdin is not None
        self._program.stdin.close()


class _Driver:
    """The workers of a server, each an actor."""

    def __init__(self, cpus: int, say: _Say) -> None:
        options = {"num_cpus": cpus, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        self._actor_class = ray.remote(**options)(NodeActor)
        self._say = say
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._actors: dict[int, ray.actor.ActorHandle] = {}

    def take(self, request: DriverRequest) -> None:
        """Start or stop a worker."""
        if request.start is not None:
            task = asyncio.create_task(self._run(request.worker, request.start))
            self._workers[request.worker] = task
        elif request.kill and request.worker in self._workers:
            self._workers[request.worker].cancel()
        elif request.worker in self._actors:
            actor = self._actors[request.worker]
            if request.files is None:
                actor.stop.remote()
            else:
                actor.renew_files.remote(request.files)

    async def close(self) -> None:
        """End all workers."""
        for task in self._workers.values():
            task.cancel()
        await asyncio.gather(*self._workers.values(), return_exceptions=True)

    async def _run(self, number: int, task: str) -> None:
        """Run a worker on a node until it ends or its node is lost."""
        actor = self._actor_class.remote()
        lost, node = "it ended", "no node"
        try:
            node = await actor.start.remote(task)
            self._actors[number] = actor
            self._say(DriverReport(worker=number, report=Report(node=node)))
            while line := await actor.line.remote():
                self._say(DriverReport(worker=number, report=Report.model_validate_json(line)))
        except RayError as error:
            sys.stderr.write(f"worker on {node}: {error}\n")
            lost = _reason(error)
        finally:
            self._actors.pop(number, None)
            ray.kill(actor)  # its program ends then
            self._say(DriverReport(worker=number, lost=lost))


def _reason(error: Exception) -> str:
    """Return in one line why an actor is lost."""
    if isinstance(error, ActorUnavailableError) or "node has died" in str(error):
        return "its node does not answer"
    lines = [one_line(line) for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(_DETAILS)]
    return " ".join(said)[:200] or type(error).__name__


def _nodes() -> list[float]:
    """Return the CPUs of each node of the cluster."""
    return [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]


def _connect(address: str) -> None:
    """Connect to a cluster, and ship the code to it.

    Raises:
        HappyCityError: there is none, it can't be reached, or it has another version of Python or Ray.
    """
    _check_address(address)
    with TemporaryDirectory(prefix="happycity-") as folder:
        packages = write_packages(folder)
        own = {"include_dashboard": False} if address == LOCAL_RAY else {}
        try:
            ray.init(
                address,
                **own,
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env={"working_dir": str(packages)},
            )
        except (ConnectionError, RuntimeError, ValueError, RayError) as error:
            if isinstance(error, ConnectionError) and address == "auto":
                text = (
                    "no Ray runs on this machine; start it by `ray start`, or give the address of a cluster"
                )
                raise HappyCityError(text) from None
            raise HappyCityError(one_line(" ".join(str(error).split()))) from None


def _check_address(address: str) -> None:
    """Refuse an address where nothing listens: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return  # Ray knows what else there is
    try:
        socket.create_connection((host, int(port)), timeout=REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise HappyCityError(f"no Ray cluster can be reached there: {reason}") from None


async def _drive(cpus: int, say: _Say) -> None:
    """Do what the server asks for until the standard input ends."""
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    driver = _Driver(cpus, say)
    try:
        while line := await reader.readline():
            driver.take(DriverRequest.model_validate_json(line))
    finally:
        await driver.close()


def _first_line() -> bytes:
    """Read a line of the standard input, and no more: the rest is read elsewhere."""
    with open(0, "rb", buffering=0, closefd=False) as unbuffered:
        return unbuffered.readline()


def main() -> None:
    """Connect, and drive until the server ends or wants no more."""
    open_standard_streams()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)  # what Ray prints goes to the log

        def say(report: DriverReport) -> None:
            with suppress(BrokenPipeError):
                output.write(f"{report.model_dump_json(exclude_defaults=True)}\n")
                output.flush()

        line = _first_line()
        if not line:
            return
        task = DriverTask.model_validate_json(line)
        try:
            _connect(task.address)
        except HappyCityError as error:
            say(DriverReport(failed=str(error)))
            sys.exit(2)
        try:
            say(DriverReport(nodes=tuple(_nodes())))
            asyncio.run(_drive(task.cpus, say))
        finally:
            ray.shutdown()


if __name__ == "__main__":
    main()
