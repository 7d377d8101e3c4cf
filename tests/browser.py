"""The browser that tests look at pages with."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, async_playwright
from tests.waiting import MILLISECONDS

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium_program() -> str:
    """Return the path of a Chromium; skip the test where none is installed."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("no Chromium found; `python -m tools install browser` installs one")
    return program


@asynccontextmanager
async def running_chromium() -> AsyncIterator[Browser]:
    """Run a Chromium whose pages wait up to the limit of all tests; Playwright's own one is 30 seconds."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox"])
        with pytest.MonkeyPatch.context() as patch:
            for method in ("new_context", "new_page"):
                patch.setattr(browser, method, _patient(getattr(browser, method)))
            yield browser


def _patient(make: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def made(**options: Any) -> Any:
        new = await make(**options)
        new.set_default_timeout(MILLISECONDS)
        return new

    return made
