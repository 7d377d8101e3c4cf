"""The event loop of a program, and the signals that end it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from happycity.runtime import event_loop

DEADLINE = 60.0


def test_a_program_runs_on_uvloop_where_that_is_installed() -> None:
    """The result is that of the coroutine."""

    async def main() -> type[asyncio.AbstractEventLoop]:
        return type(asyncio.get_running_loop())

    assert event_loop.run(main()) is uvloop.Loop


def test_a_program_runs_without_uvloop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare SDK has asyncio's own loop."""
    monkeypatch.setitem(sys.modules, "uvloop", None)

    async def main() -> bool:
        return isinstance(asyncio.get_running_loop(), uvloop.Loop)

    assert event_loop.run(main()) is False


@pytest.mark.parametrize("number", event_loop.STOP_SIGNALS)
async def test_a_stop_signal_calls_the_handler_each_time(number: signal.Signals) -> None:
    """After the context the signals have their usual effects."""
    stopped: asyncio.Queue[None] = asyncio.Queue()
    with event_loop.on_stop_signal(lambda: stopped.put_nowait(None)):
        for _ in range(2):
            os.kill(os.getpid(), number)
            async with asyncio.timeout(DEADLINE):
                await stopped.get()
    assert [signal.getsignal(stop) for stop in event_loop.STOP_SIGNALS] == [
        signal.default_int_handler,
        signal.SIG_DFL,
    ]


def test_a_background_job_hears_ctrl_c_too() -> None:
    """A shell starts background jobs so that they ignore SIGINT; the handler is called all the same."""
    code = """
import asyncio, os, signal
from happycity.runtime import event_loop
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
async def main():
    stopped = asyncio.Event()
    with event_loop.on_stop_signal(stopped.set):
        os.kill(os.getpid(), signal.SIGINT)
        await stopped.wait()
event_loop.run(main())
"""
    program = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" & wait $!', sys.executable, code], timeout=DEADLINE, check=False
    )
    assert program.returncode == 0


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_standard_streams_are_opened(closed: int, tmp_path: Path) -> None:
    """A program that starts without one of them runs all the same, and no other file takes its number."""
    program = (
        "import os, sys\n"
        "from happycity.runtime import event_loop\n"
        "async def main():\n"
        f"    assert os.path.samestat(os.fstat({closed}), os.stat(os.devnull))\n"
        "    print('out'); print('error', file=sys.stderr); assert sys.stdin.read() == ''\n"
        "event_loop.run(main())\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\n"
    )
    command = f'exec "$0" -c "$1" {closed}>&-'
    subprocess.run(
        ["sh", "-c", command, sys.executable, program], stdin=subprocess.DEVNULL, check=True, timeout=DEADLINE
    )
    assert (tmp_path / "done").exists()
