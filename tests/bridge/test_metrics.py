"""A program's numbers about its choices go with its answers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import happycity_client
from happycity import Config
from happycity.v1 import play_service_pb2 as play
from happycity_bridge.bot import BridgedBot
from happycity_bridge.pool import ProgramPool
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import BotStream, ScriptedServer
from happycity_client import Settings

PLAYER = Path(__file__).parent / "programs" / "player.py"
PATIENCE = 60.0


@asynccontextmanager
async def playing(server: ScriptedServer, *arguments: str) -> AsyncIterator[None]:
    pool = ProgramPool((sys.executable, str(PLAYER), *arguments), name="me", share=False)
    factory = partial(BridgedBot, pool=pool)
    settings = Settings(name="me", server=server.address)
    bot = asyncio.create_task(happycity_client.play(factory, settings))
    try:
        yield
    finally:
        bot.cancel()
        await asyncio.gather(bot, return_exceptions=True)
        await pool.close()


async def welcome(server: ScriptedServer, *match_ids: int) -> BotStream:
    stream = await server.accept(PATIENCE)
    received = await stream.receive(PATIENCE)
    assert received is not None
    assert received.request.HasField("hello")
    hello = play.Welcome(resume_token="token", match_ids=match_ids)
    await stream.send(play.PlayResponse(welcome=hello))
    return stream


async def answer(stream: BotStream, match: ScriptedMatch, *, start: bool = False) -> play.Answer:
    response = play.PlayResponse(games_started=match.started() if start else (), decisions=[match.decision()])
    await stream.send(response)
    received = await stream.receive(PATIENCE)
    assert received is not None
    (only,) = received.request.answers
    return only


async def test_metrics_go_with_their_answer_and_with_it_again() -> None:
    """After a lost connection the answer comes from memory with its numbers; the next one has its own."""
    async with ScriptedServer.listening() as server, playing(server, "noting"):
        match = ScriptedMatch(1, Config(players=2), seed=1)
        first = await answer(await welcome(server), match, start=True)
        assert dict(first.metrics) == {"asked": 1.0, "value": -0.5}
        server.cut_connections()
        stream = await welcome(server, match.match_id)
        assert await answer(stream, match) == first
        match.answer(first.move)
        assert dict((await answer(stream, match)).metrics) == {"asked": 2.0, "value": -0.5}


async def test_metrics_of_other_programs() -> None:
    # Nothing is sent for them.
    async with ScriptedServer.listening() as server, playing(server, "quiet"):
        match = ScriptedMatch(1, Config(players=2), seed=1)
        plain = await answer(await welcome(server), match, start=True)
        assert (plain.match_id, len(plain.metrics)) == (1, 0)

    # JSON may escape halves of characters, which no message can hold; `self` is a name like any other.
    async with ScriptedServer.listening() as server, playing(server, "odd"):
        match = ScriptedMatch(1, Config(players=2), seed=1)
        odd = await answer(await welcome(server), match, start=True)
        assert dict(odd.metrics) == {"self": 1.0, "": 2.0, "?": 3.0}
