"""Whether pages fit their screens, and whether axe finds anything that keeps people out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page
from tests.league.test_results import league_report
from tests.web.conftest import Site
from tests.web.ladders import LadderSite
from tests.web.table import OVERFLOWING, check_layout

pytestmark = pytest.mark.asyncio(loop_scope="session")

Scheme = Literal["light", "dark"]
_PHONE = 320


@asynccontextmanager
async def ladder_tab(browser: Browser, ladder: LadderSite, who: str) -> AsyncIterator[Page]:
    async with ladder.browsing(browser, who) as context:
        yield await context.new_page()


async def check(page: Page, *paths: str, width: int = _PHONE) -> None:
    """Check that nothing overflows pages of a width, and that axe finds nothing, in both schemes by turns."""
    await page.set_viewport_size({"width": width, "height": 700})
    for number, path in enumerate(paths):
        scheme: Scheme = "dark" if number % 2 else "light"
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await page.goto(path)
        await check_layout(page)


@pytest.mark.level(2)
async def test_pages_of_the_ladder_fit_a_phone(browser: Browser, ladder: LadderSite) -> None:
    """Some languages have long words."""
    versions = await ladder.versions("anna")
    async with ladder_tab(browser, ladder, "olga") as page:
        await check(page, *(path.format(**versions) for path in LadderSite.PATHS))
    async with ladder_tab(browser, ladder, "anna") as page:
        await check(page, "/ladder/challenges")  # with its forms
        for code in ("et", "uk"):
            for path in ("/ladder/bots/anna", "/ladder/challenges"):
                await page.goto(f"{path}?lang={code}")
                assert not await page.evaluate(OVERFLOWING), path


@pytest.mark.level(2)
async def test_pages_fit_every_screen(page: Page, site: Site, tournament: int, expert_match: int) -> None:
    paths = (
        "/",
        "/matches",
        "/tournaments",
        f"/tournaments/{tournament}",
        f"/tournaments/{tournament}/bots/anna",
    )
    await check(page, *paths)
    await check(page, *[f"/matches/{expert_match}"] * 2)
    await page.set_viewport_size({"width": 768, "height": 700})
    assert not await page.evaluate(OVERFLOWING)
    await check(page, f"/matches/{expert_match}", width=1440)


@pytest.mark.level(2)
async def test_the_report_of_a_league_fits_every_screen(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "league.html"
    path.write_text(league_report(), encoding="utf-8")
    page = await browser.new_page()
    await check(page, *[path.as_uri()] * 2)
    await check(page, *[path.as_uri()] * 2, width=1440)
    await page.close()
