"""The program of a worker: joins a server, plays its games with bots on its machine, and keeps nothing."""

from __future__ import annotations

import asyncio
from functools import partial

import grpc
import structlog

from happycity.hosting.v1beta1.hosting_service_pb2_grpc import HostingServiceStub
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity.worker.v1.worker_service_pb2_grpc import WorkerServiceStub
from happycity_runtime.transport import Access
from happycity_server.config import ServerSettings
from happycity_server.hosting.copies import CopiedBots, ReadSubmission
from happycity_server.places.protocol import VERSION, ServerLink, WorkCall
from happycity_server.process.private_arena import private_arena
from happycity_server.process.programs import bot_programs, new_secrets
from happycity_tournament.lineup import Lineup

_log = structlog.get_logger()


async def join(access: Access, name: str, channel: grpc.aio.Channel) -> None:
    """Join a server and play for it until the stream ends."""
    call: WorkCall = WorkerServiceStub(channel).Work(metadata=access.metadata)
    try:
        await call.write(pb.WorkRequest(hello=pb.Hello(name=name, version=VERSION)))
        first = await call.read()
        if isinstance(first, pb.WorkResponse):
            read = partial(HostingServiceStub(channel).ReadSubmission, metadata=access.metadata)
            await _play(call, first.conditions, read)
    finally:
        call.cancel()


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
