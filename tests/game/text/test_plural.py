"""Counts in words."""

from __future__ import annotations

import pytest

from happycity.text.words import plural


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 games"), (1, "1 game"), (-1, "-1 game"), (2, "2 games"), (2000, "2,000 games")]
)
def test_noun_agrees_with_its_count(count: int, text: str) -> None:
    """A noun is singular beside one; thousands have commas."""
    assert plural(count, "game") == text
