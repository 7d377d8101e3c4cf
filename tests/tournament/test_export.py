"""`tournament export`: games as tables and records for other programs."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from tests.tournament.conftest import Run
from tests.tournament.stores import League

from happycity.records import Json, loads, replay
from happycity_tournament.export import COLUMNS
from happycity_tournament.sources import open_sources
from happycity_tournament.store import Store

BOTS = ("ann", "bob", "cem", "dée")
TABLES = ("csv", "jsonl", "parquet")


def export(run: Run, source: object, out: Path, file_format: str, *more: str) -> str:
    """Export and return what was said."""
    status, output, errors = run("export", source, "--format", file_format, "--out", out, *more)
    assert status == 0, errors
    assert output == ""
    return errors


def rows_of(path: Path, file_format: str) -> list[Json]:
    """Read a table, in any format, with the columns' types."""
    rows: list[Json]
    if file_format == "parquet":
        rows = pyarrow.parquet.read_table(path).to_pylist()
        return rows
    if file_format == "jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return [{name: typed(name, text) for name, text in row.items()} for row in csv.DictReader(file)]


def typed(name: str, text: str) -> Any:
    if COLUMNS[name] == "string":
        return text
    if not text:
        return None
    return float(text) if COLUMNS[name] == "float64" else int(text)


@pytest.mark.parametrize("file_format", TABLES)
def test_a_table_has_a_row_for_each_seat(played: Path, tmp_path: Path, run: Run, file_format: str) -> None:
    """Every format has the same columns, and their values are those of the store."""
    out = tmp_path / "games"
    assert export(run, played, out, file_format) == f"{out}: 48 games\n"
    rows = rows_of(out, file_format)
    assert len(rows) == 48 * 4
    with open_sources([str(played)]) as (source,):
        games = {game.id: game for game in source.games(with_records=False)}
    for row in rows:
        assert tuple(row) == tuple(COLUMNS)
        game, seat = games[row["game"]], row["seat"]
        assert (row["tournament"], row["round"], row["table"], row["rotation"]) == (
            1, game.round, game.table, game.rotation,
        )  # fmt: skip
        assert (row["bot"], row["points"], row["coins"]) == (
            game.bots[seat],
            game.points[seat],
            game.coins[seat],
        )
        assert (row["place"], row["ending"]) == (game.places[seat], game.endings[seat])
        assert (row["deal_seed"], row["decisions"]) == (game.deal_seed, game.decisions)
        assert (row["seconds"], row["finished_at"]) == (game.seconds, game.finished_at)
        assert row["points"] == row["inhabitants"] * row["hearts"]


def test_exported_records_replay_and_name_the_bots(played: Path, tmp_path: Path, run: Run) -> None:
    """A record file is a source of its own, and the rules agree with it."""
    out = tmp_path / "games.jsonl"
    export(run, played, out, "records")
    lines = out.read_text().splitlines()
    assert len(lines) == 48
    for line in lines:
        record = loads(line)
        assert set(record["bots"]) == {"random", "greedy", "planner", "random2"}
        replay(record)
    again = tmp_path / "again.jsonl"
    export(run, out, again, "records")
    assert again.read_text() == out.read_text()


def test_records_can_be_split(played: Path, tmp_path: Path, run: Run) -> None:
    """With --split each record is a file in a folder, in the order of the games' numbers."""
    whole, folder = tmp_path / "games.jsonl", tmp_path / "deep" / "games"
    export(run, played, whole, "records", "--tournament", "1")
    export(run, played, folder, "records", "--split")
    files = sorted(folder.iterdir())
    assert files[0].name == "game-0000001.json"
    assert sorted(file.read_text() for file in files) == sorted(whole.read_text().splitlines(keepends=True))


