"""Helping takes two: a bot that loses by it, and one that gains. One of the two alone is no flag."""

import pytest
from tests.ladder.test_flags import Cheat, flags_of, played

from happycity_ladder.flags import FlagKind
from happycity_tournament.ratings.columns import Floats


def changed(*, first: float, second: float) -> Cheat:
    """Change the strengths of bots 1 and 2, in Elo, where both are at a table."""

    def change(number: int, lineup: list[int], strengths: Floats) -> None:
        if {1, 2} <= set(lineup):
            strengths[lineup.index(1)] += first
            strengths[lineup.index(2)] += second

    return change


@pytest.mark.parametrize(("first", "second"), [(-900, 0), (0, 900), (-900, -900), (900, 900)])
def test_one_side_alone_is_not_flagged(first: float, second: float) -> None:
    deals = played(deals=1200, seed=1, cheat=changed(first=first, second=second))
    assert [flag for flag in flags_of(deals) if flag.kind is FlagKind.HELPING] == []


def test_who_helps_and_who_gains_are_not_confused() -> None:
    deals = played(deals=1200, seed=1, cheat=changed(first=300, second=-300))
    flags = [flag for flag in flags_of(deals) if flag.kind is FlagKind.HELPING]
    assert [(flag.bot, flag.beneficiary) for flag in flags] == [("bot2", "bot1")]
