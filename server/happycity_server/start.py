"""Starts a server, and what plays beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from happycity_server.config import MAX_WORKERS, ServerSettings
from happycity_server.process.logs import configure
from happycity_server.workers.spawn import spawn

if TYPE_CHECKING:  # few servers have one
    from happycity_tournament.bots.cluster import ClusterTask


def start(settings: ServerSettings, cluster_task: ClusterTask | None = None) -> None:
    """Serve until SIGINT or SIGTERM, with workers here or on a cluster; see `serve_until_stopped`."""
    if settings.ray is not None:
        cluster_task = _cluster_task(settings, settings.ray)
    # They import meanwhile what they need.
    cluster = None
    if cluster_task is not None:
        from happycity_server.workers.cluster import Cluster  # noqa: PLC0415 - others do without

        cluster = Cluster(cluster_task)
    spare = [spawn() for _ in range(settings.workers)] if cluster is None else []
    configure(settings.log)
    # gRPC's core would write lines of its own beside ours, in particular when a port is taken.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Imported here, or every other command would wait for it.
    from happycity_server.app import serve_until_stopped  # noqa: PLC0415

    serve_until_stopped(settings, spare_workers=spare, cluster=cluster)


def _cluster_task(settings: ServerSettings, address: str) -> ClusterTask:
    """Return the cluster of the settings, where bots connect from elsewhere."""
    from happycity_tournament.bots.cluster import ClusterTask, check_ray  # noqa: PLC0415 - few servers have one

    check_ray()
    return ClusterTask(address=address, workers=settings.workers, most_workers=MAX_WORKERS)
