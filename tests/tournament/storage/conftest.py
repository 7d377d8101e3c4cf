from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from happycity_tournament.storage import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a SQLite database that isn't there yet, nor is its folder."""
    return tmp_path / "runs" / "games.sqlite"


@pytest.fixture
def url(path: Path) -> str:
    """Return the URL of that database."""
    return f"sqlite:///{path}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """Yield a new store."""
    with Store.create(url) as created:
        yield created


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let claims wait for a moment only, where they are expected to fail."""
    monkeypatch.setattr("happycity_tournament.storage.claims.PATIENCE_SECONDS", 0.01)
