"""`python -m happycity_server`: the server of a run, whose settings are all variables.

The first line of its standard input is the run's `Lineup` in JSON, whose bots the workers start.
"""

# ruff: noqa: PLC0415 - before most imports, the program lets garbage wait, and gRPC and the logs are prepared

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from happycity_runtime.program import run_program

if TYPE_CHECKING:
    from happycity_server.config import ServerSettings
    from happycity_tournament.lineup import Lineup


def start(settings: ServerSettings, lineup: Lineup | None = None) -> None:
    """Serve until SIGINT or SIGTERM, perhaps for a run with its lineup; see `serve_until_stopped`.

    ConfigError if Ray is not installed, or its cluster can't be reached.
    """
    from happycity_server.process.logs import configure

    if settings.ray is not None:
        from happycity_server.workers.ray_launcher import check_ray

        check_ray(settings.ray)
    configure(settings.log)
    from happycity_server.app import serve_until_stopped

    serve_until_stopped(settings, lineup=lineup)


def _serve() -> None:
    from happycity_server.config import load_settings
    from happycity_tournament.lineup import Lineup

    settings = load_settings({}, os.environ)
    if lineup := sys.stdin.readline():  # else the run has ended already
        start(settings, Lineup.of(lineup))


if __name__ == "__main__":
    run_program(_serve)
