"""The yardstick: a bare unary grpc.aio echo with messages of the arena's sizes, in two processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import grpc

from happycity.runtime import event_loop

METHOD = "/bench.Echo/Call"
ANSWER_BYTES = 12
"""What a bot sends for a decision: an answer in its message."""
DECISION_BYTES = 180
"""What the server sends for a decision; `python -m benchmarks` prints the measured mean."""


async def _serve() -> None:
    decision = bytes(DECISION_BYTES)

    async def call(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        return decision

    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    handler = grpc.unary_unary_rpc_method_handler(call)  # type: ignore[var-annotated]  # without serialisers: bytes
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", {"Call": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(json.dumps({"port": port}) + "\n")
    sys.stdout.flush()
    await server.wait_for_termination()


async def _load(port: int, *, in_flight: int, seconds: float) -> float:
    """Return calls a second with so many always under way."""
    answer = bytes(ANSWER_BYTES)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = channel.unary_unary(METHOD)
        await call(answer)
        calls = 0
        started = time.perf_counter()
        end = started + seconds

        async def caller() -> None:
            nonlocal calls
            while time.perf_counter() < end:
                await call(answer)
                calls += 1

        await asyncio.gather(*(caller() for _ in range(in_flight)))
        return calls / (time.perf_counter() - started)


def calls_per_second() -> float:
    """Measure the echo: the server in a process of its own, the load in this one."""
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.echo"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(json.loads(server.stdout.readline())["port"])
        return event_loop.run(_load(port, in_flight=64, seconds=4.0))
    finally:
        server.terminate()
        server.wait()
        assert server.stdout is not None
        server.stdout.close()


if __name__ == "__main__":
    event_loop.run(_serve())
