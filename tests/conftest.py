"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.tournament.postgres import Cluster, postgresql

# A slow machine is no error, and a run's outcome depends on the code alone.
settings.register_profile(
    "arena", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("arena")

KINDS = ("sqlite", "postgresql")
"""The databases that a store may be in; whatever a store does is tested in both."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Give a PostgreSQL server, started once for all tests."""
    with postgresql() as started:
        yield started


@pytest.fixture(params=KINDS)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Give a function that returns the URL of a new and empty database, in each kind of database in turn."""
    if request.param == "sqlite":
        names = iter(range(1000))
        return lambda: f"sqlite:///{tmp_path}/databases/{next(names)}.sqlite"
    found: Cluster = request.getfixturevalue("cluster")
    return found.new_database


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """Give the URL of a new and empty database, in each kind of database in turn."""
    return new_url()
