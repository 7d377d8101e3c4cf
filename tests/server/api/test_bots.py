"""Connected bots, as lists and the watchers of a tournament get them."""

import pytest
from tests.server.api.arena import Arena
from tests.server.harness import Service
from tests.server.play.arena import Arena as LocalArena

from happycity import BotInfo
from happycity.v1 import bot_pb2
from happycity.v1 import bot_service_pb2 as pb
from happycity.wire.match import bot_info_of
from happycity_server.access.roles import MEMBERS, Principal
from happycity_server.api.play import BotService


async def only_bot(arena: LocalArena) -> pb.ConnectedBot:
    caller = Principal("observer", MEMBERS)
    (bot,) = (await BotService(arena.lobby, owner_of=str).ListBots(caller, pb.ListBotsRequest())).bots
    return bot


async def test_list_shows_what_bots_say_and_do() -> None:
    """Answers and strikes count since the program connected; the time is that of the oldest open decision."""
    arena = LocalArena()
    info = bot_pb2.BotInfo(author="Anna\x1b[2J", version="2", language="Zig", description="x" * 300)
    anna = arena.connect("anna", software="zig-sdk/1", max_games=3, info=info)
    for _ in range(2):
        await arena.match("anna", "ghost")
    await anna.until(lambda received: len(received.decisions) == 2)
    arena.wait(2.0)
    await anna.answer(await anna.decision(), 99)
    arena.wait(1.0)
    bot = await only_bot(arena)
    said = BotInfo(author="Anna [2J", version="2", language="Zig", description="x" * 200)
    assert bot_info_of(bot.info) == said
    assert (bot.name, bot.software, bot.house) == ("anna", "zig-sdk/1", False)
    assert (bot.connected, bot.games, bot.max_games, bot.decisions_waiting) == (True, 2, 3, 2)
    assert (bot.answers, bot.strikes) == (1, 1)
    assert bot.waiting_since.ToNanoseconds() == pytest.approx((arena.now - 3) * 1e9)


async def test_bot_that_lost_its_connection_is_listed_as_away() -> None:
    arena = LocalArena()
    anna = arena.connect("anna")
    arena.wait(1.0)
    anna.lose()
    bot = await only_bot(arena)
    assert not bot.connected
    assert bot.since.ToNanoseconds() == pytest.approx(arena.now * 1e9)
    assert not bot.HasField("max_games")


async def test_bots_come_by_name_in_pages(arena: Arena) -> None:
    """Pages follow each other by name, and bots that come meanwhile repeat nothing."""
    for name in ("carl", "anna", "ben"):
        await arena.connect(name)
    bots = Service(arena.channel, "happycity.v1.BotService")
    first = await bots.ListBots(page_size=2)
    assert [bot.name for bot in first.bots] == ["anna", "ben"]
    await arena.connect("aaron")
    second = await bots.ListBots(page_size=2, page_token=first.next_page_token)
    assert ([bot.name for bot in second.bots], second.next_page_token) == (["carl"], "")


async def test_moment_of_a_waiting_decision_stays_the_same_and_goes_with_its_bot() -> None:
    """Watchers get no change while nothing changes, and a server keeps nothing of bots that are gone."""
    arena = LocalArena()
    anna = arena.connect("anna")
    await arena.match("anna", "anna")
    await anna.decision()
    arena.wait(2.0)
    (first,) = arena.places.activity(["anna"])
    arena.wait(1.0)
    assert list(arena.places.activity(["anna"])) == [first]
    assert first.HasField("waiting_since")
    kept = [value for value in vars(arena.places).values() if isinstance(value, dict)]
    assert not any("anna" in each for each in kept)
