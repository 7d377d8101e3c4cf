"""What people see of a tournament that is over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.tournament.cli.screens import SNAPSHOT, SPRT, Screen, standing

from happycity_tournament.cli.console import likelihood, print_result
from happycity_tournament.ratings.sprt import SprtState, Verdict


@pytest.fixture
def screen() -> Screen:
    return Screen(terminal=False)


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict.RUNNING, "nothing is decided yet"),
        (Verdict.H0, "H0 is accepted: the difference is +0 Elo (H0) rather than +10 (H1)"),
        (Verdict.H1, "new is stronger than old: the difference is +10 Elo (H1) rather than +0 (H0)"),
        (Verdict.NO_DIFFERENCE, "no difference: every block was exactly even, the bots play the same"),
        (Verdict.UNDECIDED, "undecided: the maximum number of blocks was played"),
    ],
)
def test_a_test_is_shown_with_its_numbers(screen: Screen, verdict: Verdict, text: str) -> None:
    """The decision is a sentence; LLR, bounds and the difference follow."""
    state = SprtState(
        blocks=9, llr=1.5, lower=-2.94, upper=2.94, elo=3.0, elo_low=-1.0, elo_high=7.0, verdict=verdict
    )
    lines = (standing(1, "new"), standing(2, "old"))
    print_result(screen.console, replace(SNAPSHOT, config=SPRT, standings=lines, test=state, games=18))
    output = screen.text()
    assert text in output
    assert (
        "new against old, alpha 0.05, beta 0.05: 9 blocks, LLR +1.50 (H0 at -2.94, H1 at +2.94), "
        "+3.0 Elo (95%: -1.0 to +7.0)"
    ) in output
    assert ("are left out" in output) is (verdict is not Verdict.RUNNING)


@pytest.mark.parametrize(
    ("los", "text"),
    [(None, "-"), (0.5, "50.0%"), (0.9994, "99.9%"), (0.9996, ">99.9%"), (0.0004, "<0.1%"), (1.0, ">99.9%")],
)
def test_doubt_is_never_shown_as_certainty(los: float | None, text: str) -> None:
    """No likelihood is 0 or 100 percent."""
    assert likelihood(los) == text


def test_the_failures_of_a_bot_are_one_line(screen: Screen) -> None:
    """The result says how often and why it failed, and after how many games it was disqualified."""
    print_result(screen.console, replace(SNAPSHOT, disqualified=("cem",)))
    text = " ".join(screen.text().split())
    assert "cem crashed in 2 of 6 games: [bold]x, first in game 1; disqualified after 6 games" in text
