"""Starts workers on the nodes of a Ray cluster: `python -m happycity_server.workers.ray_launcher CLUSTER N`.

The server that the workers join keeps this program running, and ends it by the end of its standard input. It
is a process of its own, as Ray ends its process when the head of its cluster is lost. This is the only module
that imports Ray. Each worker is a task of Ray, which begins it elsewhere when its node is lost. A node needs
the same version of happycity[arena] as the server, and Ray requires the same versions of Python and Ray.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Mapping

import structlog

from happycity import ConfigError, HappyCityError
from happycity.match import one_line
from happycity_runtime.installation import install_command, missing_packages
from happycity_runtime.program import run_program
from happycity_runtime.transport import Target, join_host_port, split_host_port
from happycity_server.config import MAX_WORKERS, LogFormat
from happycity_server.process.listening import on_stdin_end
from happycity_server.process.logs import configure
from happycity_server.process.programs import Programs, worker_program
from happycity_tournament.lineup import LOCAL_RAY

CPUS_OF_A_WORKER = 2
"""One for the process that plays games, and one for its bots."""
REACH_SECONDS = 5.0
"""How long the head of a cluster may take to accept a connection."""
_log = structlog.get_logger()
_EVERY_INTERFACE = ("0.0.0.0", "::")  # noqa: S104 - where a server listens


def check_ray(address: str) -> None:
    """Refuse a cluster without Ray, or where nothing listens, by a ConfigError: Ray would try for minutes."""
    if missing := missing_packages("ray"):
        raise ConfigError(
            f"--ray: {' and '.join(missing)} is not installed; install it by: {install_command('ray')}"
        )
    try:
        host, port = split_host_port(address.removeprefix("ray://"))
    except ValueError:
        return  # Ray knows what else there is
    try:
        socket.create_connection((host, port), timeout=REACH_SECONDS).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"--ray {address}: no Ray cluster can be reached there: {reason}") from None


def run_worker(number: int, environment: Mapping[str, str]) -> None:
    """Keep a worker running on a node; it ends with this process."""
    configure(LogFormat.JSON)

    async def keep() -> None:
        name = f"worker {number} on {socket.gethostname()}"
        Programs().supervise(worker_program(name, environment, LogFormat.JSON))
        await asyncio.Event().wait()

    asyncio.run(keep())


def launch(cluster: str, count: int) -> None:
    """Keep workers running on a cluster; 0: as many as its nodes have CPUs for.

    HappyCityError if the cluster can't be used.
    """
    import ray  # noqa: PLC0415 - not installed everywhere
    from ray.exceptions import RayError  # noqa: PLC0415

    own = {"include_dashboard": False} if cluster == LOCAL_RAY else {}
    try:
        ray.init(cluster, **own, log_to_driver=False, logging_level="ERROR")
        cpus = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        count = count or min(MAX_WORKERS, sum(cpu // CPUS_OF_A_WORKER for cpu in cpus))
        if not count:
            raise HappyCityError(
                f"--ray {cluster}: no node has {CPUS_OF_A_WORKER} CPUs, which a worker takes"
            )
        _log.info("ray_connected", cluster=cluster, nodes=len(cpus), workers=count)
        options = {"num_cpus": CPUS_OF_A_WORKER, "max_retries": -1, "scheduling_strategy": "SPREAD"}
        task = ray.remote(**options)(run_worker)
        environment = _environment(ray.util.get_node_ip_address())
        ray.get([task.remote(number, environment) for number in range(1, count + 1)])
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        raise HappyCityError(f"--ray {cluster}: {one_line(' '.join(str(error).split()))}") from None


def _environment(host: str) -> dict[str, str]:
    """Return the variables by which workers join the server, which runs on this machine, `host`."""
    names = ("HAPPYCITY_SERVER", "HAPPYCITY_TOKEN", "HAPPYCITY_CA")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    target = Target.parse(environment["HAPPYCITY_SERVER"])
    listening, port = split_host_port(target.address)
    if listening in _EVERY_INTERFACE:
        environment["HAPPYCITY_SERVER"] = str(Target(join_host_port(host, port), target.tls))
    return environment


def main() -> None:
    """Launch the workers that the command line asks for."""
    configure(LogFormat.JSON)
    cluster, count = sys.argv[1:]
    on_stdin_end(lambda: os._exit(0))  # Ray ends the tasks of a program that has ended
    launch(cluster, int(count))


if __name__ == "__main__":
    run_program(main)
