"""The scripted server that bots are checked with."""

from __future__ import annotations

import asyncio

import grpc

from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity_check.scripted_server import ScriptedServer

DEADLINE = 60.0


async def test_messages_that_are_sent_at_the_same_time_all_arrive() -> None:
    """A ping that is due while a batch is being written takes nothing away from it."""
    nonces = [*range(1, 101)]
    async with (
        ScriptedServer.listening() as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        call = PlayServiceStub(channel).Play()
        stream = await server.accept(DEADLINE)
        pings = [play.PlayResponse(ping=play.Ping(nonce=nonce)) for nonce in nonces]
        await asyncio.gather(*map(stream.send, pings))
        stream.end()
        assert [response.ping.nonce async for response in call] == nonces
