"""The stage of a table: its parts keep their places over all steps of a game, at every size."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.web.conftest import Site
from tests.web.recorded_table import RecordedTable
from tests.web.table import OVERFLOWING

from happycity import Mode

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.level(2)]

SIZES = (
    (320, 568),
    (375, 667),
    (390, 844),
    (667, 375),
    (720, 450),
    (820, 1180),
    (1024, 768),
    (1440, 900),
    (1920, 1080),
)
MEASURE = Path(__file__).with_name("stage.js").read_text()


@pytest.mark.parametrize(("mode", "players", "code"), [(Mode.FAMILY, 2, "uk"), (Mode.EXPERT, 5, "en")])
async def test_parts_of_the_stage_never_move(
    mode: Mode, players: int, code: str, browser: Browser, site: Site
) -> None:
    table = RecordedTable(players=players, mode=mode, code=code)
    faults: dict[Any, list[str]] = {}
    for is_guided in (False, True) if mode is Mode.FAMILY else (False,):
        async with table.page(browser, site.url) as page:
            for width, height in SIZES:
                await page.set_viewport_size({"width": width, "height": height})
                await page.goto("/play/recorded?guide=1" if is_guided else "/play/recorded")
                await page.wait_for_function("() => window.tell")
                if found := await page.evaluate(MEASURE, table.messages):
                    faults[width, height, is_guided] = [f"{len(found)} faults", *found[:6]]
                assert not await page.evaluate(OVERFLOWING)
    assert not faults


async def test_effects_are_read_without_a_mouse(browser: Browser, site: Site) -> None:
    """What a special does stands on its card, and beside it with the focus where there is no room."""
    table = RecordedTable(players=3, mode=Mode.EXPERT)
    async with table.page(browser, site.url) as page:
        await page.evaluate("(messages) => messages.forEach((one) => window.tell(one))", table.messages[:12])
        effects = page.locator('[data-list="specials"] .effect-text')
        for number in range(await effects.count()):
            await expect(effects.nth(number)).to_be_in_viewport(ratio=0.9)
        await page.set_viewport_size({"width": 720, "height": 450})
        card = page.locator('[data-list="specials"] .card').first
        await card.focus()
        box = await card.locator(".effect-text").bounding_box()
        assert box is not None
        assert box["height"] > 20
        assert not await page.locator(".card[title]").count(), "a title alone is for mice"


async def test_choices_stand_out_in_forced_colours(browser: Browser, site: Site) -> None:
    """Where shadows are not drawn, outlines tell what can be had and what the guide advises."""
    table = RecordedTable(players=2, mode=Mode.FAMILY)
    deciding = next(
        number
        for number, one in enumerate(table.messages)
        if '"asks": "buy"' in one and '\\"dimmed' not in one
    )
    async with table.page(browser, site.url, forced_colors="active") as page:
        await page.goto("/play/recorded?guide=1")
        await page.wait_for_function("() => window.tell")
        await page.evaluate(
            "(messages) => messages.forEach((one) => window.tell(one))", table.messages[: deciding + 1]
        )
        outline = "one => getComputedStyle(one).outlineStyle + getComputedStyle(one).outlineWidth"
        looks = {
            name: await page.locator(selector).first.evaluate(outline)
            for name, selector in {
                "advised": ":is(.can:has([data-advised]) .card, #panel [data-advised])",
                "possible": ".can:not(:has([data-advised])) .card",
                "impossible": '.dimmed .card, [data-list="specials"] .card',
            }.items()
        }
        assert len(set(looks.values())) == len(looks), looks
