"""The store as asyncio code sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from happycity_tournament.archive import Archive
from happycity_tournament.store import Store, StoredGame, StoreError

GAME = StoredGame(
    id=1,
    tournament_id=None,
    round=None,
    table=None,
    rotation=None,
    deal_seed=1,
    bots=("ann", "bob"),
    bot_seeds=(1, 2),
    points=(3, 4),
    coins=(0, 0),
    places=(2, 1),
    endings=("finished", "finished"),
    decisions=9,
    seconds=0.5,
    finished_at=100.0,
    record="{}",
)


class CountingStore(Store):
    """Remembers the batches that it was given, and may be told to fail."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.batches: list[list[int]] = []
        self.failure: StoreError | None = None

    def add_games(self, batch: Sequence[StoredGame]) -> None:
        self.batches.append([game.id for game in batch])
        if self.failure is not None:
            raise self.failure
        super().add_games(batch)


@pytest.fixture
def store(url: str) -> Iterator[CountingStore]:
    with CountingStore(url) as opened:
        yield opened


async def save_all(store: Store, games: Sequence[StoredGame]) -> list[BaseException | None]:
    async with Archive(store) as archive:
        return await asyncio.gather(*map(archive.save, games), return_exceptions=True)


async def test_games_of_a_short_while_are_committed_together(store: CountingStore) -> None:
    """Games that come together cost one transaction."""
    games = [replace(GAME, id=number) for number in range(1, 6)]
    assert await save_all(store, games) == [None] * 5
    assert store.batches == [[1, 2, 3, 4, 5]]


@pytest.mark.parametrize(
    "bad", [replace(GAME, id=1), replace(GAME, id=9, tournament_id=77), replace(GAME, id=9, record="\udc00")]
)
async def test_a_bad_game_fails_alone(store: CountingStore, bad: StoredGame) -> None:
    """A game that is stored already, or can't be, does not cost the others of its batch."""
    good = [replace(GAME, id=number) for number in range(1, 4)]
    outcomes = await save_all(store, [*good, bad, replace(GAME, id=4)])
    assert [type(outcome) for outcome in outcomes[:3]] == [type(None)] * 3
    assert isinstance(outcomes[3], Exception)
    assert outcomes[4] is None
    assert [game.id for game in store.games(10)] == [4, 3, 2, 1]


async def test_a_store_that_takes_nothing_is_asked_once(store: CountingStore) -> None:
    """What would befall any game, such as a full disk, is not tried for each of a batch."""
    store.failure = StoreError("sqlite://", "has no room left", for_all=True)
    outcomes = await save_all(store, [GAME, replace(GAME, id=2)])
    assert outcomes == [store.failure] * 2
    assert store.batches == [[1, 2]]


async def test_everything_is_committed_when_the_archive_is_left(store: CountingStore) -> None:
    """Leaving the archive waits for games that nobody waits for."""
    async with Archive(store) as archive:
        task = asyncio.create_task(archive.save(GAME))
        await asyncio.sleep(0)  # lets the task hand its game over
    await task
    assert store.game(1) is not None
