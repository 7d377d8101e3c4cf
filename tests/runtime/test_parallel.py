"""Processes that share work."""

import subprocess
import sys

import pytest
from tests.waiting import LIMIT

from happycity_runtime.parallel import in_processes


@pytest.mark.level(2)
def test_processes_end_when_the_one_that_started_them_is_killed() -> None:
    """What they have open of it is closed then, such as its output."""
    code = (
        "from itertools import count\n"
        "from happycity_runtime.parallel import in_processes\n"
        "if __name__ == '__main__':\n"
        "    for one in in_processes(abs, count(), processes=2, chunk=1):\n"
        "        print(one, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"0\n"
        program.kill()
        program.communicate(timeout=LIMIT)


def test_one_chunk_is_done_here() -> None:
    assert list(in_processes(abs, [-1, 2], processes=2, chunk=2)) == [1, 2]
