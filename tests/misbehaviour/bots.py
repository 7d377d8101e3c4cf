"""Bots that play badly, as functions of a connection that is welcomed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from tests.server.api.arena import RemoteProgram

from happycity.v1 import play_service_pb2 as play

BadBot = Callable[[RemoteProgram], Awaitable[None]]


async def batches(bot: RemoteProgram) -> AsyncIterator[play.PlayResponse]:
    """Yield the server's messages, first what came with the welcome; its pings are answered."""
    response = bot.received
    while True:
        if response.HasField("ping"):
            await bot.say(pong=play.Pong(nonce=response.ping.nonce))
        yield response
        response = await bot.read()


@asynccontextmanager
async def playing(bot: RemoteProgram, play_badly: BadBot) -> AsyncIterator[None]:
    """Let a bot play in the background while the context lasts."""
    task = asyncio.ensure_future(play_badly(bot))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def silent(bot: RemoteProgram) -> None:
    """Read everything, answer pings, and never make a move."""
    async for _ in batches(bot):
        pass


async def slow(bot: RemoteProgram) -> None:
    """Answer each decision with a legal move, but only after its time is over."""
    async for batch in batches(bot):
        for notice in batch.notices:
            if notice.kind == play.NOTICE_KIND_TIMEOUT:
                answer = play.Answer(match_id=notice.match_id, decision_id=notice.decision_id)
                await bot.say(answers=[answer])


async def illegal(bot: RemoteProgram) -> None:
    async for batch in batches(bot):
        for count, decision in enumerate(batch.decisions):
            await bot.answer(decision, (len(decision.moves), 2**32 - 1)[count % 2])
