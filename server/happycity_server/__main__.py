"""`python -m happycity_server`: the server of a run, whose settings are all variables.

The first line of its standard input is the `ClusterTask` of a run on a cluster, which has secrets; else it is
empty.
"""

from __future__ import annotations

import os
import sys

from happycity.runtime.program import run_program


def _serve() -> None:
    # Imported here, as the program collects garbage rarely by now.
    from happycity_server.config import load_settings  # noqa: PLC0415
    from happycity_server.start import start  # noqa: PLC0415

    settings, task = load_settings({}, os.environ), sys.stdin.readline().strip()
    if not task:
        start(settings)
        return
    from happycity_tournament.bots.cluster import ClusterTask  # noqa: PLC0415 - few servers have one

    start(settings, ClusterTask.model_validate_json(task))


if __name__ == "__main__":
    run_program(_serve)
