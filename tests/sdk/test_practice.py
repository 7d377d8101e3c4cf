"""Practice by the Python SDK, on a real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import FirstMove
from tests.server.harness import serving

from happycity import ConfigError, Ending, Mode
from happycity_client import ConnectionFailedError, PracticeError, Settings, practice_games, practise


async def test_bot_practises_against_itself(tmp_path: Path) -> None:
    """A bot plays so many games, on deals that count up after each rotation of the seats."""
    async with serving(tmp_path) as (server, _):
        settings = Settings(name="anna", server=server.address)
        games = await practise(
            FirstMove, settings, against=["anna"], games=5, seed=2**32 - 1, mode=Mode.EXPERT
        )
    assert sorted(game.deal for game in games) == [0, 0, 1, 2**32 - 1, 2**32 - 1]
    assert {seat.ending for game in games for seat in game.seats} == {Ending.FINISHED}
    assert all(game.own is game.seats[0] for game in games)


async def test_quota_is_waited_for(tmp_path: Path) -> None:
    """More games than may be open are played one after the other."""
    async with serving(tmp_path, practice_matches=1) as (server, _):
        games = await practise(
            FirstMove, Settings(name="anna", server=server.address), against=["anna"], games=3
        )
    assert len(games) == 3


async def test_refusal_is_typed(tmp_path: Path) -> None:
    """A bot that is not of the house ends practice with the server's reason."""
    async with serving(tmp_path) as (server, _):
        settings = Settings(name="anna", server=server.address)
        with pytest.raises(PracticeError, match="'ben' is neither 'anna' nor a bot of the house") as caught:
            await practise(FirstMove, settings, against=["ben"], games=1)
    assert caught.value.reason == "NOT_HOUSE_BOT"


async def test_server_that_is_not_there_ends_practice(tmp_path: Path) -> None:
    """Without a server, practice fails as playing does."""
    settings = Settings(name="anna", server=f"unix:{tmp_path}/none")
    with pytest.raises((ConnectionFailedError, PracticeError), match=r"unix:.*/none"):
        await practise(FirstMove, settings, against=["anna"])


async def test_too_many_players_are_refused() -> None:
    """A table has five seats."""
    with pytest.raises(ConfigError, match="players"):
        async for _ in practice_games(Settings(name="anna"), against=["anna"] * 5):
            pass
