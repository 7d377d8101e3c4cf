"""`tournament rate`: final ratings from stored games."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.tournament.conftest import Run
from tests.tournament.stores import League

from happycity.records import Json
from happycity_tournament.final_ratings import Ratings, rate
from happycity_tournament.game_columns import Games, GamesBuilder, TableColumns
from happycity_tournament.rating_tables import LOS_BOTS, ranked
from happycity_tournament.store import Store

BOTS = ("ann", "bob", "cem", "dée")


def rate_json(run: Run, *arguments: object) -> Json:
    """Rate, and return the result as JSON."""
    status, output, errors = run("rate", *arguments, "--json", "-")
    assert status == 0, errors
    told: Json = json.loads(output)
    return told


def ratings_of(path: Path) -> Ratings:
    """Rate a store's tournament without any of the command's code."""
    with Store(f"sqlite:///{path}") as store:
        stored = store.tournament(1)
        assert stored is not None
        builder = GamesBuilder(stored.config["bots"])
        for result in store.results(1):
            builder.add(result, deal=result.fixture.deal)
        return rate(builder.build())


def test_rate_prints_all_that_belongs_to_ratings(played: Path, run: Run) -> None:
    """A person sees ratings, likelihoods, seats, ties, gain and model."""
    status, output, errors = run("rate", played)
    assert (status, errors) == (0, "")
    for text in (
        "random2", "95% interval", "likelihood that the row's bot is stronger", "seat 4", "shared places",
        "gain of duplicate deals", "not enough data", f"model: {ratings_of(played).model}",
        f"48 games of {played}",
    ):  # fmt: skip
        assert text in output, text


def test_rate_agrees_with_the_model(played: Path, run: Run) -> None:
    """The JSON is what the model says of the tournament's results, best first."""
    told, ratings = rate_json(run, played), ratings_of(played)
    assert set(told) == {
        "sources", "games", "copies", "games_quarantined", "model", "anchor", "anchor_elo", "ratings", "los",
        "seat_effects", "ties", "duplicate_gains",
    }  # fmt: skip
    lines = {line.bot: line for line in ratings.lines}
    for entry in told["ratings"]:
        line = lines[entry["bot"]]
        assert set(entry) == {"rank", "bot", "elo", "elo_low", "elo_high", "games", "deals", "pool"}
        assert entry["elo"] == pytest.approx(line.elo, abs=1e-6)
        assert entry["elo_low"] == pytest.approx(line.low, abs=1e-6)
        assert (entry["games"], entry["deals"], entry["pool"]) == (48, 12, 1)
    order = [entry["bot"] for entry in told["ratings"]]
    assert order == sorted(lines, key=lambda bot: -lines[bot].elo)
    assert told["los"][0][3] == pytest.approx(ratings.los(order[0], order[3]))
    assert [told["los"][number][number] for number in range(4)] == [None] * 4


def test_rate_takes_any_mix_of_sources(played: Path, tmp_path: Path, run: Run) -> None:
    """Records of the same games change nothing; other games of the same bots do."""
    records = tmp_path / "records.jsonl"
    run("export", played, "--format", "records", "--out", records)
    alone, both = rate_json(run, played), rate_json(run, f"sqlite:///{played}", records)
    assert (both["games"], both["copies"]) == (48, 48)
    assert both["ratings"] == alone["ratings"]
    other = League(("random", "greedy"), seats=2).store(tmp_path / "other.sqlite")
    assert rate_json(run, played, other)["games"] == 48 + 24


def test_an_anchor_keeps_its_rating(played: Path, run: Run) -> None:
    """The anchor has the rating that is given, and no doubt about it."""
    told = rate_json(run, played, "--anchor", "greedy", "--anchor-elo", "1000")
    (greedy,) = (entry for entry in told["ratings"] if entry["bot"] == "greedy")
    assert greedy["elo"] == greedy["elo_low"] == greedy["elo_high"] == pytest.approx(1000)
    assert (told["anchor"], told["anchor_elo"]) == ("greedy", 1000)


def test_an_unknown_anchor_is_refused(played: Path, run: Run) -> None:
    """The error lists the bots that there are."""
    status, _, errors = run("rate", played, "--anchor", "nobody")
    assert status == 2
    assert errors.startswith("error: anchor: 'nobody' is none of the bots ")
    assert "planner" in errors


def test_bots_that_never_met_are_told_apart(tmp_path: Path, run: Run) -> None:
    """Who never played has a pool of its own, no interval and no likelihoods, and a remark says why."""
    url = League((*BOTS, "unmet"), playing=BOTS).store(tmp_path / "games.sqlite")
    told = rate_json(run, url)
    last = told["ratings"][-1]
    assert (last["bot"], last["pool"], last["rank"], last["elo_low"]) == ("unmet", 2, 1, None)
    assert told["los"][-1] == [None] * 5
    assert "bots of different pools never met" in run("rate", url)[1]


def test_likelihoods_are_printed_of_the_best_only(tmp_path: Path, run: Run) -> None:
    """A table for fifty bots would fit nowhere; the JSON has all of them."""
    bots = [f"bot-{number:02}" for number in range(50)]
    url = League(bots, rounds=10).store(tmp_path / "games.sqlite")
    assert f"the first {LOS_BOTS} of 50" in run("rate", url)[1]
    assert len(rate_json(run, url)["los"]) == 50


def test_no_doubt_is_printed_as_certainty(played: Path, run: Run) -> None:
    """A likelihood is never told as 0 or 100 percent."""
    output = run("rate", played)[1]
    assert ">99.9%" in output
    assert "100.0%" not in output
    assert " 0.0%" not in output


def test_a_source_without_games_is_refused(tmp_path: Path, run: Run) -> None:
    """Ratings of nothing would look like ratings."""
    url = League(BOTS, playing=()).store(tmp_path / "games.sqlite")
    assert run("rate", url)[::2] == (2, f"error: {url}: no finished game in it\n")


def test_equal_ratings_share_a_rank() -> None:
    """Two bots that always shared the first place are both first, the next one is third."""
    rotations = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    table = TableColumns(rotations, np.where(rotations == 2, 3, 1), np.zeros(3, dtype=np.int64))
    ratings = rate(Games(("ann", "bob", "cem"), {3: table}))
    assert [(entry.rank, entry.line.bot) for entry in ranked(ratings)] == [(1, "ann"), (1, "bob"), (3, "cem")]


def test_the_result_goes_to_a_file(played: Path, tmp_path: Path, run: Run) -> None:
    """With a file for the JSON the table stays on the standard output."""
    path = tmp_path / "ratings.json"
    status, output, _ = run("rate", played, "--json", path)
    assert status == 0
    assert "95% interval" in output
    assert json.loads(path.read_text())["games"] == 48
