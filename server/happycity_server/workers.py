"""How a worker process behaves."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress

NICENESS = 10
"""By how much workers stand back behind the server itself."""


def prepare() -> None:
    """Make a new process stand back, leave stopping to its server, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal
    if sys.platform != "win32":
        os.nice(NICENESS)
    threading.Thread(target=_end_with_server, name="server", daemon=True).start()


def _end_with_server() -> None:
    """Wait for the server's end: a worker of one that was killed would wait for jobs for ever."""
    server = multiprocessing.parent_process()
    assert server is not None
    with suppress(OSError):
        server.join()
    os._exit(1)
