from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.store import Store


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AsyncStore]:
    monkeypatch.setattr("happycity_tournament.storage.async_store.GATHER_SECONDS", 0.0)
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as opened:
        async with AsyncStore(opened) as store:
            yield store
