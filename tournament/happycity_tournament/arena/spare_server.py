"""The process of a run's server, which may be started before the run knows what it is for.

Of all programs of a run, the server imports the most. So the command `tournament` starts one before it reads
its own command line, and `start_server` gives it its task.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Sequence

from happycity.runtime.child import Child, child_environment

_COMMANDS = ("run", "sprt")
"""Commands that play on a server of their own, unless they are given another one."""
_OTHERWISE = ("--server", "--help")

_spare: list[Child] = []


def start_spare_server(arguments: Sequence[str]) -> None:
    """Start a server if the command with these arguments seems to need one.

    It ends with this process at the latest.
    """
    if not any(arguments[:1] == [name] for name in _COMMANDS) or "HAPPYCITY_SERVER" in os.environ:
        return
    if any(argument.startswith(_OTHERWISE) for argument in arguments):
        return
    _spare.append(_start())
    atexit.register(end_spare_server)


def server_process() -> Child:
    """Return the process of a server that waits for its task.

    Raises:
        ChildError: it can't be started.
    """
    return _spare.pop() if _spare else _start()


def _start() -> Child:
    return Child.start(
        [sys.executable, "-m", "happycity_server"],
        environment=child_environment(),
        stdin=subprocess.PIPE,  # ends with this process, however that ends, and then the server stops
        stdout=subprocess.PIPE,
        stderr=None,  # until its task says where its log is
    )


def end_spare_server() -> None:
    """End the server that waits for a task, if there is one."""
    while _spare:
        child = _spare.pop()
        child.kill()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.close()
        child.stdout.close()
