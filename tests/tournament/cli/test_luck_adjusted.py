"""`--luck-adjusted` and `games --luck`: what the draws were worth, taken off scores or listed."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.tournament.conftest import Run, json_of
from tests.tournament.leagues import League

from happycity import Game
from happycity.records.record import Json, dumps
from happycity_evaluation.evaluator import Evaluator
from happycity_tournament import luck_adjusted
from happycity_tournament.luck_adjusted import luck_of
from happycity_tournament.proof.commitment import canonical
from happycity_tournament.proof.publication import GAMES_FILE


@pytest.fixture(scope="module")
def luck_by_record() -> dict[str, tuple[float, ...]]:
    """Return the luck of the records that this module's tests have evaluated so far."""
    return {}


@pytest.fixture(autouse=True)
def _each_record_is_evaluated_once(
    monkeypatch: pytest.MonkeyPatch, luck_by_record: dict[str, tuple[float, ...]]
) -> None:
    def remembered(
        record: Json, evaluator: Evaluator, _positions: Iterator[Game] | None = None
    ) -> tuple[float, ...]:
        key = evaluator.digest + dumps(record)
        if key not in luck_by_record:
            luck_by_record[key] = luck_of(record, evaluator)
        return luck_by_record[key]

    monkeypatch.setattr(luck_adjusted, "luck_of", remembered)


@pytest.mark.level(2)
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


def test_luck_by_games_takes_the_engine_and_the_flag(
    played: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("happycity.compiled.native", lambda name: None)
    luck_adjusted.luck_evaluator.cache_clear()
    for options, said in (
        (["--luck-games", "2"], "--luck-games: it goes with --luck-adjusted"),
        (["--luck-games", "2", "--luck-adjusted"], "--luck-games: the native engine is not installed"),
    ):
        status, _, errors = run("rate", played, *options)
        assert (status, len(errors.splitlines())) == (2, 1)
        assert said in errors


def test_luck_is_listed_with_the_games(played: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, output, _ = run("games", played, "--luck", "--limit", "3")
    assert status == 0
    assert f"signed numbers: places won by luck, by evaluator {Evaluator().digest}" in output
    assert all(len(line) <= 80 for line in output.splitlines()[:5])
    assert "luck" not in json_of(run, "games", played, "--limit", "1")[0]["seats"][0]


@pytest.mark.level(2)
def test_the_same_games_compare_as_the_same(played: Path, run: Run) -> None:
    result = json_of(run, "compare", played, played, "--luck-adjusted")
    assert result["luck_evaluator"] == Evaluator().digest
    assert {bot["change"] for bot in result["bots"]} == {"same"}
    before = {bot["bot"]: bot["score_before"] for bot in json_of(run, "compare", played, played)["bots"]}
    assert any(bot["score_before"] != pytest.approx(before[bot["bot"]]) for bot in result["bots"])


@pytest.mark.level(3)
def test_a_sequential_test_without_luck(tmp_path: Path, run: Run) -> None:
    """What it decided follows from its records: as a stored run, from its server, and as it is published."""
    bots = "--candidate", "greedy", "--base", "planner", "--elo0", "-400", "--elo1", "-100", "--seed", "5"
    played = json_of(run, "sprt", *bots, "--luck-adjusted")
    (folder,) = (tmp_path / "runs").iterdir()
    assert played["config"]["format"]["luck_evaluator"] == Evaluator().digest
    assert json_of(run, "show", folder)["sprt"] == played["sprt"]
    rated = json_of(run, "rate", folder)
    assert rated["games"] == 2 * played["sprt"]["blocks"]
    assert rated["luck_evaluator"] is None
    assert run("report", folder, "--out", "report.html", "--luck-adjusted")[0] == 0
    assert f"off the scores, by evaluator {Evaluator().digest}" in (tmp_path / "report.html").read_text()
    assert run("publish", folder, "cup")[0] == 0
    assert run("verify", "cup")[0] == 0
    games = tmp_path / "cup" / GAMES_FILE
    first, *others = gzip.decompress(games.read_bytes()).splitlines(keepends=True)
    game = json.loads(first)
    game["record"]["luck"]["places"] = [0.0, 0.0]
    games.write_bytes(gzip.compress(b"".join([canonical(game), b"\n", *others])))
    status, _, errors = run("verify", "cup")
    assert (status, "luck" in errors) == (1, True), errors


def test_games_without_records_are_named(tmp_path: Path, run: Run) -> None:
    """Their moves are needed to tell what else could have come."""
    League(("ann", "bob"), seats=2).store(tmp_path / "games.sqlite")
    for command in (("rate", "--luck-adjusted"), ("games", "--luck")):
        status, _, errors = run(command[0], "games.sqlite", command[1])
        assert status == 2
        assert len(errors.splitlines()) == 1
        assert "games.sqlite: game " in errors
