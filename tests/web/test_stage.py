"""The stage of a table: its parts keep their places over all steps of a game, at every size."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.web.conftest import Site
from tests.web.recorded_table import RecordedTable
from tests.web.table import OVERFLOWING

from happycity import Mode
from happycity.rules.cards import SPECIALS
from happycity_viewer.languages import LANGUAGES, language

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


async def test_the_longest_effects_have_room(browser: Browser, site: Site) -> None:
    """In all languages, in the smallest windows in which cards of specials say what they do."""
    catalogues = [language(code).texts for code in LANGUAGES]
    texts = [one.gettext(card.effect_text) for one in catalogues for card in SPECIALS if card.effect_text]
    for players, width, height in ((3, 1024, 784), (5, 1200, 784), (5, 896, 1024)):
        table = RecordedTable(players=players, mode=Mode.EXPERT)
        async with table.page(browser, site.url) as page:
            await page.set_viewport_size({"width": width, "height": height})
            await page.evaluate("(message) => window.tell(message)", table.messages[0])
            cut = """(card, texts) => texts.filter((text) => {
                const place = card.querySelector(".effect-text");
                place.textContent = text;
                const [inner, outer] = [place, card].map((one) => one.getBoundingClientRect().bottom);
                return place.scrollHeight > place.clientHeight + 1 || inner > outer;
            })"""
            card = page.locator('[data-list="specials"] .card').first
            assert await card.evaluate(cut, texts) == [], (players, width, height)


async def test_specials_to_take_say_what_they_do(browser: Browser, site: Site) -> None:
    """Also where cards have no room for it, without a mouse: above them."""
    table = RecordedTable(players=3, mode=Mode.EXPERT)
    asking = next(number for number, one in enumerate(table.messages) if '"asks": "special"' in one)
    async with table.page(browser, site.url) as page:
        await page.set_viewport_size({"width": 768, "height": 1024})
        await page.evaluate(
            "(messages) => messages.forEach((one) => window.tell(one))", table.messages[: asking + 1]
        )
        for text in await page.locator(".can .effect-text").all():
            await expect(text).to_be_in_viewport(ratio=0.99)
            box = await text.bounding_box()
            assert box is not None
            assert box["height"] > 20


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
