"""Practice matches on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import FirstMove
from tests.server.harness import serving

from happycity import ConfigError, Ending, Mode
from happycity.runtime.transport import Access
from happycity_client import Settings, play
from happycity_terminal.practice_matches import PracticeGame, PracticeMatches
from happycity_tournament.client.connection import ServerError


def matches(
    server: str, against: Sequence[str], *, remark: Callable[[str], object] = print
) -> PracticeMatches:
    return PracticeMatches(
        server=server,
        access=Access(),
        bot="anna",
        against=against,
        mode=Mode.EXPERT,
        decision_seconds=None,
        remark=remark,
    )


async def played(found: PracticeMatches, games: int, seed: int | None = None) -> list[PracticeGame]:
    return [game async for game in found.play(games, seed)]


@asynccontextmanager
async def server_with_anna(folder: Path, **values: Any) -> AsyncIterator[str]:
    """Yield the address of a server, to which a bot is about to connect."""
    async with serving(folder, **values) as (server, _):
        bot = asyncio.create_task(play(FirstMove, Settings(name="anna", server=server.address)))
        yield server.address
        bot.cancel()
        await asyncio.gather(bot, return_exceptions=True)


async def test_deals_count_up_after_each_rotation_of_the_seats(tmp_path: Path) -> None:
    """A bot plays against itself; the bot that is not there yet is waited for, which is said once."""
    remarks: list[str] = []
    async with server_with_anna(tmp_path) as address:
        games = await played(matches(address, ["anna"], remark=remarks.append), 5, seed=2**32 - 1)
    assert sorted(game.deal for game in games) == [0, 0, 1, 2**32 - 1, 2**32 - 1]
    assert {seat.ending for game in games for seat in game.seats} == {Ending.FINISHED}
    assert all(game.own is game.seats[0] for game in games)
    assert [remark.partition(":")[0] for remark in remarks] in ([], ["waiting"])


async def test_the_quota_is_waited_for(tmp_path: Path) -> None:
    """More games than may be open are played one after the other."""
    async with server_with_anna(tmp_path, practice_matches=1) as address:
        assert len(await played(matches(address, ["anna"]), 3)) == 3


async def test_what_can_not_be_practised_is_said(tmp_path: Path) -> None:
    """A bot of others, a server that is not there, and a table of six."""
    async with server_with_anna(tmp_path) as address:
        with pytest.raises(ServerError, match="'ben'") as caught:
            await played(matches(address, ["ben"]), 1)
        assert caught.value.details.reason == "NOT_HOUSE_BOT"
    with pytest.raises(ServerError, match=r"unix:.*/none"):
        await played(matches(f"unix:{tmp_path}/none", ["anna"]), 1)
    with pytest.raises(ConfigError, match="players"):
        await played(matches("127.0.0.1:9", ["anna"] * 5), 1)
