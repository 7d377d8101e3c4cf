from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.tournament.report.chromium import Page, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Start a browser, once for all tests."""
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Page:
    """Give a page of which no event is known yet."""
    browser.forget()
    return browser
