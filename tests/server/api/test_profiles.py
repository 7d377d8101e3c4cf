"""A tournament shows what its bots said of themselves, also when they have left and the server is another."""

from pathlib import Path

import pytest
from tests.server.api.tournaments import Arena, arena_with, config
from tests.server.harness import connected

from happycity import BotInfo
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.v1 import bot_pb2
from happycity.wire.match import bot_info_of
from happycity_tournament.games import BotProfile
from happycity_tournament.storage.store import Store
from happycity_tournament.wire import tournament_config_of

INFO = bot_pb2.BotInfo(author="Anna", version="2", language="Zig", description="counts")


async def profiles(arena: Arena, tournament_id: int) -> dict[str, BotProfile]:
    """Return what the bots of a tournament said, as the server has it."""
    tournament = await arena.get(tournament_id)
    (listed,) = (await arena.call.ListTournaments()).tournaments
    assert listed.bots == tournament.bots
    return {bot.name: BotProfile(bot_info_of(bot.info), bot.software) for bot in tournament.bots}


@pytest.mark.level(2)
async def test_tournament_keeps_what_its_bots_say(tmp_path: Path) -> None:
    """Bots may be there before, connect later, or come back saying something else; strangers are left out."""
    async with arena_with(tmp_path) as arena:
        anna = await connected(arena.channel, "anna", info=INFO, software="zig/3")
        await connected(arena.channel, "stranger", info=INFO)
        tournament_id = await arena.create(config("ben", "anna"))
        said = {"anna": BotProfile(bot_info_of(INFO), "zig/3")}
        assert await profiles(arena, tournament_id) == said
        ben = await connected(arena.channel, "ben", info=bot_pb2.BotInfo(version="\x1b[1m7"), software="")
        said["ben"] = BotProfile(BotInfo(version="[1m7"))
        assert await profiles(arena, tournament_id) == said
        assert [bot.name for bot in (await arena.get(tournament_id)).bots] == ["ben", "anna"]
        ben.cancel()
        ben = await connected(arena.channel, "ben", software="other/1")
        said["ben"] = BotProfile(BotInfo(), "other/1")
        assert await profiles(arena, tournament_id) == said
        anna.cancel()
        ben.cancel()
    async with arena_with(tmp_path, resume_tournaments=False) as arena:
        assert await profiles(arena, tournament_id) == said


@pytest.mark.level(2)
async def test_large_profiles_make_short_pages(tmp_path: Path) -> None:
    """A list arrives in messages that every gRPC client accepts, however much the bots say of themselves."""
    bots = [f"bot-{number}" for number in range(500)]
    info = BotInfo(author="語" * 80, version="語" * 80, language="語" * 80, description="語" * 200)
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        stored = tournament_config_of(config(*bots), default_seed=1).json()
        ids = [store.create_tournament(stored, games_total=6, created_at=0.0) for _ in range(8)]
        for tournament_id in ids:
            store.set_profiles(tournament_id, {bot: BotProfile(info, "語" * 80) for bot in bots})
    async with arena_with(tmp_path, resume_tournaments=False) as arena:
        listed: list[pb.Tournament] = []
        token = ""
        while not listed or token:
            page = await arena.call.ListTournaments(page_size=200, page_token=token)
            listed += page.tournaments
            token = page.next_page_token
        assert [tournament.tournament_id for tournament in listed] == ids[::-1]
        assert {len(tournament.bots) for tournament in listed} == {len(bots)}


@pytest.mark.level(2)
async def test_what_a_bot_said_last_is_stored(tmp_path: Path) -> None:
    """However fast a bot comes back saying something new."""
    async with arena_with(tmp_path) as arena:
        tournament_id = await arena.create(config("ben", "anna"))
        for version in range(50):
            anna = await connected(arena.channel, "anna", info=bot_pb2.BotInfo(version=str(version)))
        assert (await profiles(arena, tournament_id))["anna"].info.version == "49"
        anna.cancel()
    async with arena_with(tmp_path, resume_tournaments=False) as arena:
        assert (await profiles(arena, tournament_id))["anna"].info.version == "49"
