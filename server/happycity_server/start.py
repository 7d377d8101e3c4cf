"""Starts a server, with what has to be done before gRPC and the logs are imported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from happycity_server.config import ServerSettings
from happycity_server.process.logs import configure

if TYPE_CHECKING:  # as in `start`
    from happycity_tournament.lineup import Lineup


def start(settings: ServerSettings, lineup: Lineup | None = None) -> None:
    """Serve until SIGINT or SIGTERM, perhaps for a run with its lineup; see `serve_until_stopped`.

    Raises:
        ConfigError: Ray is not installed, or its cluster can't be reached.
    """
    if settings.ray is not None:
        from happycity_server.workers.ray_launcher import check_ray  # noqa: PLC0415 - few servers use it

        check_ray(settings.ray)
    configure(settings.log)
    # gRPC's core would write lines of its own beside ours, in particular when a port is taken.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Imported here, or every other command would wait for it.
    from happycity_server.app import serve_until_stopped  # noqa: PLC0415

    serve_until_stopped(settings, lineup=lineup)
