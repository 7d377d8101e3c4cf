"""A bare echo by grpc.aio, the yardstick for the wire: an answer's size comes, a decision's size goes.

python -m tools.benchmarks.echo          # be its server, and print the port
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import grpc

from happycity_runtime import event_loop
from tools import ROOT
from tools.benchmarks.harness import cpu_of_children

ANSWER_BYTES = 12
"""What a bot sends for a decision: an answer in its message."""
DECISION_BYTES = 180
"""About what the server sends for a decision."""
IN_FLIGHT = 64
CALLS = 500 * IN_FLIGHT
_DECISION = bytes(DECISION_BYTES)


class Echoed(NamedTuple):
    """What calls of an echo cost."""

    rate: float
    """Calls a second, or messages there and back."""
    microseconds: float
    """CPU microseconds of a call, of both sides together."""


def echo(*, streaming: bool = False) -> Echoed:
    """Measure unary calls, or messages of streams, with `IN_FLIGHT` of them under way at any time.

    The server is a process of its own, whose start is left out.
    """
    few, many = (_measure(calls, streaming=streaming) for calls in (CALLS // 10, CALLS))
    return Echoed(CALLS / many[0], 1e6 * (many[1] - few[1]) / (CALLS - CALLS // 10))


def _measure(calls: int, *, streaming: bool) -> tuple[float, float]:
    """Return the seconds of a number of calls, and the CPU seconds of both sides with the server's start."""
    before = cpu_of_children()
    command = [sys.executable, "-m", "tools.benchmarks.echo"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            load = _load(int(server.stdout.readline()), calls // IN_FLIGHT, streaming=streaming)
            seconds, own = event_loop.run(load)
        finally:
            server.terminate()
    return seconds, own + cpu_of_children() - before


async def _serve() -> None:
    async def call(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        return _DECISION

    async def stream(
        requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        async for _ in requests:
            yield _DECISION

    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    handlers: dict[str, Any] = {  # without serialisers, so messages are bytes
        "Call": grpc.unary_unary_rpc_method_handler(call),
        "Stream": grpc.stream_stream_rpc_method_handler(stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


async def _load(port: int, each: int, *, streaming: bool) -> tuple[float, float]:
    """Let each of `IN_FLIGHT` callers do a number of calls; return the seconds and CPU seconds here."""
    answer = bytes(ANSWER_BYTES)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        unary: Any = channel.unary_unary("/bench.Echo/Call")
        streams: Any = channel.stream_stream("/bench.Echo/Stream")
        await unary(answer)
        started, began = time.perf_counter(), time.process_time()

        async def caller() -> None:
            stream = streams() if streaming else None
            for _ in range(each):
                if stream is None:
                    await unary(answer)
                else:
                    await stream.write(answer)
                    await stream.read()

        await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
        return time.perf_counter() - started, time.process_time() - began


if __name__ == "__main__":
    event_loop.run(_serve())
