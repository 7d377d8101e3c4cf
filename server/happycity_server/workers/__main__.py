"""Run a worker: `python -m happycity_server.workers`, started by a server."""

from __future__ import annotations

import json
import os
import sys

from happycity import HappyCityError
from happycity.runtime.event_loop import run
from happycity.runtime.program import collect_garbage_rarely
from happycity_server.process.listening import raise_file_limit
from happycity_server.process.logs import configure
from happycity_server.workers.task import WorkerTask
from happycity_server.workers.worker import run_worker


def main() -> None:
    """Read the task from the standard input, and work."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    line = sys.stdin.readline()
    if not line:
        return  # the server has ended
    task = WorkerTask.model_validate_json(line)
    configure(task.settings.log, worker=task.number)
    raise_file_limit()
    collect_garbage_rarely()
    try:
        run(run_worker(task))
    except HappyCityError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        sys.stdout.flush()
        sys.exit(2)


if __name__ == "__main__":
    main()
