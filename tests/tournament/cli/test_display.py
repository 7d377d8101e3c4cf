"""What people see of a tournament while it runs: a live table on a terminal, lines elsewhere."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.cli.screens import SNAPSHOT, Screen
from tests.tournament.conftest import Run
from tests.tournament.leagues import League

from happycity import BotInfo, Incident, IncidentKind
from happycity.tournament.v1beta1.tournament_service_pb2 import BotActivity, MatchIncident
from happycity.wire.match import incident_message
from happycity.wire.moments import timestamp
from happycity_tournament.cli import display
from happycity_tournament.cli.display import INCIDENTS_SHOWN, Display
from happycity_tournament.config import TournamentState
from happycity_tournament.games import BotProfile
from happycity_tournament.ratings.statistics import MAX_METRICS, Moments, count_metrics
from happycity_tournament.storage.store import Store


@pytest.fixture(params=[True, False], ids=["terminal", "file"])
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Screen:
    opened = Screen(terminal=request.param)
    monkeypatch.setattr(display, "Console", lambda **_: opened.console)
    monkeypatch.setattr("time.monotonic", lambda: opened.now)
    monkeypatch.setattr("time.time", lambda: opened.now)
    return opened


@pytest.fixture
def update(screen: Screen) -> Iterator[Callable[..., str]]:
    """Return a function that shows a changed snapshot after some seconds, and returns what was written."""
    with Display() as shown:

        def show(seconds: float = 5.0, **changes: object) -> str:
            screen.now += seconds
            shown.update(replace(SNAPSHOT, **changes))  # type: ignore[arg-type]  # any of its fields
            return screen.text()

        yield show


def test_progress_is_shown_while_it_runs(update: Callable[..., str], screen: Screen) -> None:
    waiting = update(state=TournamentState.WAITING, missing_bots=("bob", "cem"))
    assert "waiting for bob, cem, at most 10 s" in waiting
    assert "Ctrl-C stops it" in waiting
    assert "0 of 40 games; not connected: cem" in update(missing_bots=("cem",))
    # Before the first game ends, the decisions of the running games say how far it is: a game has about 56.
    begun = update(games_running=20, decisions_running=560)
    assert "0 of 40 games, 15 s left" in begun
    assert "1512" not in begun
    running = update(games=20, decisions=1120)
    assert "20 of 40 games, 2.0 games/s, 10 s left" in running
    assert ("1512" in running) is screen.console.is_terminal
    # A line every few seconds is enough in a file.
    assert ("21 of 40" in update(0.1, games=21, decisions=1176)) is screen.console.is_terminal
    assert "30 of 40 games, 1.5 games/s, 7 s left" in update(10.5, games=30, decisions=1680)
    # A stop voids running games, and with them decisions that were counted.
    update(30, games=30, decisions=1680, games_running=5, decisions_running=140)
    assert "30 of 40 games, 0.0 games/s, unknown time left" in update(9, games=30, decisions=1680)


def test_games_that_are_longer_than_usual_leave_no_negative_time(
    update: Callable[..., str], screen: Screen
) -> None:
    """The bar is not full while games run, and no rate is shown before one has ended."""
    update(games=0, games_total=6)
    begun = update(games=0, games_total=6, games_running=2, decisions_running=300)
    assert "0 of 6 games, " in begun
    assert "games/s" not in begun
    assert "-" not in begun.partition("0 of 6 games, ")[2].partition(" left")[0]
    update(games=0, games_total=6, games_running=2, decisions_running=1000)
    late = update(games=4, games_total=6, games_running=2, decisions=600, decisions_running=9000)
    assert "games/s, 0 s left" in late
    bar = display.Display()
    bar.update(replace(SNAPSHOT, games=4, games_total=6, games_running=2, decisions_running=9000))
    (task,) = bar._bar.tasks
    assert task.percentage == 99.0


def test_events_are_lines_of_their_own(update: Callable[..., str]) -> None:
    """Each is written once; names and reasons are shown as they are."""
    first = update(missing_bots=("bob",), disqualified=("cem",), remarks=("no [red]space",))
    for line in (
        "bob did not connect in time; its games are forfeited until it does",
        "cem is disqualified: it crashed in 2 of 6 games: [bold]x, first in game 1; its other seats are "
        "forfeited and not rated",
        "no [red]space",
    ):
        assert line in first
    again = update(missing_bots=("bob",), disqualified=("cem",), remarks=("no [red]space",))
    assert "did not connect" not in again
    assert "no [red]space" not in again


def doing(bot: str, *, since: float | None = None, games: int = 1, **fields: bool) -> BotActivity:
    known = {"connected": True, "has_answered": True, **fields}
    return BotActivity(bot=bot, waiting_since=timestamp(since), games_waiting=games, **known)


def test_a_bot_that_is_waited_for_is_named(update: Callable[..., str], screen: Screen) -> None:
    """After some seconds with the time and the games, which go on by themselves; a quick bot isn't named."""
    now = screen.now + 5
    activity = (
        doing("ann", since=now - 2),
        doing("bob", since=now - 12, games=8, has_answered=False),
        doing("cem", since=now - 100, connected=False, has_answered=False),
    )
    shown = update(activity=activity)
    assert "waiting for bob for 12 s in 8 games; it has never answered" in shown
    assert "waiting for cem for 1 min 40 s in 1 game; it is not connected" in shown
    assert shown.index("waiting for cem") < shown.index("waiting for bob")
    assert "waiting for ann" not in shown
    again = update(activity=activity)
    assert "waiting for ann for 7 s in 1 game" in again
    assert "waiting for bob for 17 s in 8 games; it has never answered" in again


