"""Which deals that were broken off wait for their bots."""

from __future__ import annotations

import asyncio

from tests.tournament.storage.test_ladder import begun

from happycity_server.ladder.returning import ReturningDeals
from happycity_tournament.ladder.config import Board, LadderConfig
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.ladder import LadderStore

CONFIG = LadderConfig(boards=(Board(players=2),))


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


async def test_deal_waits_until_its_bots_are_back(store: AsyncStore) -> None:
    """One whose bots don't come back in time is dropped."""
    ladder, now = LadderStore(store.store), 50.0
    deal, late = begun(ladder, 1, 2), begun(ladder, 2, 3)
    present = {version.bot: version for version in ladder.versions().values()}
    returning = ReturningDeals(CONFIG, store, lambda: now)
    await returning.load()
    ann, bob, *_ = present
    assert not await returning.take({ann: present[ann]}, ())
    both = {ann: present[ann], bob: present[bob]}
    assert [found for found, _, _ in await returning.take(both, ())] == [deal]
    now += CONFIG.return_seconds
    assert not await returning.take(both, ())
    assert late.id not in returning


async def test_deal_on_a_board_that_is_gone_is_dropped(store: AsyncStore) -> None:
    """Also when all its bots are back: nothing says what to play."""
    ladder = LadderStore(store.store)
    deal = begun(ladder, 1, 2, board="2-expert")
    present = {version.bot: version for version in ladder.versions().values()}
    returning = ReturningDeals(CONFIG, store, lambda: 50.0)
    await returning.load()
    assert not await returning.take(present, ())
    assert deal.id not in returning
