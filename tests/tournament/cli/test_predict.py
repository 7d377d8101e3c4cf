"""`tournament predict`: what to expect of a table of some bots."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League
from tests.tournament.schedule.fields import play, random_order

from happycity import Config
from happycity_tournament.config import Adaptive, TournamentConfig
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage import Store

BOTS = ("ann", "bob", "cem", "dée", "eve")


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("league") / "games.sqlite"
    League(BOTS, rounds=20, with_records=False).store(path)
    return path


def test_the_table_has_every_place_and_fits_80_columns(
    league: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five bots have the longest lines; those are explained below the table."""
    monkeypatch.setenv("COLUMNS", "80")
    status, output, errors = run("predict", *BOTS, "--source", league)
    assert (status, errors) == (0, "")
    lines = output.splitlines()
    (ann,) = [line for line in lines if line.strip().startswith("ann ")]
    assert ann.count("%") == 5
    assert ann.count("±") == 2
    assert "probability of each place, shared or not, seated in any order; ±: 95%" in lines
    assert lines[-1] == f"by 80 games of {league}"


def test_the_json_has_the_same_in_full(league: Path, run: Run) -> None:
    """Probabilities add up, and the order is that of the arguments."""
    status, output, errors = run("predict", "eve", "ann", "--source", league, "--seated", "--json")
    assert (status, errors) == (0, "")
    result = json.loads(output)
    assert (result["games"], result["seated"]) == (80, True)
    eve, ann = result["bots"]
    assert (eve["bot"], ann["bot"]) == ("eve", "ann")
    assert eve["first"]["low"] < eve["first"]["value"] < eve["first"]["high"] < ann["first"]["value"]
    assert sum(ann["places"]) == pytest.approx(1)
    assert ann["place"]["value"] == pytest.approx(ann["places"][0] + 2 * ann["places"][1])


def test_names_are_those_that_ratings_have(league: Path, run: Run) -> None:
    """A bot may be predicted under its new name."""
    output = run("predict", "zoe", "ann", "--source", league, "--rename", "eve=zoe")[1]
    assert "zoe" in output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("ann",), "BOT: a table has 2 to 5 bots, not 1"),
        (("ann", "bob", "ann"), "BOT: 'ann' is named twice"),
        (("ann", "bop"), "BOT: 'bop' is not one of the bots; did you mean bob?"),
    ],
)
def test_an_impossible_table_costs_one_line(
    league: Path, run: Run, arguments: tuple[str, ...], problem: str
) -> None:
    """It names what is wrong with the bots."""
    assert run("predict", *arguments, "--source", league) == (2, "", f"error: {problem}\n")


def test_bots_that_never_met_are_not_predicted(tmp_path: Path, run: Run) -> None:
    """Nothing is known of them together."""
    url = League((*BOTS[:4], "unmet"), rounds=3, playing=BOTS[:4]).store(tmp_path / "games.sqlite")
    status, output, errors = run("predict", "ann", "unmet", "--source", url)
    assert (status, output) == (2, "")
    assert errors == "error: ann, unmet never met, not even through others, so nothing is known\n"


def test_intervals_know_that_results_chose_the_games(tmp_path: Path, run: Run) -> None:
    """Those of an adaptive tournament are wider by the factor of differences, and a line says so."""
    config = TournamentConfig(
        bots=("ann", "bob", "cem", "eve"),
        game=Config(players=2),
        format=Adaptive(rounds=30, minimum_deals=10),
        seed=3,
    )
    fixtures = [fixture for stage in play(schedule_of(config), random_order) for fixture in stage]
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        tournament = store.create_tournament(config.json(), games_total=len(fixtures), created_at=0.0)
        games = (replace(random_order(each), tournament_id=tournament) for each in fixtures)
        store.add_games(
            [(replace(game, match_id=number), None) for number, game in enumerate(games, start=1)]
        )
    source = tmp_path / "games.sqlite"
    result = json.loads(run("predict", *BOTS[:2], "--source", source, "--json")[1])
    assert result["error_ratio"] > 1
    assert "as results chose games, errors are" in run("predict", *BOTS[:2], "--source", source)[1]
