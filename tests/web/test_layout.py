"""Whether pages fit their screens, and whether axe finds anything that keeps people out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import pytest
from playwright.async_api import Browser, Page
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


async def check(page: Page, *paths: str, scheme: Scheme, width: int = _PHONE) -> None:
    """Check that nothing overflows pages of a width, and that axe finds nothing."""
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    await page.set_viewport_size({"width": width, "height": 700})
    for path in paths:
        await page.goto(path)
        await check_layout(page)


async def test_forms_of_the_ladder_fit_a_phone(browser: Browser, ladder: LadderSite) -> None:
    async with ladder_tab(browser, ladder, "bob") as page:
        await check(page, "/ladder/challenges", scheme="dark")


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_of_the_ladder_fit_a_phone(browser: Browser, ladder: LadderSite, scheme: Scheme) -> None:
    """Some languages have long words."""
    versions = await ladder.versions("anna")
    async with ladder_tab(browser, ladder, "olga") as page:
        await check(page, *(path.format(**versions) for path in LadderSite.PATHS), scheme=scheme)
    async with ladder_tab(browser, ladder, "anna") as page:
        await page.set_viewport_size({"width": _PHONE, "height": 800})
        for code in ("et", "uk"):
            for path in ("/ladder/bots/anna", "/ladder/challenges"):
                await page.goto(f"{path}?lang={code}")
                assert not await page.evaluate(OVERFLOWING), path


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_fit_every_screen(
    page: Page, site: Site, tournament: int, expert_match: int, scheme: Scheme
) -> None:
    paths = (
        "/",
        "/matches",
        "/tournaments",
        f"/tournaments/{tournament}",
        f"/tournaments/{tournament}/bots/anna",
    )
    await check(page, *paths, scheme=scheme)
    for width in (_PHONE, 768, 1440):
        await check(page, f"/matches/{expert_match}", scheme=scheme, width=width)
