"""The browser that tests look at pages with."""

import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium_program() -> str:
    """Return the path of a Chromium; skip the test where none is installed."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("no Chromium found; `python -m tools install browser` installs one")
    return program
