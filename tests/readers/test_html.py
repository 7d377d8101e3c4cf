"""The Nu HTML checker, by which the W3C checks pages, finds no error in any kind of page."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.league.test_results import league_report
from tests.readers.conftest import tool
from tests.waiting import LIMIT
from tests.web.conftest import Site
from tests.web.ladders import LadderSite
from tools.install import VNU

JAR = VNU.parents[1] / "vnu-jar/build/dist/vnu.jar"


def findings(folder: Path) -> list[str]:
    """Return the errors in the pages of a folder, each with its page and a piece of it.

    What the checker finds in styles is left out, as it knows no `calc` of variables.
    """
    java = tool("java", "html")
    tool(VNU, "html")
    done = subprocess.run(
        [java, "-jar", JAR, "--format", "json", "--exit-zero-always", "--errors-only",
         *sorted(folder.iterdir())],
        stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    return [
        f"{Path(one['url']).name}: {one['message']} {one.get('extract', '')!r}"
        for one in json.loads(done.stderr)["messages"]
        if not one["message"].startswith("CSS:")
    ]


@pytest.mark.asyncio(loop_scope="session")
async def test_pages_of_matches_and_tournaments_are_html(
    site: Site, tournament: int, family_match: int, expert_match: int, tmp_path: Path
) -> None:
    for path, status in {
        "/": 200,
        "/matches": 200,
        f"/matches/{family_match}": 200,
        f"/matches/{family_match}?embed=1": 200,
        f"/matches/{expert_match}": 200,
        f"/matches/{expert_match}/analysis": 200,
        "/tournaments": 200,
        f"/tournaments/{tournament}": 200,
        f"/tournaments/{tournament}/bots/anna": 200,
        "/bots/anna": 200,
        "/play": 200,
        "/how-to-play": 200,
        "/join": 200,
        "/no-such-page": 404,
    }.items():
        answer = await site.client.get(path)
        assert answer.status_code == status, path
        (tmp_path / f"{quote(path, safe='')}.html").write_text(answer.text, encoding="utf-8")
    assert findings(tmp_path) == []


@pytest.mark.asyncio(loop_scope="session")
async def test_pages_of_the_ladder_are_html(ladder: LadderSite, tmp_path: Path) -> None:
    versions = await ladder.versions("anna")
    async with ladder.client("olga") as client:
        for path in (*LadderSite.PATHS, "/acts", "/access"):
            answer = await client.get(path.format(**versions))
            assert answer.status_code == 200, path
            (tmp_path / f"{quote(path, safe='')}.html").write_text(answer.text, encoding="utf-8")
    assert findings(tmp_path) == []


def test_reports_are_html(run_folder: Path, tmp_path: Path) -> None:
    """These are files that people send each other."""
    pages = tmp_path / "pages"
    pages.mkdir()
    words = ("report", run_folder, "--out", pages / "report.html")
    subprocess.run([sys.executable, "-m", "happycity_tournament", *words], check=True, timeout=LIMIT)
    (pages / "league.html").write_text(league_report(), encoding="utf-8")
    assert findings(pages) == []
