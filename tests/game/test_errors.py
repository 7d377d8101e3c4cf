"""What a message says about an unknown name."""

from __future__ import annotations

import pytest

from happycity.errors import suggestion


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("gready", ["random", "greedy"], "did you mean greedy?"),
        ("zoe", ["random", "greedy"], "there are: random, greedy"),
        ("zoe", [], "there are none"),
        ("x7", [f"bot-{number}" for number in range(100)], "the nearest is bot-7"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(name: str, known: list[str], expected: str) -> None:
    """A near name is proposed; else all are listed, unless they are many."""
    assert suggestion(name, known) == expected
