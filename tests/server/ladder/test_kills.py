"""A ladder whose server is killed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
import pytest
from tests.server.harness import Service, outcome_of
from tests.server.ladder.ladders import (
    TWO_SEATS,
    Games,
    check_complete,
    deals_in,
    numbers_of,
    playing,
    ratings_follow,
)
from tests.server.server_process import ended_server

from happycity_ladder.book import Book
from happycity_ladder.entries import DealState
from happycity_tournament.storage.store import Store


@asynccontextmanager
async def killed_server(folder: Path, address: str) -> AsyncIterator[str]:
    """Run a server that keeps a ladder, and kill it at the end of the context; yields its address."""
    flags = ("--listen", address, "--ladder", f"{folder}/ladder.toml")
    async with ended_server(folder, *flags) as addresses:
        yield addresses["listening"]


def games_in(folder: Path) -> set[int]:
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        return {game.match_id for game in store.games(10_000)}


@pytest.mark.level(3)
async def test_kills_lose_nothing(tmp_path: Path) -> None:
    """Bots find the server again, deals go on, and the ratings are those of all finished deals."""
    (tmp_path / "ladder.toml").write_text(TWO_SEATS)
    address, games, stored = "127.0.0.1:0", Games(), set[int]()
    async with AsyncExitStack() as bots:
        for number in range(4):
            async with killed_server(tmp_path, address) as address:
                if not number:
                    playing_bots = playing(address, "anna", "ben", "carl", games=games)
                    await bots.enter_async_context(playing_bots)
                await games.more(24)
            assert stored < games_in(tmp_path)  # but for the very last ones, which were not stored yet
            stored = games_in(tmp_path)
    deals = deals_in(tmp_path)
    check_complete(tmp_path, deals)
    finished = numbers_of(deals)
    assert finished == list(range(1, len(finished) + 1))
    assert not [deal for deal in deals if deal.state is DealState.DROPPED]
    await ratings_follow(tmp_path)


@pytest.mark.level(2)
@pytest.mark.parametrize("seconds", [0.0, 0.003, 0.01, 0.03, 0.1])
async def test_kill_during_an_act_loses_nothing(tmp_path: Path, seconds: float) -> None:
    """The act is there with all that it changes, or nothing of it; ratings follow from what remains."""
    (tmp_path / "ladder.toml").write_text(TWO_SEATS)
    games = Games()
    async with AsyncExitStack() as bots:
        async with killed_server(tmp_path, "127.0.0.1:0") as address:
            await bots.enter_async_context(playing(address, "anna", "ben", "carl", games=games))
            await games.more(40)
            channel = await bots.enter_async_context(grpc.aio.insecure_channel(address))
            ladder = Service(channel, "happycity.ladder.v1beta1.LadderService")
            act = {"void_deals": {"bot": "anna"}, "text": "a test"}
            calling = asyncio.ensure_future(outcome_of(ladder.CreateAct(**act)))
            await asyncio.sleep(seconds)  # wherever the act stands then, the server is killed
        await calling
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        acts, voided = Book(store).actions(9), [deal for deal in deals_in(tmp_path) if deal.act_id]
        assert [act.deals for act in acts] == ([len(voided)] if voided else [])
        season, deals = Book(store).season(), deals_in(tmp_path)
        assert season is not None
        assert season.deals == sum(deal.state is DealState.FINISHED for deal in deals)
    await ratings_follow(tmp_path)
