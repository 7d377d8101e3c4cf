from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.server.play.arena import Arena


@pytest.fixture
def log() -> Iterator[list[Any]]:
    with capture_logs() as lines:
        yield lines


@pytest.fixture
def arena() -> Arena:
    return Arena()
