from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, Page
from tests.browser import running_chromium


@dataclass(frozen=True)
class Tab:
    """A page that is shown, what it has asked for, and what went wrong or was said in it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Window:
    """Shows files in a browser, each in a tab of its own."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def open(self, path: Path, *, width: int = 1200, dark: bool = False) -> Tab:
        """Show a file, on a phone if it is narrow."""
        page = await self._browser.new_page(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            is_mobile=width < 600,
        )
        tab = Tab(page)
        page.on("request", lambda request: tab.requests.append(request.url))
        page.on("console", lambda message: tab.problems.append(message.text))
        page.on("pageerror", lambda error: tab.problems.append(str(error)))
        await page.goto(path.as_uri())
        return tab


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def window() -> AsyncIterator[Window]:
    """Start a browser, once for all tests."""
    async with running_chromium() as browser:
        yield Window(browser)
