"""The list of connected bots, over real gRPC."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from tests.server.api.arena import Arena
from tests.server.harness import refused
from tests.server.play.arena import Arena as LocalArena

from happycity import BotInfo
from happycity.v1 import bot_pb2
from happycity.v1 import bot_service_pb2 as pb
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity.wire.match import bot_info_of
from happycity_server.api.play import BotService


async def listed(arena: Arena, **fields: Any) -> pb.ListBotsResponse:
    """Return a page of bots."""
    response: pb.ListBotsResponse = await BotServiceStub(arena.channel).ListBots(pb.ListBotsRequest(**fields))
    return response


async def test_list_shows_what_bots_say_and_do(arena: Arena) -> None:
    """A bot is listed with what its hello says, since when it is connected, and its games."""
    info = bot_pb2.BotInfo(author="Anna\x1b[2J", version="2", language="Zig", description="x" * 300)
    anna = await arena.connect("anna", software="zig-sdk/1", max_games=3, info=info)
    await arena.create("anna", "anna")
    await anna.until(lambda received: received.decisions)
    (bot,) = (await listed(arena)).bots
    assert bot_info_of(bot.info) == BotInfo(
        author="Anna [2J", version="2", language="Zig", description="x" * 200
    )
    assert (bot.name, bot.software, bot.house) == ("anna", "zig-sdk/1", False)
    assert (bot.connected, bot.games, bot.max_games, bot.decisions_waiting) == (True, 2, 3, 1)
    assert bot.since.seconds > 1_600_000_000
    assert bot.HasField("waiting_for")
    assert (bot.answers, bot.strikes) == (0, 0)
    await anna.answer(await anna.decision(), 99)
    await anna.settle()
    (bot,) = (await listed(arena)).bots
    assert (bot.answers, bot.strikes) == (1, 1)


async def test_bot_that_is_away_is_listed_as_such() -> None:
    """A bot that lost its connection a moment ago is listed as away since then."""
    arena = LocalArena()
    anna = arena.connect("anna")
    arena.wait(1.0)
    anna.lose()
    (bot,) = (await BotService(arena.lobby).ListBots(pb.ListBotsRequest(), None)).bots
    assert not bot.connected
    assert bot.since.ToNanoseconds() == pytest.approx(arena.now * 1e9)
    assert not bot.HasField("max_games")


async def test_list_shows_answers_strikes_and_who_is_waited_for() -> None:
    """Answers and strikes count since the program connected; the time is that of the oldest open decision."""
    arena = LocalArena()
    anna = arena.connect("anna")
    for _ in range(2):
        await arena.match("anna", "ghost")
    await anna.until(lambda received: len(received.decisions) == 2)
    arena.wait(2.0)
    await anna.answer(await anna.decision(), 99)
    arena.wait(1.0)
    (bot,) = (await BotService(arena.lobby).ListBots(pb.ListBotsRequest(), None)).bots
    assert (bot.answers, bot.strikes, bot.decisions_waiting) == (1, 1, 2)
    assert bot.waiting_for.ToNanoseconds() == pytest.approx(3e9)


async def test_bots_come_by_name_in_pages(arena: Arena) -> None:
    """Pages follow each other by name, and bots that come meanwhile repeat nothing."""
    for name in ("carl", "anna", "ben"):
        await arena.connect(name)
    first = await listed(arena, page_size=2)
    assert [bot.name for bot in first.bots] == ["anna", "ben"]
    await arena.connect("aaron")
    second = await listed(arena, page_size=2, page_token=first.next_page_token)
    assert ([bot.name for bot in second.bots], second.next_page_token) == (["carl"], "")


@pytest.mark.parametrize("token", ["?", "YW4gbmE=", "AAAA", "YQ"])
async def test_foreign_page_tokens_are_refused(arena: Arena, token: str) -> None:
    """A page token that no list has given is an INVALID_FIELD."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await listed(arena, page_token=token)
    assert refused(caught.value).fields == ("page_token",)
