"""What follows from ratings: the trend of an agent, and the page with all results."""

import json
import math
from pathlib import Path

import pytest

from happycity_league.config import AgentConfig, LeagueConfig
from happycity_league.report import render
from happycity_league.results import trend_of
from happycity_tournament.ratings.results import BotRating, Difference, Ratings


def ratings(elos: dict[str, float], margin: float | None) -> Ratings:
    lines = tuple(BotRating(bot=bot, elo=elo, games=1) for bot, elo in elos.items())
    differences = {
        (one, other): Difference(
            elo=elos[one] - elos[other],
            los=0.5,
            low=None if margin is None else elos[one] - elos[other] - margin,
            high=None if margin is None else elos[one] - elos[other] + margin,
        )
        for one in elos
        for other in elos
        if one != other
    }
    return Ratings(lines=lines, differences=differences)


def test_a_trend_is_the_slope_with_its_error() -> None:
    """Four independent versions with an error s differ by s * sqrt 2; that of the slope is s / sqrt 5."""
    elos = {f"a@{cycle}": 1500.0 + 30 * cycle for cycle in range(4)}
    trend = trend_of(list(elos), ratings(elos, margin=10 * math.sqrt(2)))
    assert list(trend) == pytest.approx([30, 10 / math.sqrt(5)])


def test_a_version_that_stays_has_no_error_to_itself() -> None:
    assert trend_of(["a@0"] * 5, ratings({"a@0": 1500.0}, margin=10.0)) == (0.0, 0.0)


def test_no_trend_is_computed_of_little() -> None:
    elos = {"a@0": 1500.0, "a@1": 1600.0, "a@2": 1700.0}
    assert trend_of(["a@0", "a@1"], ratings(elos, margin=1.0)) == (None, None)
    slope, margin = trend_of(list(elos), ratings(elos, margin=None))
    assert slope == pytest.approx(100)
    assert margin is None


def league_report(**others: object) -> str:
    """Return the page of a league of which two of five cycles were played; `others` change its results."""
    results = json.loads(Path(__file__).with_name("results.json").read_text())
    config = LeagueConfig(agents=(AgentConfig(name="climber", project="climber"),))
    return render({**results, **others}, config, title="spring")


def test_a_report_has_the_numbers() -> None:
    page = league_report()
    assert "climber is first, with " in page
    assert page.count("<tr>") > 20
    assert page.count('class="band ') == 3
    assert "Cycle 2, failed: it took more than 10 s" in page.replace("<bdi>", "").replace("</bdi>", "")


def test_a_report_says_whether_the_first_one_is_stronger() -> None:
    results = json.loads(Path(__file__).with_name("results.json").read_text())
    assert "not certain" not in league_report()
    matrix = [{**row, "low": -1.0} for row in results["matrix"]]
    assert "whether it is stronger than rogue is not certain" in league_report(matrix=matrix)


def test_a_report_of_nothing_says_so() -> None:
    assert "No game was finished." in league_report(agents=[], cycles=[], matrix=[], ratings=[])


def test_what_agents_and_bots_print_is_text() -> None:
    results = json.loads(Path(__file__).with_name("results.json").read_text())
    for row in results["cycles"]:
        row["reason"], row["usage"] = "<script>alert(1)</script>", {"<b>x": 1.0}
    page = league_report(cycles=results["cycles"])
    assert "<script" not in page
    assert "<b>x" not in page
