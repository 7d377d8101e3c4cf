"""What bots said of themselves stands where a tournament is shown."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tournament.conftest import Run
from tests.tournament.leagues import League

from happycity import BotInfo
from happycity_tournament.games import BotProfile
from happycity_tournament.storage import Store

SAID = BotInfo(author="Anna <a@b>", version="2", language="Zig", description="[b]counts[/b]\x1b[2J")


def introduced(folder: Path) -> str:
    """Write a store of a tournament of which one bot said something, and one only its SDK; return its URL."""
    url = League(("ann", "bob", "cem", "dan"), rounds=3).store(folder / "games.sqlite")
    with Store.create(url) as store:
        store.set_profiles(1, {"ann": BotProfile(SAID, "zig/3"), "bob": BotProfile(BotInfo(), "go/1")})
    return url


def test_show_says_who_the_bots_are(tmp_path: Path, run: Run) -> None:
    """One line for each bot that said something, and everything in the JSON."""
    url = introduced(tmp_path)
    lines = run("show", url)[1].splitlines()
    assert "ann: version 2 in Zig by Anna <a@b>; [b]counts[/b] [2J" in lines
    assert not any(line.startswith("bob: ") for line in lines)
    said = {line["bot"]: line["about"] for line in json.loads(run("show", url, "--json")[1])["standings"]}
    assert said["ann"] == {
        "software": "zig/3",
        "author": "Anna <a@b>",
        "version": "2",
        "language": "Zig",
        "description": "[b]counts[/b] [2J",
    }
    assert {bot for bot, about in said.items() if about} == {"ann", "bob"}


def test_report_says_who_the_bots_are(tmp_path: Path, run: Run) -> None:
    """The standings of a report have it beside each bot; names are no markup."""
    assert run("report", introduced(tmp_path), "--out", str(tmp_path / "report.html"))[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<td class="text">version 2 in Zig by Anna &lt;a@b&gt;; [b]counts[/b] [2J</td>' in page
