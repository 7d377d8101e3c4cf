from collections.abc import Iterator

import pytest

from happycity_tournament.storage.store import Store


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """Yield a new store, in each kind of database in turn."""
    with Store.create(url) as created:
        yield created
