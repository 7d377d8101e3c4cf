"""A server with bots of its own, at whose tables people sit down by the pages."""

import re
from collections.abc import Awaitable, Callable
from itertools import count

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page, expect

_NUMBERS = count(1)  # two people may not have one name at once

OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const all = [...document.querySelectorAll("body *")];
  const wide = all.filter((one) => one.getBoundingClientRect().right > width);
  return wide.map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`);
}"""
"""What reaches beyond the right edge of a page, for people to read."""


async def check_layout(page: Page) -> None:
    """Check that nothing overflows a page that is loaded, and that axe finds nothing."""
    await page.wait_for_load_state()
    assert not await page.evaluate(OVERFLOWING)
    found = await Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


async def sit_down(
    page: Page, *seats: str, name: str = "", mode: str = "family", clock: str = "300", at: str = ""
) -> None:
    """Set up a table by the form; a seat is "me", "invite" or a bot's name."""
    await page.goto(f"{at}/play")
    await page.get_by_label("Your name").fill(name or f"Anna {next(_NUMBERS)}")
    if await page.locator('[name="mode"]').count():  # guests play family games alone
        await page.locator(f'[name="mode"][value="{mode}"]').check()
    await page.locator("#clock").select_option(clock)
    for number in range(1, 6):
        seat = seats[number - 1] if number <= len(seats) else ""
        await page.locator(f'[name="seat{number}"]').select_option(seat)
    await page.get_by_role("button", name="Start").click()
    await expect(page).to_have_url(re.compile("/play/.+"))


async def next_decision(page: Page, before: str | None) -> str | None:
    """Wait for another decision than the one before; return its id, None at the end of the game."""
    asked = f'#playing:not(.settling) #panel [data-decision]:not([data-decision="{before}"])'
    state = page.locator(f"{asked}, #panel .after")
    await expect(state.first).to_be_attached()
    return await state.first.get_attribute("data-decision")


def choice(page: Page, number: int = 1) -> Locator:
    """Return the button of a move; 1 is the first that does something."""
    return page.locator(f'[data-number="{number}"]')


async def play_to_the_end(
    page: Page, choose: Callable[[Locator, int], Awaitable[None]], *, most: int = 1000
) -> None:
    """Play a whole game, or `most` decisions; `choose` presses a button, whose number it gets too."""
    decision, answers = await next_decision(page, None), 0
    while decision is not None and answers < most:
        available = await page.locator("[data-move]").count()
        # Something is bought more often than not, so that the game ends.
        number = 1 if answers % 3 else 1 + (7 * answers) % available
        await choose(choice(page, number), number)
        decision, answers = await next_decision(page, decision), answers + 1
