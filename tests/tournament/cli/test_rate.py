"""`tournament rate`: final ratings from stored games."""

from dataclasses import asdict
from pathlib import Path

import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import League

from happycity_tournament.cli.console import PAIRS_SHOWN
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.storage.store import Store

BOTS = ("ann", "bob", "cem", "dée")


def ratings_of(path: Path) -> Ratings:
    with Store.existing(f"sqlite:///{path}") as store:
        stored = store.tournament(1)
        assert stored is not None
        builder = GamesBuilder(stored.config["bots"])
        for result in store.results(1):
            builder.extend([result])
        return rate(estimate_of(builder.build()))


def test_rate_prints_all_that_belongs_to_ratings(played: Path, run: Run) -> None:
    status, output, errors = run("rate", played)
    assert (status, errors) == (0, "")
    for text in (
        "random2", "95%", "above next", "how much higher the row's bot is rated", ratings_of(played).model,
        f"48 games of {played}",
    ):  # fmt: skip
        assert text in output, text


def test_rate_agrees_with_the_model(played: Path, run: Run) -> None:
    result, ratings = json_of(run, "rate", played), ratings_of(played)
    assert set(result) == {
        "sources", "games", "copies", "games_unrated", "games_practice", "games_after_decision",
        "luck_evaluator", "luck", "rating", "standings", "differences", "checks",
    }  # fmt: skip
    lines = {line.bot: line for line in ratings.lines}
    for entry in result["standings"]:
        line = lines[entry["bot"]]
        assert set(entry) == {
            "bot", "elo", "elo_low", "elo_high", "above_next", "games", "deals", "pool", "rank_best",
            "rank_worst", "mark",
        }  # fmt: skip
        assert entry["elo"] == pytest.approx(line.elo, abs=1e-4)
        assert entry["elo_low"] == pytest.approx(line.low, abs=1e-4)
        assert (entry["games"], entry["deals"], entry["pool"]) == (48, 12, 1)
    order = [entry["bot"] for entry in result["standings"]]
    assert order == sorted(lines, key=lambda bot: -lines[bot].elo)
    assert len(result["differences"]) == 6
    for found in result["differences"]:
        expected = ratings.difference(found.pop("bot"), found.pop("other"))
        assert expected is not None
        assert found == pytest.approx(asdict(expected), abs=1e-4)
    above = ratings.difference(order[0], order[1])
    assert above is not None
    assert result["standings"][0]["above_next"] == pytest.approx(asdict(above), abs=1e-4)


def test_rate_takes_any_mix_of_sources(played: Path, tmp_path: Path, run: Run) -> None:
    records = tmp_path / "records.jsonl"
    run("export", played, "--format", "records", "--out", records)
    alone, both = json_of(run, "rate", played), json_of(run, "rate", f"sqlite:///{played}", records)
    assert (both["games"], both["copies"]) == (48, 48)
    assert both["standings"] == alone["standings"]
    other = League(("random", "greedy"), seats=2).store(tmp_path / "other.sqlite")
    assert json_of(run, "rate", played, other)["games"] == 48 + 24


def test_an_anchor_keeps_its_rating(played: Path, run: Run) -> None:
    result = json_of(run, "rate", played, "--anchor", "greedy", "--anchor-elo", "1000")
    (greedy,) = (entry for entry in result["standings"] if entry["bot"] == "greedy")
    assert greedy["elo"] == greedy["elo_low"] == greedy["elo_high"] == pytest.approx(1000)
    assert (result["rating"]["anchor"], result["rating"]["anchor_elo"]) == ("greedy", 1000)


def test_bots_that_never_met_are_kept_apart(tmp_path: Path, run: Run) -> None:
    url = League((*BOTS, "unmet"), playing=BOTS).store(tmp_path / "games.sqlite")
    result = json_of(run, "rate", url)
    last = result["standings"][-1]
    assert (last["bot"], last["pool"], last["rank_worst"], last["elo_low"]) == ("unmet", 2, 1, None)
    assert not [found for found in result["differences"] if "unmet" in (found["bot"], found["other"])]
    assert "bots of different pools never met" in run("rate", url)[1]


def test_differences_are_printed_of_the_best_only(tmp_path: Path, run: Run) -> None:
    """A table for fifty bots would fit nowhere; the JSON has all of them."""
    bots = [f"bot-{number:02}" for number in range(50)]
    url = League(bots, rounds=10).store(tmp_path / "games.sqlite")
    assert f"the first {PAIRS_SHOWN} of 50" in run("rate", url)[1]
    assert len(json_of(run, "rate", url)["differences"]) == 50 * 49 / 2


def test_bots_may_be_renamed(tmp_path: Path, run: Run) -> None:
    first = League(BOTS, rounds=40).store(tmp_path / "first.sqlite")
    second = League(BOTS[::-1], rounds=30, seats=2).store(tmp_path / "second.sqlite")
    result = json_of(run, "rate", first, second, "--rename", "bob=ann")
    assert {entry["bot"] for entry in result["standings"]} == {"ann", "cem", "dée"}
    assert {check["subject"] for check in result["checks"]} == {"first places", "last places", "halves"}
    assert set(result["checks"][0]) == {"subject", "bot", "actual", "expected", "z", "fits"}