def test_records_that_name_the_bots_stay_as_they_are(tmp_path: Path, run: Run) -> None:
    """Only older records get the names added."""
    for with_bots in (True, False):
        url = League(BOTS, rounds=1, with_bots=with_bots).store(tmp_path / f"{with_bots}.sqlite")
        out = tmp_path / "games.jsonl"
        export(run, url, out, "records")
        with Store(url) as store:
            stored = str(store.record(1))
        exported = loads(out.read_text().splitlines()[0])
        assert set(exported.pop("bots")) == set(BOTS)
        assert {**loads(stored), "bots": None} == {**exported, "bots": None}
        assert (stored in out.read_text()) == with_bots


def test_games_without_records_are_counted(tmp_path: Path, run: Run) -> None:
    """What only a record tells is empty without one, and there is nothing to write of it."""
    url = League(BOTS, rounds=1, with_records=False).store(tmp_path / "games.sqlite")
    table, records = tmp_path / "table", tmp_path / "records"
    assert export(run, url, table, "csv").endswith("4 games, 4 have no record\n")
    assert {row["inhabitants"] for row in rows_of(table, "csv")} == {None}
    export(run, url, records, "records")
    assert records.read_text() == ""


@pytest.mark.parametrize("file_format", TABLES)
def test_the_largest_seed_and_hostile_names_survive(tmp_path: Path, run: Run, file_format: str) -> None:
    """A game of no tournament, a seed of 2^64 - 1, and names with commas and tags are kept as they are."""
    bots = ('a"b,c', "<script>", "=1+1", "dée")
    url = League(bots, rounds=1).store(tmp_path / "games.sqlite")
    with Store(url) as store:
        game = replace(store.games(1)[0], id=99, deal_seed=2**64 - 1, tournament_id=None)
        store.add_games([replace(game, round=None, table=None, rotation=None)])
    out = tmp_path / "out"
    export(run, url, out, file_format)
    rows = [row for row in rows_of(out, file_format) if row["game"] == 99]
    assert [row["bot"] for row in rows] == list(game.bots)
    assert {row["deal_seed"] for row in rows} == {2**64 - 1}
    assert {row["tournament"] for row in rows} == {row["round"] for row in rows} == {None}


@pytest.mark.parametrize("file_format", TABLES)
def test_a_tournament_without_games_is_an_empty_table(tmp_path: Path, run: Run, file_format: str) -> None:
    """There are no rows, but the file is there."""
    url = League(BOTS, playing=()).store(tmp_path / "games.sqlite")
    out = tmp_path / "out"
    export(run, url, out, file_format)
    assert rows_of(out, file_format) == []


def test_parquet_without_its_package_costs_one_line(
    played: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is optional; what to install is said, and no file is begun."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = tmp_path / "games.parquet"
    status, _, errors = run("export", played, "--format", "parquet", "--out", out)
    assert (status, errors) == (2, "error: format: parquet needs pyarrow; install happycity[parquet]\n")
    assert not out.exists()


def test_a_source_is_never_overwritten(played: Path, run: Run) -> None:
    """Writing to the file that is read is refused, however it is named."""
    before = played.read_bytes()
    for source in (played, f"sqlite:///{played}"):
        status, _, errors = run("export", source, "--format", "csv", "--out", played)
        assert status == 2
        assert "is the source itself" in errors
    assert played.read_bytes() == before


def test_only_records_can_be_split(played: Path, tmp_path: Path, run: Run) -> None:
    """A table is one file."""
    status, _, errors = run("export", played, "--format", "csv", "--out", tmp_path / "x", "--split")
    assert (status, errors) == (2, "error: split: only records can be split; add --format records\n")


def test_a_damaged_record_is_named(tmp_path: Path, run: Run) -> None:
    """A record that doesn't tell its outcome costs one line with the game's number."""
    url = League(BOTS, rounds=1).store(tmp_path / "games.sqlite")
    with Store(url) as store:
        game = replace(store.games(1)[0], id=99, rotation=9, record='{"format":"happycity-record/1"}')
        store.add_games([game])
    status, _, errors = run("export", url, "--format", "csv", "--out", tmp_path / "out")
    assert status == 2
    assert errors.startswith("error: game 99: malformed record: ")
    assert errors.count("\n") == 1
