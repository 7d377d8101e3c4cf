"""A tournament's title stands wherever the tournament is shown, as it was written."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tournament.conftest import Run
from tests.tournament.leagues import League

from happycity_tournament.storage import Store

TITLE = "Spring [red]cup[/] <b>2026</b> é"


def titled(folder: Path) -> str:
    """Write a store of a tournament with a title that looks like markup; return its URL."""
    league = League(("ann", "bob", "cem", "dan"), rounds=3)
    url = league.store(folder / "games.sqlite")
    with Store.create(url) as store:
        store.set_config(1, {**league.config, "title": TITLE}, games_total=12)
    return url


def test_title_is_listed_and_shown(tmp_path: Path, run: Run) -> None:
    """Lists and results have it, as text and as JSON."""
    url = titled(tmp_path)
    assert "Spring [red]cup[/]" in run("list", url)[1]
    assert f"\n  {TITLE}\n" in run("show", url)[1]
    assert json.loads(run("list", url, "--json")[1])[0]["title"] == TITLE
    assert json.loads(run("show", url, "--json")[1])["title"] == TITLE


def test_title_heads_the_report(tmp_path: Path, run: Run) -> None:
    """The report's heading is the title, not what it would be as markup."""
    assert run("report", titled(tmp_path), "--out", str(tmp_path / "report.html"))[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>Spring [red]cup[/] &lt;b&gt;2026&lt;/b&gt; é</h1>" in page


def test_wrong_title_costs_a_line(run: Run) -> None:
    """A title that is too long, or no line, is refused before anything is started."""
    for title, problem in {
        "x" * 81: "title: it has 81 characters, more than 80",
        "a\nb": "control characters",
    }.items():
        status, _, errors = run("run", "--title", title)
        assert (status, errors.count("\n")) == (2, 1)
        assert problem in errors
