"""How a sequential test went: in the JSON of `tournament show`, and in the report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.conftest import Run
from tests.tournament.games import finished

from happycity import Config
from happycity_tournament.config import SprtTest, TournamentConfig
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage import Store

BLOCKS = 40


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with a test of which each third block is uneven."""
    test = SprtTest(candidate="new", base="old", elo1=10, max_blocks=BLOCKS)
    config = TournamentConfig(bots=("new", "old"), game=Config(players=2), format=test, seed=1)
    path = tmp_path / "games.sqlite"
    fixtures = [fixture for stage in schedule_of(config).stages() for fixture in stage]
    with Store.create(f"sqlite:///{path}") as opened:
        tournament = opened.create_tournament(config.json(), games_total=2 * BLOCKS, created_at=0.0)
        games = []
        for match_id, fixture in enumerate(fixtures, start=1):
            places = [1, 1] if fixture.round % 3 else [1 + (bot == "old") for bot in fixture.bots]
            game = finished(fixture, places=places, match_id=match_id, tournament_id=tournament)
            games.append((replace(game, tournament_id=tournament), None))
        opened.add_games(games)
    return path


def test_the_json_has_the_ratio_after_each_block(store: Path, run: Run) -> None:
    """The last point is where the test stands."""
    status, output, _ = run("show", store, "--json")
    test = json.loads(output)["sprt"]
    assert status == 0
    assert [point["blocks"] for point in test["history"]] == list(range(1, BLOCKS + 1))
    last = test["history"][-1]
    assert {key: test[key] for key in last} == last


def test_the_report_draws_it(store: Path, run: Run, tmp_path: Path) -> None:
    """There is a chart with both bounds, and a table whose last column has all games."""
    out = tmp_path / "report.html"
    assert run("report", store, "--out", out)[0] == 0
    page = out.read_text()
    section = page[page.index('<section id="test">') :]
    section = section[: section.index("</section>")]
    assert section.count("<polyline") == 3
    assert f'<th scope="col">{2 * BLOCKS}</th></tr>' in section
