"""A server's view of a worker, against a scripted worker behind real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest

from happycity import Config, FailurePolicy, TimeControl, VoidReason
from happycity.wire.match import void_reason_number
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity.worker.v1.worker_service_pb2_grpc import (
    WorkerServiceServicer,
    add_WorkerServiceServicer_to_server,
)
from happycity_server.places.remote import RemoteMatch, RemotePlace
from happycity_tournament.games import Fixture
from happycity_tournament.running.terms import Terms

CONFIG = Config(players=2)
FIXTURE = Fixture(round=1, table=0, rotation=0, deal_seed=1, bots=("anna", "ben"), bot_seeds=(1, 2))


class VoidingWorker(WorkerServiceServicer):
    """Breaks every game off for the same reason, and stays."""

    def __init__(self, reason: VoidReason) -> None:
        self._reason = void_reason_number(reason)

    async def Work(  # noqa: N802 - the contract's name
        self, requests: AsyncIterator[pb.WorkRequest], context: object
    ) -> AsyncIterator[pb.WorkResponse]:
        """Report, then void each game of each chunk."""
        yield pb.WorkResponse()
        async for request in requests:
            voided = [
                pb.VoidedMatch(match_id=game.match_id, reason=self._reason) for game in request.chunk.games
            ]
            yield pb.WorkResponse(voided=voided)

    def WatchMatch(  # noqa: N802 - the contract's name
        self, request: pb.WatchMatchRequest, context: object
    ) -> AsyncIterator[pb.WatchMatchResponse]:
        """Nobody watches."""
        raise NotImplementedError


@pytest.mark.parametrize(
    ("reason", "lost"),
    [(VoidReason.SHUTDOWN, True), (VoidReason.STOPPED, False), (VoidReason.SERVER_ERROR, False)],
)
async def test_game_of_a_worker_that_shuts_down_alone_is_lost(reason: VoidReason, *, lost: bool) -> None:
    """It begins again elsewhere; a game that is voided for any other reason stays so."""
    server = grpc.aio.server()
    add_WorkerServiceServicer_to_server(VoidingWorker(reason), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    place = RemotePlace(1)
    match = RemoteMatch(
        match_id=1,
        tournament_id=1,
        ladder_deal_id=0,
        config=CONFIG,
        bots=FIXTURE.bots,
        created_at=0.0,
        place=place,
    )
    terms = Terms(tournament_id=1, game=CONFIG, time=TimeControl(), policy=FailurePolicy(), concurrency=1)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        ready = asyncio.Event()
        place.on_change = ready.set
        working = asyncio.create_task(place.work(channel, "secret"))
        await ready.wait()
        async with place.played(match, FIXTURE, terms):
            assert match.lost is lost
            assert lost or match.void_reason is reason
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    await server.stop(None)
