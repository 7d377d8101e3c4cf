"""Starts the process of a worker, which imports what it needs and waits for its task.

This module imports little, so that a server can start its workers before it imports what it needs itself.
"""

from __future__ import annotations

import subprocess
import sys

from happycity.runtime.child import Child, child_environment


def spawn() -> Child:
    """Start the process of a worker; it ends with this one.

    Raises:
        ChildError: it can't be started.
    """
    return Child.start(
        [sys.executable, "-m", "happycity_server.workers"],
        environment=child_environment(),
        stdin=subprocess.PIPE,  # ends with this process, however that ends, and then the worker ends too
        stdout=subprocess.PIPE,
        stderr=None,
    )
