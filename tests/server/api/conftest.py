from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.api.arena import Arena, arena_with


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    async with arena_with(tmp_path) as running:
        yield running
