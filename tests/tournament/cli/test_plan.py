"""`tournament plan`: how many games it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League

BOTS = ("ann", "bob", "cem", "dée", "eve")


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("league") / "games.sqlite"
    League(BOTS, rounds=20, with_records=False).store(path)
    return path


def test_without_games_the_reference_bots_say_how_much_deals_differ(run: Run) -> None:
    """The lines name the bots that were measured, and commands that play as much."""
    status, output, errors = run("plan", 8, "--error", 20)
    assert (status, errors) == (0, "")
    assert "8 bots at tables of 4" in output
    assert "each rating is expected to be within ±20 Elo (95%)" in output
    assert (
        "measured on 120 rounds of the reference bots random (twice), greedy, planner and rollout" in output
    )
    assert "tournament run --seats 4 --until-error 20" in output


def test_stored_games_say_it_of_own_bots(league: Path, run: Run) -> None:
    """The JSON names the bot that takes most; half the error takes four times as many games."""
    plans = [
        json.loads(run("plan", 5, "--error", error, "--source", league, "--json")[1]) for error in (10, 5)
    ]
    assert plans[0]["sources"] == [str(league)]
    assert plans[0]["bot"] in BOTS
    assert plans[1]["games"] == pytest.approx(4 * plans[0]["games"], rel=0.01)
    assert plans[0]["games"] == plans[0]["rounds"] * 4
    latest = json.loads(run("plan", 5, "--error", 10, "--store", league, "--tournament", 1, "--json")[1])
    assert latest["deal_error"] == plans[0]["deal_error"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((1, "--error", 10), "BOTS: 1 is not between 2 and 500"),
        ((3, "--error", 10, "--seats", 4), "BOTS: 3 can't fill a table of 4 seats"),
        ((8, "--error", 10, "--seats", 6), "--seats: 6 is not between 2 and 5"),
        ((8, "--error", 0), "--error: 0 is not between 0.1 and 100000"),
    ],
)
def test_what_can_not_be_planned_is_refused(run: Run, arguments: tuple[object, ...], problem: str) -> None:
    """One line says what is wrong."""
    status, output, errors = run("plan", *arguments)
    assert (status, output) == (2, "")
    assert problem in errors


def test_games_at_other_tables_are_refused(league: Path, run: Run) -> None:
    """They don't say how much deals differ at these."""
    status, _, errors = run("plan", 8, "--error", 10, "--seats", 2, "--source", league)
    assert status == 2
    assert "too few games at tables of 2 to plan by" in errors
