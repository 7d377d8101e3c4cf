"""What colours tell is told by something else too: who sees some of them alike misses nothing."""

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

SIGNS = """(one) => {
  const shape = (part, before) => {
    const style = getComputedStyle(part, before);
    const names = ["outlineStyle", "outlineWidth", "borderStyle", "borderWidth", "borderRadius", "boxShadow",
      "fontWeight", "clipPath", "transform", "strokeDasharray", "strokeWidth", "content", "width", "height"];
    return names.map((name) => style[name].replaceAll(/(rgba?|color|hsl)\\([^)]*\\)/g, "")).join(" ");
  };
  const icons = [...one.querySelectorAll("use")].map((use) => use.getAttribute("href"));
  return { text: one.textContent.trim(), icons: icons.join(), shape: shape(one) + shape(one, "::before") };
}"""
"""What an element has besides its colours."""


class State(NamedTuple):
    """A state that colour tells, with what tells it too: its text, its icons or its shape."""

    shown: str
    """A selector of elements in this state."""
    other: str
    """A selector of elements that are not."""
    told_by: str


AT_TABLE = {
    "a card that can be chosen": State(".market .can .card", ".zone-specials .slot:not(.can) .card", "shape"),
    "a deck that can be chosen": State(".can.deck", ".deck:not(.can)", "shape"),
    "what the guide advises": State(
        ":is(.can:has([data-advised]) .card, .can.deck:has([data-advised]))",
        ":is(.can:not(:has([data-advised])) .card, .can.deck:not(:has([data-advised])))",
        "shape",
    ),
    "a card that can't be had": State(".dimmed .remark", ".can .choice-effects", "text"),
    "a number that is taken away": State(".value.minus", ".value:not(.minus)", "text"),
    "whose turn it is": State(".seat.to-move", ".seat:not(.to-move)", "shape"),
    "the step of a turn": State(".turn-steps [aria-current]", ".turn-steps li:not([aria-current])", "shape"),
    "the first place": State(".place-1", ".place:not(.place-1)", "text"),
    "the newest card": State(".slot.new .card", ".city .slot:not(.new) .card", "shape"),
}
"""At a table, at one step of a game or another."""
COLOURS = ("yellow", "blue", "green", "orange", "purple")


async def signs(page: Page, selector: str) -> list[dict[str, str]]:
    """Return the signs of all elements."""
    return [await one.evaluate(SIGNS) for one in await page.locator(selector).all()]


async def gather(page: Page, states: dict[str, State], seen: dict[str, list[set[Any]]]) -> None:
    """Note what tells each state of a page, and what the others have in its place."""
    for name, state in states.items():
        for index, selector in enumerate((state.shown, state.other)):
            seen[name][index] |= {sign[state.told_by] for sign in await signs(page, selector)}


async def test_states_of_a_table_need_no_colours(browser: Browser, site: Site) -> None:
    """Cards, decks, seats, steps and places, in all positions of two recorded games."""
    seen: dict[str, list[set[Any]]] = {name: [set(), set()] for name in AT_TABLE}
    types: dict[str, set[str]] = {}
    for mode, query in ((Mode.FAMILY, "?guide=1"), (Mode.EXPERT, "")):
        table = RecordedTable(players=3, mode=mode)
        async with table.page(browser, site.url) as page:
            await page.goto(f"/play/recorded{query}")
            await page.wait_for_function("() => window.tell")
            for number, message in enumerate(table.messages):
                await page.evaluate("(message) => window.tell(message)", message)
                if number % 5 in (0, 1):
                    own = {"what the guide advises"} if not query else set[str]()
                    await gather(page, {k: v for k, v in AT_TABLE.items() if k not in own}, seen)
            for colour in COLOURS:
                found = await signs(page, f".market .c-{colour} .kind, .city .c-{colour} .kind")
                types.setdefault(colour, set()).update(sign["icons"] for sign in found)
    wrong = {name: shown & other for name, (shown, other) in seen.items() if not shown or shown & other}
    assert wrong.keys() <= {"the first place"}
    assert [len(icons) for icons in types.values()] == [1] * len(COLOURS)
    assert len(set.union(*types.values())) == len(COLOURS)


async def test_states_of_lists_and_charts_need_no_colours(
    page: Page, family_match: int, tournament: int
) -> None:
    """What runs, who is connected, what a city has bought, and which line is whose."""
    await page.goto("/matches")
    bought = {colour: await signs(page, f".city-mini .c-{colour}") for colour in COLOURS}
    shapes = {colour: {sign["shape"] for sign in found} for colour, found in bought.items() if found}
    assert len(shapes) > 3
    assert len(set.union(*shapes.values())) == len(shapes)
    await page.goto(f"/matches/{family_match}/analysis?seat=1&wait=1")
    lines = [sign["shape"] for sign in await signs(page, ".expectation polyline")]
    assert len(set(lines)) == len(lines) == 3
    await expect(page.locator(".expectation tspan")).to_have_text(["1", "2", "3"])
    places = await signs(page, ".seat-no")
    assert len({sign["text"] for sign in places}) == 3
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"/tournaments/{tournament}")
    lines = [sign["shape"] for sign in await signs(page, ".legend line")]
    assert len(set(lines)) == len(lines) > 2


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
