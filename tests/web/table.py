"""A server with bots of its own, at whose tables people sit down by the pages."""

from __future__ import annotations

import re

from playwright.async_api import Locator, Page, expect

PATIENCE = 30_000
"""Milliseconds for which a page may wait for other seats on a busy machine."""

_TURN = "#panel [data-move]:not([aria-disabled]), #panel .after, #panel .results"


async def sit_down(
    page: Page, *seats: str, name: str = "Anna", mode: str = "family", clock: str = "300"
) -> None:
    """Set up a table by the form; a seat is "me", "invite" or a bot's name."""
    await page.goto("/play")
    await page.get_by_label("Your name").fill(name)
    await page.locator(f'[name="mode"][value="{mode}"]').check()
    await page.locator("#clock").select_option(clock)
    for number in range(1, 6):
        seat = seats[number - 1] if number <= len(seats) else ""
        await page.locator(f'[name="seat{number}"]').select_option(seat)
    await page.get_by_role("button", name="Start").click()
    await expect(page).to_have_url(re.compile("/play/.+"))


async def turn(page: Page) -> Locator:
    """Wait until it is the person's turn, or the game is over; return the choices, none at the end."""
    await expect(page.locator(_TURN).first).to_be_visible(timeout=PATIENCE)
    return page.locator("#panel [data-move]")


async def next_decision(page: Page, before: str | None) -> str | None:
    """Wait for another decision than the one before; return its id, None at the end of the game."""
    state = page.locator(f'#panel [data-decision]:not([data-decision="{before}"]), #panel .after')
    await expect(state.first).to_be_visible(timeout=PATIENCE)
    return await state.first.get_attribute("data-decision")
