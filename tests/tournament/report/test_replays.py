"""`tournament report --replays`: games as pages that need no network."""

import base64
import re
from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.leagues import League
from tests.tournament.report.test_report import BOTS, HOSTILE, PLAYED, report

from happycity.records.record import Json, dumps, loads
from happycity.records.replay import replay


def downloaded_record(replay_page: str) -> Json:
    found = re.search(r'href="data:application/json;base64,([^"]*)"', replay_page)
    assert found is not None
    return loads(base64.b64decode(found[1]).decode())


def test_replays_are_written_and_linked(played: Path, tmp_path: Path, run: Run) -> None:
    """Each link leads to a page with a record that the rules agree with, wherever the folder is."""
    out = tmp_path / "reports" / "report.html"
    out.parent.mkdir()
    folder = tmp_path / "some replays"
    page = report(run, played, out, "--replays", folder)
    links = [value for tag, name, value in page.attributes if name == "href" and "#" not in str(value)]
    assert len(links) == len(list(folder.iterdir())) == len(page.tables["replays"]) - 1
    for link in links:
        text = (out.parent / str(link).replace("%20", " ")).read_text()
        assert 'href="../reports/report.html"' in text
        replay(downloaded_record(text))
    # People count from 1, and so do rounds, tables and rotations here.
    assert {row[2] for row in page.tables["replays"][1:]} == {"1"}
    assert {row[3] for row in page.tables["replays"][1:]} <= {"1", "2", "3", "4"}
    reasons = " ".join(row[-1] for row in page.tables["replays"])
    for bot in PLAYED:
        assert f"most points of {bot}:" in reasons
        assert f"fewest points of {bot}:" in reasons


def test_chosen_games_are_replayed_too(played: Path, tmp_path: Path, run: Run) -> None:
    """The options of `tournament games` choose games, beside the notable ones; they need the folder."""
    folder, out, worst = tmp_path / "replays", tmp_path / "report.html", ("--bot", "greedy", "--worst", 3)
    rows = report(run, played, out, "--replays", folder, *worst).tables["replays"][1:]
    assert sum("chosen" in row[-1] for row in rows) == 3
    assert len(list(folder.iterdir())) == len(rows)
    status, _, errors = run("report", played, "--out", out, *worst)
    assert (status, "add --replays FOLDER" in errors) == (2, True)


@pytest.mark.thorough
def test_a_game_that_does_not_replay_is_named(played: Path, tmp_path: Path, run: Run) -> None:
    """A record that the rules play differently costs its replay, not the report."""
    file = tmp_path / "games.jsonl"
    assert run("export", played, "--format", "records", "--out", file)[0] == 0
    first, *others = file.read_text().splitlines()
    broken = loads(first)
    broken["outcome"]["points"][0] += 1
    file.write_text("\n".join([dumps(broken), *others]) + "\n")
    folder = tmp_path / "replays"
    report_file = tmp_path / "report.html"
    status, _, errors = run("report", file, "--out", report_file, "--replays", folder, "--limit", 0)
    assert status == 0
    assert "game 1 can't be replayed: " in errors
    assert f"{folder}: {len(others)} replays, " in errors
    assert not (folder / "game-0000001.html").exists()


def test_hostile_names_are_text_in_replays(played: Path, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "games.jsonl"
    assert run("export", played, "--format", "records", "--game", 1, "--out", file)[0] == 0
    file.write_text(dumps({**loads(file.read_text()), "bots": list(HOSTILE)}) + "\n")
    report(run, file, tmp_path / "report.html", "--replays", tmp_path / "replays")
    text = (tmp_path / "replays" / "game-0000001.html").read_text()
    assert "<img" not in text
    assert text.count("<script") == 3  # the viewer's, its texts, and the positions that it shows
    assert "{{ 7 * 7 }}" in text


def test_without_records_there_are_no_links(tmp_path: Path, run: Run) -> None:
    """Games that were stored without a record are listed all the same."""
    url = League(BOTS, with_records=False).store(tmp_path / "games.sqlite")
    page = report(run, url, tmp_path / "report.html", "--replays", tmp_path / "replays")
    assert len(page.tables["replays"]) > 4
    assert not (tmp_path / "replays").exists()