def wrong(
    *bots: str, kind: IncidentKind = IncidentKind.TIMEOUT, text: str = "no answer within 10 s", first: int = 7
) -> tuple[MatchIncident, ...]:
    return tuple(
        MatchIncident(
            match_id=number, bot=bot, round=2, incident=incident_message(Incident(13, 0, kind, text))
        )
        for number, bot in enumerate(bots, start=first)
    )


def test_strikes_are_shown_as_they_happen(update: Callable[..., str]) -> None:
    """The first of each kind says what and where; after that there are counts, which double."""
    assert "bob: no answer within 10 s (game 7, round 2, decision 13)" in update(incidents=wrong("bob"))
    illegal = wrong("bob", "bob", kind=IncidentKind.ILLEGAL_ANSWER, text="answered 99", first=9)
    shown = update(1, incidents=illegal)
    assert shown.count("bob: answered 99 (game 9, round 2, decision 13)") == 1
    assert "so far" not in shown
    assert "bob so far: 2 late, 2 illegal" in update(10, incidents=wrong("bob"))
    assert "so far" not in update(10, incidents=wrong("bob", "bob", "bob"))
    assert "so far" not in update(1, incidents=())
    assert "bob so far: 6 late, 2 illegal" in update(1, incidents=wrong("bob"))
    assert "so far" not in update(1, incidents=wrong(*["bob"] * 100))
    assert "bob so far: 106 late, 2 illegal" in update()
    assert "so far" not in update(100)


def test_of_many_bots_few_are_named(update: Callable[..., str], screen: Screen) -> None:
    """Those that are waited for longest, and some of hundreds that fail; the others are counted."""
    shown = update(
        activity=[doing(f"bot-{number:02}", since=screen.now - number) for number in range(10, 20)]
    )
    assert "waiting for bot-19 for 24 s" in shown
    assert "waiting for 7 more bots" in shown
    assert "bot-16" not in shown
    shown = update(incidents=wrong(*(f"bot-{number}" for number in range(300))))
    assert shown.count("no answer within 10 s") == INCIDENTS_SHOWN


def test_a_forfeit_before_the_first_decision_has_only_its_game(update: Callable[..., str]) -> None:
    absent = Incident(0, 1, IncidentKind.FORFEIT, "the seat is forfeited: absent")
    entry = MatchIncident(match_id=3, bot="bob", incident=incident_message(absent))
    assert "bob: the seat is forfeited: absent (game 3)" in update(incidents=(entry,))


def test_forfeits_of_disqualified_bots_are_no_news(update: Callable[..., str]) -> None:
    """They follow from the disqualification, which is shown with its reason."""
    forfeits = wrong("cem", kind=IncidentKind.FORFEIT, text="the seat is forfeited: disqualified")
    shown = update(incidents=forfeits, disqualified=("cem",))
    assert "cem is disqualified: it crashed in 2 of 6 games" in shown
    assert "the seat is forfeited" not in shown
    assert "is disqualified: it" not in update(disqualified=("cem",))


LEAGUE = League(("ann", "bob", "cem", "dan"), rounds=3)
TITLE = "Spring [red]cup[/] <b>2026</b> é"
SAID = BotInfo(author="Anna <a@b>", version="2", language="Zig", description="[b]counts[/b]\x1b[2J")


def test_titles_and_profiles_are_shown(tmp_path: Path, run: Run) -> None:
    """In lists, results, JSON and the report: what looks like markup is text; there may be no metrics."""
    url = LEAGUE.store(tmp_path / "games.sqlite")
    with Store.create(url) as store:
        store.set_config(1, {**LEAGUE.config, "title": TITLE}, games_total=12)
        store.set_profiles(1, {"ann": BotProfile(SAID, "zig/3"), "bob": BotProfile(BotInfo(), "go/1")})
    (listed,) = json.loads(run("list", url, "--json")[1])
    shown = json.loads(run("show", url, "--json")[1])
    assert listed["title"] == shown["title"] == TITLE
    said = {line["bot"]: line["about"] for line in shown["standings"] if line["about"]}
    assert said.keys() == {"ann", "bob"}
    assert said["ann"] == {
        "software": "zig/3",
        "author": "Anna <a@b>",
        "version": "2",
        "language": "Zig",
        "description": "[b]counts[/b] [2J",
    }
    assert "Spring [red]cup[/]" in run("list", url)[1]
    lines = run("show", url)[1].splitlines()
    assert f"  {TITLE}" in lines
    assert "ann: version 2 in Zig by Anna <a@b>; [b]counts[/b] [2J" in lines
    assert not any(line.startswith("bob: ") for line in lines)

    assert run("report", url, "--out", "report.html")[0] == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<h1>Spring [red]cup[/] &lt;b&gt;2026&lt;/b&gt; é</h1>" in page
    assert "<li><bdi>ann</bdi>: version 2 in Zig by Anna &lt;a@b&gt;; [b]counts[/b] [2J</li>" in page


def test_names_of_metrics_are_bounded() -> None:
    """A bot that sends ever new names fills no memory, and no name can control a terminal."""
    counted: dict[str, Moments] = {}
    for number in range(2 * MAX_METRICS):
        count_metrics(counted, {f"a\x1b[2J{number}": number})
    assert len(counted) == MAX_METRICS
    assert all(name.isprintable() for name in counted)
