"""The processes that play simulations."""

import asyncio
import subprocess
import sys
from pathlib import Path

from happycity_server.model.pool import Turns

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


async def test_callers_take_turns() -> None:
    """However many calls one of them makes, the other's next one comes after one of those."""
    turns, order = Turns(1), list[str]()

    async def call(caller: str) -> None:
        await turns.take(caller)
        order.append(caller)
        await asyncio.sleep(0)
        turns.give()

    await asyncio.gather(*map(call, ["ann", *["ann"] * 4, "ben", "ben", "cem"]))
    assert order == ["ann", "ann", "ben", "cem", "ann", "ben", "ann", "ann"]


async def test_a_call_that_is_cancelled_keeps_no_place() -> None:
    """Neither one that waits, nor one to which a place was given in the same moment."""
    turns = Turns(1)
    await turns.take("ann")
    waiting, granted, last = (asyncio.create_task(turns.take(caller)) for caller in ("ben", "cem", "dan"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    turns.give()
    granted.cancel()
    await asyncio.wait_for(last, 60)
