"""Make the pictures that the README shows, with Chromium.

One game between reference bots on a fixed deal is played, and shown at a fixed position. The picture isn't
compared by a test: fonts differ between machines.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools import ROOT

PICTURE = ROOT / "docs" / "pictures" / "viewer.png"
MAX_BYTES = 200_000
"""Of the picture: readers of the README load it."""
MATCH = ("match", "--bots", "rollout,planner", "--mode", "expert", "--seed", "7", "--no-clock")
DECISION = "49"
SIZE = {"width": 1280, "height": 800}
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Make the picture."""
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None:
        sys.exit("no Chromium found; `python -m tools install browser` installs one")
    with tempfile.TemporaryDirectory() as folder:
        _happycity(folder, *MATCH)
        _happycity(folder, "view", "--from", DECISION, "--output", "game.html")
        page = Path(folder) / "game.html"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            tab = browser.new_page(viewport=SIZE, reduced_motion="reduce")  # type: ignore[arg-type]
            tab.goto(page.as_uri())
            tab.screenshot(path=PICTURE)
            browser.close()
    size = PICTURE.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{PICTURE}: {size:,} bytes; {MAX_BYTES:,} are the most: choose a smaller size")
    sys.stdout.write(f"{PICTURE}: {size:,} bytes\n")


def _happycity(folder: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "happycity", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
