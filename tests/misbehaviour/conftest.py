from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from tests.misbehaviour.arena import Arena

from happycity.records import Json

# What a test waits for comes soon with these. A good bot must stand them on a busy machine too.
QUICK = {
    "OPEN": "1",
    "PING_SECONDS": "1",
    "STALL_SECONDS": "1.5",
    "HELLO_SECONDS": "2",
    "MESSAGE_BYTES": "65536",
    "STREAMS_PER_PEER": "64",
}


@pytest.fixture(scope="session")
def _arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    if not sys.platform.startswith("linux"):
        pytest.skip("reads the server's memory from /proc")
    with Arena(tmp_path_factory.mktemp("arena"), environ=QUICK) as running:
        running.start_good_bots()
        yield running


@pytest.fixture(scope="session")
def undisturbed(_arena: Arena) -> Json:
    """Give the record of the good bots' side match while nobody misbehaves."""
    return _arena.side_match()


@pytest.fixture
def arena(_arena: Arena, undisturbed: Json) -> Iterator[Arena]:
    """Give the server, with two good bots on it; afterwards it must serve them as if nothing had been."""
    yield _arena
    assert _arena.side_match() == undisturbed
    assert _arena.failures() == []
    assert _arena.server.process.poll() is None
