"""The program of a worker: joins a server, plays its games with bots on its machine, and keeps nothing."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from functools import partial

import grpc
import structlog

from happycity import HappyCityError
from happycity.hosting.v1beta1.hosting_service_pb2_grpc import HostingServiceStub
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity.worker.v1.worker_service_pb2_grpc import WorkerServiceStub
from happycity_runtime.event_loop import run_until_stopped
from happycity_runtime.transport import Access, Target
from happycity_runtime.unreachable import failure
from happycity_server.config import ServerSettings
from happycity_server.hosting.copies import CopiedBots, ReadSubmission
from happycity_server.places.protocol import VERSION, ServerLink, WorkCall
from happycity_server.process.listening import on_stdin_end, raise_file_limit
from happycity_server.process.private_arena import private_arena
from happycity_server.process.programs import bot_programs, keep_running, new_secrets
from happycity_tournament.lineup import Lineup

_REFUSALS = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
)
"""What another attempt would not change."""

_log = structlog.get_logger()


class WorkerRefusedError(HappyCityError):
    """The server doesn't let the worker join."""


def work(server: str, access: Access, *, name: str, stop_with_stdin: bool) -> None:
    """Play for a server until SIGINT or SIGTERM; join again whenever the server was lost.

    ConfigError if the address or a file of TLS can't be used; WorkerRefusedError if the server refuses the
    worker: its token or version, for example.
    """
    target = Target.parse(server, setting="--join")
    access.check(target)
    raise_file_limit()
    gc.freeze()  # what is imported stays, and needn't be looked through again

    def note(ended: str, pause: float | None) -> None:
        _log.warning("server_lost", server=str(target), ended=ended, again_in=pause)

    async def main() -> None:
        working = asyncio.create_task(keep_running(partial(_join, target, access, name), note))
        if stop_with_stdin:
            loop = asyncio.get_running_loop()
            on_stdin_end(lambda: loop.call_soon_threadsafe(working.cancel))
        await working

    with suppress(asyncio.CancelledError):
        run_until_stopped(main())


async def _join(target: Target, access: Access, name: str) -> str:
    """Join a server and play for it until the stream ends; return how it ended, unless it refuses."""
    try:
        async with access.channel(target) as channel:
            call: WorkCall = WorkerServiceStub(channel).Work(metadata=access.metadata)
            try:
                await call.write(pb.WorkRequest(hello=pb.Hello(name=name, version=VERSION)))
                first = await call.read()
                if isinstance(first, pb.WorkResponse):
                    read = partial(HostingServiceStub(channel).ReadSubmission, metadata=access.metadata)
                    await _play(call, first.conditions, read)
            except asyncio.InvalidStateError:  # the stream ended while it was written
                pass
            finally:
                call.cancel()
            return "the server ended the stream"
    except grpc.aio.AioRpcError as error:
        text = failure(target, error, ca=access.ca)
        if error.code() in _REFUSALS:
            raise WorkerRefusedError(text) from None
        return text


async def _play(call: WorkCall, conditions: pb.Conditions, read: ReadSubmission) -> None:
    """Play on the server's conditions, with the bots of its house, of its run and of guests."""
    settings = ServerSettings.model_validate_json(conditions.settings)
    house, lineup = settings.house_bots, Lineup.of(conditions.lineup)
    secrets = new_secrets([*house, *lineup.started])
    async with private_arena(settings, secrets) as arena:
        link = ServerLink(arena.lobby, arena.clock, message_bytes=settings.message_bytes)
        for program in bot_programs(house, lineup, secrets, arena.address):
            arena.programs.supervise(program)
        hosting = asyncio.create_task(CopiedBots(settings, arena, link, read).play())
        try:
            _log.info("joined", bots=list(secrets))
            await link.serve(call)
        finally:
            call.cancel()  # first: a bot that says goodbye now has nothing to forfeit
            hosting.cancel()
            await asyncio.wait((hosting,))
