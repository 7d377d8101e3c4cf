"""`python -m happycity_server [cluster]`: `happycity serve` with settings from the environment alone.

The runs of tournaments start their servers so, as the parser of a command line takes long to import. With
`cluster`, the first line of the standard input has the `ClusterTask` of a run on a Ray cluster.
"""

from __future__ import annotations

import os
import sys

from happycity.runtime.program import run_program


def _serve() -> None:
    # Imported here, as the program looks for garbage seldom by now.
    from happycity_server.config import load_settings  # noqa: PLC0415
    from happycity_server.start import start  # noqa: PLC0415

    settings = load_settings({}, os.environ)
    if sys.argv[1:] != ["cluster"]:
        start(settings)
        return
    from happycity_tournament.bots.cluster import ClusterTask  # noqa: PLC0415 - few servers have one

    start(settings, ClusterTask.model_validate_json(sys.stdin.readline()))


if __name__ == "__main__":
    run_program(_serve)
