"""What bots and organisers say stands where a tournament is shown, as it was written."""

import json
from pathlib import Path

from tests.tournament.conftest import Run
from tests.tournament.leagues import League

from happycity import BotInfo
from happycity_tournament.games import BotProfile
from happycity_tournament.ratings.statistics import MAX_METRICS, Moments, count_metrics
from happycity_tournament.storage.store import Store

LEAGUE = League(("ann", "bob", "cem", "dan"), rounds=3)
TITLE = "Spring [red]cup[/] <b>2026</b> é"
SAID = BotInfo(author="Anna <a@b>", version="2", language="Zig", description="[b]counts[/b]\x1b[2J")


def test_titles_and_profiles_are_shown(tmp_path: Path, run: Run) -> None:
    """In lists, results, JSON and the report: what looks like markup is text; there may be no metrics."""
    url = LEAGUE.store(tmp_path / "games.sqlite")
    with Store.create(url) as store:
        store.set_config(1, {**LEAGUE.config, "title": TITLE}, games_total=12)
        store.set_profiles(1, {"ann": BotProfile(SAID, "zig/3"), "bob": BotProfile(BotInfo(), "go/1")})
    (listed,) = json.loads(run("list", url, "--json")[1])
    shown = json.loads(run("show", url, "--json")[1])
    assert listed["title"] == shown["title"] == TITLE
    said = {line["bot"]: line["about"] for line in shown["standings"] if line["about"]}
    assert said.keys() == {"ann", "bob"}
    assert said["ann"] == {
        "software": "zig/3",
        "author": "Anna <a@b>",
        "version": "2",
        "language": "Zig",
        "description": "[b]counts[/b] [2J",
    }
    assert "Spring [red]cup[/]" in run("list", url)[1]
    lines = run("show", url)[1].splitlines()
    assert f"  {TITLE}" in lines
    assert "ann: version 2 in Zig by Anna <a@b>; [b]counts[/b] [2J" in lines
    assert not any(line.startswith("bob: ") for line in lines)

    assert run("report", url, "--out", "report.html")[0] == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<h1>Spring [red]cup[/] &lt;b&gt;2026&lt;/b&gt; é</h1>" in page
    assert '<td class="text wrap about">version 2 in Zig by Anna &lt;a@b&gt;; [b]counts[/b] [2J</td>' in page


def test_names_of_metrics_are_bounded() -> None:
    """A bot that sends ever new names fills no memory, and no name can control a terminal."""
    counted: dict[str, Moments] = {}
    for number in range(2 * MAX_METRICS):
        count_metrics(counted, {f"a\x1b[2J{number}": number})
    assert len(counted) == MAX_METRICS
    assert all(name.isprintable() for name in counted)
