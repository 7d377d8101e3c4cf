"""`python -m happycity_server`: the server of a run, whose settings are all variables.

The first line of its standard input is the run's `Lineup` in JSON, whose bots the workers start.
"""

from __future__ import annotations

import os
import sys

from happycity.runtime.program import run_program


def _serve() -> None:
    # Imported here, as the program collects garbage rarely by now.
    from happycity_server.config import load_settings  # noqa: PLC0415
    from happycity_server.start import start  # noqa: PLC0415
    from happycity_tournament.lineup import Lineup  # noqa: PLC0415

    settings = load_settings({}, os.environ)
    if lineup := sys.stdin.readline():  # else the run has ended already
        start(settings, Lineup.of(lineup))


if __name__ == "__main__":
    run_program(_serve)
