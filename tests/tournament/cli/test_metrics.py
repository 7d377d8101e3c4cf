"""What `tournament show --metrics` says of the numbers that bots sent."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console
from tests.tournament.conftest import Run
from tests.tournament.leagues import League

from happycity_tournament.cli.console import print_metrics
from happycity_tournament.cli.json import metrics_json
from happycity_tournament.ratings.statistics import MAX_METRICS, Moments, count_metrics
from happycity_tournament.report.facts import bot_metrics
from happycity_tournament.storage.sources import open_source

BOTS = ("ann", "bob", "cem", "dan")


def test_show_says_that_there_are_no_metrics(tmp_path: Path, run: Run) -> None:
    """It does so when it is asked for them; without the option they are left out, also of the JSON."""
    url = League(BOTS, rounds=1).store(tmp_path / "games.sqlite")
    assert "metrics: none" in run("show", url, "--metrics")[1]
    assert json.loads(run("show", url, "--metrics", "--json")[1])["metrics"] == {}
    assert "metrics" not in json.loads(run("show", url, "--json")[1])


def test_metrics_are_summed_by_bot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers belong to the bot of their decision; sums of thousands are written in full."""
    with closing(open_source(League(BOTS, rounds=1).store(tmp_path / "games.sqlite"))) as source:
        ((game, text), *_) = source.games(with_records=True)
    record = {
        **json.loads(str(text)),
        "metrics": [
            {"decision": 1, "values": {"tokens": 20_000}},
            {"decision": 5, "values": {"tokens": 40_000}},
        ],
    }
    metrics = bot_metrics([(game, json.dumps(record)), (game, None)])
    assert metrics_json(metrics) == {
        game.bots[0]: {"tokens": {"answers": 2, "sum": 60_000, "mean": 30_000, "min": 20_000, "max": 40_000}}
    }
    print_metrics(Console(width=80), metrics)
    assert capsys.readouterr().out.split("\n")[3].split() == [
        game.bots[0], "tokens", "2", "60,000", "30,000", "20,000", "40,000",
    ]  # fmt: skip


def test_names_of_metrics_are_bounded() -> None:
    """A bot that sends ever new names fills no memory, and no name can control a terminal."""
    counted: dict[str, Moments] = {}
    for number in range(2 * MAX_METRICS):
        count_metrics(counted, {f"a\x1b[2J{number}": number})
    assert len(counted) == MAX_METRICS
    assert all(name.isprintable() for name in counted)
