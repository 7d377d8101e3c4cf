"""A store with a ladder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.ladder.test_book import ladder_with_bots

from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.store import Store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """Yield a store with a ladder of ann, bob and cem, which is of the house."""
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        ladder_with_bots(store)
        async with AsyncStore(store) as async_store:
            yield async_store
