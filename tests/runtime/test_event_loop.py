"""Tests of happycity_runtime.event_loop."""

import asyncio
import os
from collections.abc import Callable

import pytest
import uvloop

from happycity_runtime.event_loop import loops_own

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


async def closed_by_the_loop() -> tuple[bytes, bool]:
    """Let a loop close an end of a pipe; return what the other end reads, and whether the file closes too."""
    reader, writer = os.pipe()
    pipe = loops_own(file := os.fdopen(writer, "wb"))
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
    transport.write(b"x")
    transport.close()
    with os.fdopen(reader, "rb") as end:
        read = await asyncio.to_thread(end.read)
    assert file.closed
    return read, getattr(pipe, "closefd", True)


@pytest.mark.parametrize(("name", "file_closes"), [("asyncio", True), ("uvloop", False)])
def test_a_loop_closes_a_pipe_once(name: str, file_closes: bool) -> None:  # noqa: FBT001 - a parameter
    """Uvloop closes the descriptor, so its file closes nothing: another one may have the number by then."""
    make: Callable[[], asyncio.AbstractEventLoop] = LOOPS[name]
    with asyncio.Runner(loop_factory=make) as runner:
        assert runner.run(closed_by_the_loop()) == (b"x", file_closes)
