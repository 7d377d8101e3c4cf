"""Which deals that were broken off wait for their bots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.tournament.storage.test_ladder import begun, ladder_with_bots

from happycity_server.ladder.returning import ReturningDeals
from happycity_tournament.ladder.config import Board, LadderConfig
from happycity_tournament.storage import AsyncStore, Store
from happycity_tournament.storage.ladder import LadderStore

CONFIG = LadderConfig(boards=(Board(players=2),))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """Yield a store with a ladder of ann, bob and cem."""
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        ladder_with_bots(store)
        async with AsyncStore(store) as async_store:
            yield async_store


async def test_deal_that_ends_while_the_store_is_read_is_not_played_again(store: AsyncStore) -> None:
    """And one that is broken off meanwhile is found the next time."""
    ladder = LadderStore(store.store)
    first, second = begun(ladder, 1, 2), begun(ladder, 1, 2)
    present = {version.bot: version for version in ladder.versions().values()}
    returning, playing = ReturningDeals(CONFIG, store, lambda: 50.0), {first.id, second.id}
    returning.stale = True
    taking = asyncio.create_task(returning.take(present, playing))
    await asyncio.sleep(0)  # the store is being read now
    playing.clear()
    returning.stale = True
    assert not await taking
    assert returning.stale
    playing.add(first.id)
    assert [deal for deal, _, _ in await returning.take(present, playing)] == [second]
