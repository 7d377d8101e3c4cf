"""How workers and gateways join a server, and join again whenever they have lost it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import grpc
import structlog

from happycity import HappyCityError
from happycity_runtime.event_loop import run_until_stopped
from happycity_runtime.transport import Access, Target
from happycity_runtime.unreachable import failure
from happycity_server.process.listening import on_stdin_end, raise_file_limit
from happycity_server.process.programs import keep_running

_REFUSALS = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
)
"""What another attempt would not change."""

_log = structlog.get_logger()


def stay_joined(
    server: str, access: Access, join: Callable[[grpc.aio.Channel], Awaitable[None]], *, stop_with_stdin: bool
) -> None:
    """Join a server until SIGINT or SIGTERM, again whenever it was lost; `join` returns when its stream ends.

    ConfigError if the address or a file of TLS can't be used; HappyCityError if the server refuses.
    """
    target = Target.parse(server, setting="--join")
    access.check(target)
    raise_file_limit()
    gc.freeze()  # what is imported stays, and needn't be looked through again

    def note(ended: str, pause: float | None) -> None:
        _log.warning("server_lost", server=str(target), ended=ended, again_in=pause)

    async def main() -> None:
        working = asyncio.create_task(keep_running(partial(_join, target, access, join), note))
        if stop_with_stdin:
            loop = asyncio.get_running_loop()
            on_stdin_end(lambda: loop.call_soon_threadsafe(working.cancel))
        await working

    with suppress(asyncio.CancelledError):
        run_until_stopped(main())


async def _join(target: Target, access: Access, join: Callable[[grpc.aio.Channel], Awaitable[None]]) -> str:
    """Join a server until the stream ends; return how it ended, unless it refuses."""
    try:
        async with access.channel(target) as channel:
            with suppress(asyncio.InvalidStateError):  # the stream ended while it was written
                await join(channel)
            return "the server ended the stream"
    except grpc.aio.AioRpcError as error:
        text = failure(target, error, ca=access.ca)
        if error.code() in _REFUSALS:
            raise HappyCityError(text) from None
        return text
