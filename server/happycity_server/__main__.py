"""`python -m happycity_server`: the server of a run, which gets its task on the standard input.

It imports what it needs before that. Its settings are variables as for `happycity serve`, as the parser of a
command line takes long to import.
"""

from __future__ import annotations

import os
import sys

from happycity.runtime.program import run_program


def _serve() -> None:
    # Imported here, as the program looks for garbage seldom by now.
    from happycity_server.start import prepare, start  # noqa: PLC0415

    prepare()
    if not (line := sys.stdin.readline()):
        return  # the run has ended before it knew what it needs

    from happycity_server.config import load_settings  # noqa: PLC0415
    from happycity_tournament.bots.lineup import Lineup  # noqa: PLC0415
    from happycity_tournament.server_task import ServerTask  # noqa: PLC0415

    task = ServerTask.from_line(line)
    _log_to(task.log)
    os.environ.update(task.environment)
    settings = load_settings({}, os.environ)
    start(settings, Lineup.of(task.lineup))


def _log_to(path: str) -> None:
    """Append what this process writes to the standard error to a file."""
    with open(path, "ab") as log:
        os.dup2(log.fileno(), 2)
    # The stream before may have been that of a console, which can't write to files.
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    run_program(_serve)
