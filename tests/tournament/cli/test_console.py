"""What people see of a tournament: a live table on a terminal, lines elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from happycity import Config, Ending
from happycity_tournament.cli import console
from happycity_tournament.cli.console import Display, likelihood, print_result
from happycity_tournament.config import Participation, SprtTest, TournamentConfig, TournamentState
from happycity_tournament.ratings.sprt import SprtState, Verdict
from happycity_tournament.running.snapshot import Snapshot
from happycity_tournament.running.standings import ForfeitCount, Standing

CONFIG = TournamentConfig(
    bots=("ann", "bob", "cem"),
    game=Config(players=2),
    seed=5,
    participations=(Participation(bot="cem", first_round=3, last_round=7),),
)
SPRT = TournamentConfig(
    bots=("new", "old"), game=Config(players=2), format=SprtTest(candidate="new", base="old"), seed=5
)


def standing(rank: int, bot: str, **fields: object) -> Standing:
    values = {"elo": 1500.0, "elo_low": None, "elo_high": None, "games": 6, "points_mean": 30.0, "firsts": 3}
    unknown = {"forfeits": 0, "forfeit_counts": (), "games_unrated": 0}
    return Standing(rank=rank, bot=bot, **{**values, **unknown, **fields})  # type: ignore[arg-type]


SNAPSHOT = Snapshot(
    tournament_id=1,
    config=CONFIG,
    seed=5,
    created_at=0.0,
    state=TournamentState.RUNNING,
    games_total=40,
    standings=(
        standing(1, "ann", elo=1512.0, elo_low=1490.0, elo_high=1534.0),
        standing(2, "bob"),
        standing(3, "cem", forfeits=2, forfeit_counts=(ForfeitCount(Ending.CRASHED, "[bold]x", 2, 1),)),
    ),
)


class Screen:
    """Everything that is written to a terminal or a file, and the time by which that happens."""

    def __init__(self, *, terminal: bool) -> None:
        self.file = StringIO()
        self.console = Console(file=self.file, force_terminal=terminal, width=100, color_system=None)
        self.now = 100.0

    def text(self) -> str:
        """Return what was written since the last call, without control sequences."""
        text = re.sub(r"\x1b\[[0-9?]*[A-Za-z]", "", self.file.getvalue())
        self.file.seek(0)
        self.file.truncate()
        return text


@pytest.fixture(params=[True, False], ids=["terminal", "file"])
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Screen:
    opened = Screen(terminal=request.param)
    monkeypatch.setattr(console, "Console", lambda **_: opened.console)
    monkeypatch.setattr("time.monotonic", lambda: opened.now)
    return opened


@pytest.fixture
def update(screen: Screen) -> Iterator[Callable[..., str]]:
    """Return a function that shows a changed snapshot after some seconds, and returns what was written."""
    with Display(hint="Ctrl-C stops it") as display:

        def show(seconds: float = 5.0, **changes: object) -> str:
            screen.now += seconds
            display.update(replace(SNAPSHOT, **changes))  # type: ignore[arg-type]  # any of its fields
            return screen.text()

        yield show


def test_progress_is_shown_while_it_runs(update: Callable[..., str], screen: Screen) -> None:
    """How far it is, how fast, and how long it will take; on a terminal with the standings."""
    waiting = update(state=TournamentState.WAITING, missing_bots=("bob", "cem"))
    assert "waiting for bob, cem, at most 10 s" in waiting
    assert "Ctrl-C stops it" in waiting
    assert "0 of 40 games, 0.0 games/s, no estimate yet; not connected: cem" in update(missing_bots=("cem",))
    running = update(games=20)
    assert "20 of 40 games, 4.0 games/s, 5 s left" in running
    assert ("1512" in running) is screen.console.is_terminal
    # A line every few seconds is enough in a file.
    assert ("21 of 40" in update(0.1, games=21)) is screen.console.is_terminal
    assert "30 of 40 games, 0.9 games/s" in update(10.5, games=30)  # of the last seconds only


def test_events_are_lines_of_their_own(update: Callable[..., str]) -> None:
    """Each is written once; names and reasons are shown as they are."""
    first = update(missing_bots=("bob",), disqualified=("cem",), remarks=("no [red]space",))
    for line in (
        "bob did not connect in time; its games are forfeited until it does",
        "cem is disqualified for too many forfeits; its remaining seats are forfeited and not rated",
        "cem takes part from round 3 on",
        "cem was withdrawn after round 7",
        "no [red]space",
        "cem forfeited 2 of 6 games: 2 crashed ([bold]x)",
    ):
        assert line in first
    again = update(missing_bots=("bob",), disqualified=("cem",), remarks=("no [red]space",))
    assert "did not connect" not in again
    assert "no [red]space" not in again


@pytest.mark.parametrize(
    ("hypotheses", "verdict", "text"),
    [
        ((0, 10), Verdict.RUNNING, "new against old: nothing is decided yet"),
        ((0, 10), Verdict.H0, "new is not 10 Elo stronger than old"),
        ((0, 10), Verdict.H1, "new is stronger than old"),
        ((-5, 0), Verdict.H0, "new is weaker than old"),
        ((-5, 0), Verdict.H1, "new is not 5 Elo weaker than old"),
        ((0, 10), Verdict.NO_DIFFERENCE, "new and old play the same: every block was exactly even"),
        ((0, 10), Verdict.UNDECIDED, "new against old: undecided after the maximum number of blocks"),
    ],
)
@pytest.mark.parametrize("screen", [False], indirect=True)
def test_a_test_is_shown_with_its_numbers(
    screen: Screen, hypotheses: tuple[float, float], verdict: Verdict, text: str
) -> None:
    """The decision is a sentence with the difference; LLR and bounds follow."""
    elo0, elo1 = hypotheses
    config = replace(SPRT, format=SprtTest(candidate="new", base="old", elo0=elo0, elo1=elo1))
    state = SprtState(
        blocks=9, llr=1.5, lower=-2.94, upper=2.94, elo=3.0, elo_low=-1.0, elo_high=7.0, verdict=verdict
    )
    lines = (standing(1, "new"), standing(2, "old"))
    print_result(screen.console, replace(SNAPSHOT, config=config, standings=lines, test=state, games=18))
    output = screen.text()
    assert f"{text} (9 blocks, +3 ±4 Elo)\n" in output
    assert f"LLR +1.50 (H0 at -2.94, H1 at +2.94); H0 {elo0:+g}, H1 {elo1:+g} Elo, alpha 0.05" in output
    assert ("are left out" in output) is (verdict is not Verdict.RUNNING)


@pytest.mark.parametrize(
    ("los", "text"),
    [(None, "-"), (0.5, "50.0%"), (0.9994, "99.9%"), (0.9996, ">99.9%"), (0.0004, "<0.1%"), (1.0, ">99.9%")],
)
def test_doubt_is_never_shown_as_certainty(los: float | None, text: str) -> None:
    """No likelihood is 0 or 100 percent."""
    assert likelihood(los) == text
