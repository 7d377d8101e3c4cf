"""The processes that play simulations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SERVER = """
import os, sys
from happycity_server.model.pool import _new_pool

if __name__ == "__main__":
    print(_new_pool(1).submit(os.getpid).result(), flush=True)
    sys.stdin.read()
"""


def test_worker_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    """Nothing stays behind of a server that had no time to end its workers."""
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        assert int(server.stdout.readline()) != server.pid
        server.kill()
        server.communicate()  # to the end of the output, which the worker holds open too
