"""`--luck-adjusted` and `games --luck`: what the draws were worth, taken off scores or listed."""

from pathlib import Path

import numpy as np
import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import League

from happycity_bots.evaluator import Evaluator


def test_ratings_without_luck_name_the_evaluator(played: Path, run: Run) -> None:
    """They are other ratings of the same games; one who won by its draws is rated lower."""
    with_luck, without = json_of(run, "rate", played), json_of(run, "rate", played, "--luck-adjusted")
    assert (with_luck["luck_evaluator"], without["luck_evaluator"]) == (None, Evaluator().digest)
    assert {line["bot"] for line in without["standings"]} == {line["bot"] for line in with_luck["standings"]}
    elos = [{line["bot"]: line["elo"] for line in each["standings"]} for each in (with_luck, without)]
    luck = dict.fromkeys(elos[0], 0.0)
    for game in json_of(run, "games", played, "--luck", "--limit", "0"):
        assert sum(seat["luck"] for seat in game["seats"]) == pytest.approx(0, abs=1e-3)
        for seat in game["seats"]:
            luck[seat["bot"]] += seat["luck"]
    moved = [elos[0][bot] - elos[1][bot] for bot in luck]
    assert np.corrcoef(moved, list(luck.values()))[0, 1] > 0.8
    output = run("rate", played, "--luck-adjusted")[1]
    assert f"taken off the scores, by evaluator {Evaluator().digest}" in output


def test_luck_is_listed_with_the_games(played: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, output, _ = run("games", played, "--luck", "--limit", "3")
    assert status == 0
    assert f"signed numbers: places won by luck, by evaluator {Evaluator().digest}" in output
    assert all(len(line) <= 80 for line in output.splitlines()[:5])
    assert "luck" not in json_of(run, "games", played, "--limit", "1")[0]["seats"][0]


def test_the_same_games_compare_as_the_same(played: Path, run: Run) -> None:
    result = json_of(run, "compare", played, played, "--luck-adjusted")
    assert result["luck_evaluator"] == Evaluator().digest
    assert {bot["change"] for bot in result["bots"]} == {"same"}
    before = {bot["bot"]: bot["score_before"] for bot in json_of(run, "compare", played, played)["bots"]}
    assert any(bot["score_before"] != pytest.approx(before[bot["bot"]]) for bot in result["bots"])


def test_games_without_records_are_named(tmp_path: Path, run: Run) -> None:
    """Their moves are needed to tell what else could have come."""
    League(("ann", "bob"), seats=2).store(tmp_path / "games.sqlite")
    for command in (("rate", "--luck-adjusted"), ("games", "--luck")):
        status, _, errors = run(command[0], "games.sqlite", command[1])
        assert status == 2
        assert len(errors.splitlines()) == 1
        assert "games.sqlite: game " in errors
