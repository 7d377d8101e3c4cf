"""A person who plays a game in a browser, as the rehearsal of a release needs one."""

from __future__ import annotations

from playwright.sync_api import sync_playwright

_MILLISECONDS = 300_000
"""How long a page may take to show what is awaited, on a machine that does other things, too."""
_DECISION = '#playing:not(.settling) #panel [data-decision]:not([data-decision="{}"])'
"""A decision on the page of a seat other than the one before."""


def play_a_game(table: str, browser: str) -> None:
    """Sit down at a table, and play a whole game by clicks.

    Args:
        table: the address of the page that sets it up.
        browser: the path of a Chromium.
    """
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = started.new_page(reduced_motion="reduce")
        page.set_default_timeout(_MILLISECONDS)
        page.goto(table)
        page.get_by_role("button", name="Start").click()
        decision: str | None = ""
        while decision is not None:
            state = page.locator(f"{_DECISION.format(decision)}, #panel .after").first
            state.wait_for(state="attached")
            decision = state.get_attribute("data-decision")
            if decision is not None:
                page.click('[data-number="1"]')
