"""Which games are finished when a tournament is stopped."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from happycity_server.places.places import long_matches


@pytest.mark.parametrize(
    ("decisions", "seconds", "dropped"),
    [
        ([50, 40, 10], 0.0, [50, 40, 10]),
        # 100 decisions were played in 10 s, and a game of two bots has about 56.
        ([50, 40, 10], 1.0, [40, 10]),
        ([10, 40, 50], 2.5, [10]),
        ([50, 40, 10], 10.0, []),
        ([90, 10], 1.0, [10]),  # a long game is always near its end
        ([0, 0], 3.0, [0, 0]),
        ([], 3.0, []),
    ],
)
async def test_games_that_are_near_their_end_are_finished(
    decisions: list[int], seconds: float, dropped: list[int]
) -> None:
    """Others are dropped, as one after the other they would take too long."""
    matches = [SimpleNamespace(decisions=count, started_at=100.0, bots="ab") for count in decisions]
    found = long_matches(cast(Any, matches), seconds, now=110.0)
    assert [match.decisions for match in found] == dropped
