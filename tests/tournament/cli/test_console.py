"""What people see of a tournament that is over."""

from dataclasses import replace

import pytest
from tests.tournament.cli.screens import SNAPSHOT, SPRT, Screen, standing

from happycity_tournament.cli.console import print_result
from happycity_tournament.config import SprtTest
from happycity_tournament.ratings.results import BotRating, Difference, Ratings
from happycity_tournament.ratings.sprt import SprtState, Verdict


@pytest.fixture
def screen() -> Screen:
    return Screen(terminal=False)


@pytest.mark.parametrize(
    ("hypotheses", "verdict", "elo", "text"),
    [
        ((0, 10), Verdict.RUNNING, 3, "new against old: nothing is decided yet"),
        ((0, 10), Verdict.H0, 3, "new can't be distinguished from old, and is not 10 Elo stronger"),
        ((0, 10), Verdict.H0, 5, "new is stronger than old, but not by 10 Elo"),
        ((0, 10), Verdict.H0, -5, "new is weaker than old"),
        ((0, 10), Verdict.H1, 5, "new is stronger than old"),
        ((0, 10), Verdict.H1, 3, "new is stronger than old; the interval alone would leave it open"),
        ((5, 10), Verdict.H1, 7, "new is stronger than old"),
        ((-5, 0), Verdict.H0, -5, "new is weaker than old"),
        ((-5, 0), Verdict.H1, 3, "new can't be distinguished from old, and is not 5 Elo weaker"),
        ((-9, 0), Verdict.H1, -5, "new is weaker than old, but not by 9 Elo"),
        ((0, 10), Verdict.NO_DIFFERENCE, 3, "new and old play the same: every block was exactly even"),
        ((0, 10), Verdict.UNDECIDED, 3, "new against old: undecided after the maximum number of blocks"),
    ],
)
def test_a_test_is_shown_with_its_numbers(
    screen: Screen, hypotheses: tuple[float, float], verdict: Verdict, elo: float, text: str
) -> None:
    """The decision is a sentence that agrees with the difference behind it; LLR and bounds follow."""
    elo0, elo1 = hypotheses
    config = replace(SPRT, format=SprtTest(candidate="new", base="old", elo0=elo0, elo1=elo1))
    state = SprtState(
        verdict=verdict,
        blocks=9,
        llr=1.5,
        lower=-2.94,
        upper=2.94,
        elo=elo,
        elo_low=elo - 4,
        elo_high=elo + 4,
    )
    lines = (standing(1, "new"), standing(2, "old"))
    print_result(screen.console, replace(SNAPSHOT, config=config, standings=lines, test=state, games=18))
    output = screen.text()
    assert f"{text} (9 blocks, {elo:+g} ±4 Elo)\n" in output
    assert f"LLR +1.50 (H0 at -2.94, H1 at +2.94); H0 {elo0:+g}, H1 {elo1:+g} Elo, alpha 0.05" in output
    assert ("are left out" in output) is (verdict is not Verdict.RUNNING)


def test_the_failures_of_a_bot_are_one_line(screen: Screen) -> None:
    print_result(screen.console, replace(SNAPSHOT, disqualified=("cem",)))
    text = " ".join(screen.text().split())
    assert "cem crashed in 2 of 6 games: [bold]x, first in game 1; disqualified after 6 games" in text


@pytest.mark.parametrize(
    ("width", "without"), [(80, ()), (70, ("won/=/lost",)), (56, ("won/=/lost", "games", "points"))]
)
def test_a_narrow_terminal_shows_fewer_columns(screen: Screen, width: int, without: tuple[str, ...]) -> None:
    """Names and ratings are whole in any width; what is needed least is left out."""
    lines = [
        BotRating(bot=bot, elo=1500.0, low=1400.0, high=1600.0, games=6, deals=3, rank_worst=3)
        for bot in ("ann", "bob", "cem")
    ]
    above = Difference(elo=121.0, low=-20.0, high=262.0, los=0.9)
    final = Ratings(lines=tuple(lines), differences={("ann", "bob"): above, ("bob", "cem"): above})
    screen.console.width = width
    print_result(screen.console, replace(SNAPSHOT, final=final))
    output = screen.text()
    assert all(
        " ".join(("1-3", bot, "1500", "±100")) in " ".join(output.split()) for bot in ("ann", "bob", "cem")
    )
    headings = output.split("\u2500")[0]
    assert {heading for heading in ("won/=/lost", "games", "points") if heading not in headings} == set(
        without
    )
