"""Starts a server, with what has to be done before gRPC and the logs are imported."""

from __future__ import annotations

import os

from happycity_server.config import ServerSettings
from happycity_server.ops.logs import configure
from happycity_server.workers.spawn import spawn


def start(settings: ServerSettings) -> None:
    """Serve until SIGINT or SIGTERM; see `serve_until_stopped`."""
    spare = [spawn() for _ in range(settings.workers)]  # they import meanwhile what they need
    # gRPC's core would write lines of its own beside ours, in particular when a port is taken.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    configure(settings.log)
    # Imported here, or every other command would wait for it.
    from happycity_server.app import serve_until_stopped  # noqa: PLC0415

    serve_until_stopped(settings, spare_workers=spare)
