"""What colours tell, something else tells too: who sees some of them alike misses nothing."""

from io import BytesIO
from typing import Any, NamedTuple

import pytest
from PIL import Image, ImageChops, ImageStat
from playwright.async_api import Browser, Page, expect
from tests.web.conftest import Site
from tests.web.recorded_table import RecordedTable

from happycity import Mode

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.level(3)]

VISIONS = ("achromatopsia", "deuteranopia", "protanopia", "tritanopia")

SIGNS = """(selectors) => {
  const shape = (part, before) => {
    const style = getComputedStyle(part, before);
    const names = ["outlineStyle", "outlineWidth", "borderStyle", "borderWidth", "borderRadius", "boxShadow",
      "fontWeight", "clipPath", "transform", "strokeDasharray", "strokeWidth", "content"];
    return names.map((name) => style[name].replaceAll(/(rgba?|color|hsl)\\([^)]*\\)/g, "")).join(" ");
  };
  const sign = (one) => [
    one.textContent.trim(),
    [...one.querySelectorAll("use")].map((use) => use.getAttribute("href")).join(),
    shape(one) + shape(one, "::before"),
  ];
  return selectors.map((selector) => [...document.querySelectorAll(selector)].map(sign));
}"""
"""The text, the icons and the shape of all elements of each selector: what they have besides colours."""
TEXT, ICONS, SHAPE = range(3)


class State(NamedTuple):
    """A state that colour tells, with what tells it too: its text, its icons or its shape."""

    shown: str
    """A selector of elements in this state."""
    other: str
    """A selector of elements that are not."""
    shown_by: int


AT_TABLE = {
    "a card that can be chosen": State(".market .can .card", ".zone-specials .slot:not(.can) .card", SHAPE),
    "a deck that can be chosen": State(".can.deck", ".deck:not(.can)", SHAPE),
    "what the guide advises": State(
        ":is(.can:has([data-advised]) .card, .can.deck:has([data-advised]))",
        ":is(.can:not(:has([data-advised])) .card, .can.deck:not(:has([data-advised])))",
        SHAPE,
    ),
    "a card that can't be had": State(".dimmed .remark", ".can .choice-effects", TEXT),
    "a number that is taken away": State(".value.minus", ".value:not(.minus)", TEXT),
    "whose turn it is": State(".seat.to-move", ".seat:not(.to-move)", SHAPE),
    "the step of a turn": State(".turn-steps [aria-current]", ".turn-steps li:not([aria-current])", SHAPE),
    "the newest card": State(".slot.new .card", ".city .slot:not(.new) .card", SHAPE),
}
"""At a table, at one step of a game or another."""
COLOURS = ("yellow", "blue", "green", "orange", "purple")


async def signs(page: Page, *selectors: str) -> list[list[tuple[str, str, str]]]:
    """Return the signs of all elements, by selector."""
    found: list[list[tuple[str, str, str]]] = await page.evaluate(SIGNS, [*selectors])
    return found


async def test_states_of_a_table_need_no_colours(browser: Browser, site: Site) -> None:
    """Cards, decks, seats, steps and places, in all positions of two recorded games."""
    seen: dict[str, tuple[set[str], set[str]]] = {name: (set(), set()) for name in AT_TABLE}
    types: dict[str, set[str]] = {colour: set() for colour in COLOURS}
    for mode, query in ((Mode.FAMILY, "?guide=1"), (Mode.EXPERT, "")):
        table = RecordedTable(players=3, mode=mode)
        states = {name: one for name, one in AT_TABLE.items() if query or "guide" not in name}
        selectors = [selector for state in states.values() for selector in state[:2]]
        async with table.page(browser, site.url) as page:
            await page.goto(f"/play/recorded{query}")
            await page.wait_for_function("() => window.tell")
            for message in table.messages:
                await page.evaluate("(message) => window.tell(message)", message)
                found = iter(await signs(page, *selectors))
                for name, state in states.items():
                    for noted in seen[name]:
                        noted |= {sign[state.shown_by] for sign in next(found)}
                icons = await signs(page, *(f".market .c-{colour} .kind" for colour in COLOURS))
                for colour, cards in zip(COLOURS, icons, strict=True):
                    types[colour] |= {sign[ICONS] for sign in cards}
    assert {name: shown & other for name, (shown, other) in seen.items() if not shown or shown & other} == {}
    assert [len(shown) for shown in types.values()] == [1] * len(COLOURS)
    assert len(set.union(*types.values())) == len(COLOURS)


async def test_states_of_lists_and_charts_need_no_colours(
    page: Page, family_match: int, tournament: int
) -> None:
    """What runs, who is connected, what a city has bought, and which line is whose."""
    await page.goto("/matches")
    await expect(page.locator(".city-mini i").first).to_be_attached()
    bought = await signs(page, *(f".city-mini .c-{colour}" for colour in COLOURS))
    shapes = [{sign[SHAPE] for sign in found} for found in bought if found]
    assert len(set.union(*shapes)) == len(shapes) > 3
    await page.goto(f"/matches/{family_match}/analysis?seat=1&wait=1")
    ((*lines,),) = await signs(page, ".expectation polyline")
    assert len({sign[SHAPE] for sign in lines}) == len(lines) == 3
    await expect(page.locator(".expectation tspan")).to_have_text(["1", "2", "3"])
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"/tournaments/{tournament}")
    ((*lines,),) = await signs(page, ".legend line")
    assert len({sign[SHAPE] for sign in lines}) == len(lines) > 2


async def test_choices_are_seen_without_some_colours(browser: Browser, site: Site) -> None:
    """As Chromium emulates how the colour-blind see, a card that can be had stands out."""
    table = RecordedTable(players=2, mode=Mode.FAMILY)
    deciding = next(
        number for number, one in enumerate(table.messages) if '"asks": "buy"' in one and "data-on" in one
    )
    async with table.page(browser, site.url) as page:
        network = await page.context.new_cdp_session(page)
        await page.evaluate("(all) => all.forEach((one) => window.tell(one))", table.messages[: deciding + 1])
        card = page.locator(".market .can .card").first
        box = await card.bounding_box()
        assert box is not None
        clip: Any = {
            "x": box["x"] - 8,
            "y": box["y"] - 8,
            "width": box["width"] + 16,
            "height": box["height"] + 16,
        }
        for vision in VISIONS:
            await network.send("Emulation.setEmulatedVisionDeficiency", {"type": vision})
            glowing = Image.open(BytesIO(await page.screenshot(clip=clip))).convert("L")
            await card.evaluate("(one) => (one.style.boxShadow = 'none')")
            plain = Image.open(BytesIO(await page.screenshot(clip=clip))).convert("L")
            await card.evaluate("(one) => (one.style.boxShadow = '')")
            assert ImageStat.Stat(ImageChops.difference(glowing, plain)).mean[0] > 1, vision
