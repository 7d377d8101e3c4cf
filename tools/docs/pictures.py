"""Make the pictures of the documentation, with Chromium.

A server with reference bots is started, and tournaments with fixed seeds are played on it. No test compares
the pictures: fonts differ between machines, and the deal of a table is drawn by the server.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tools import ROOT

FOLDER = ROOT / "docs" / "pictures"
MAX_BYTES = 60_000
"""Of one picture: readers of a page load all of them."""
BOTS = ("rollout", "planner", "greedy", "random")
SERVER = ("serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--house", ",".join(BOTS))
TOURNAMENTS = (
    ("--title", "Autumn Cup", "--seats", "4", "--rounds", "12", "--seed", "7"),
    ("--title", "Expert duels", "--seats", "2", "--rounds", "20", "--seed", "7", "--mode", "expert"),
)
FIRST_MATCH = "/matches/1"
PATIENCE = 300_000
"""Milliseconds for which a page is waited for, as on a machine with other things to do."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_DESKTOP, _PHONE = (1280, 800), (375, 667)
_WIDEST = 1200  # pixels
_QUALITIES = (80, 65, 50, 40, 30)  # of WebP: the first that is small enough


@dataclass(frozen=True, slots=True)
class Picture:
    """What one picture shows."""

    name: str
    path: str
    size: tuple[int, int] = _DESKTOP
    dark: bool = False
    act: Callable[[Page], None] = lambda _: None
    """What is done on the page before."""


def sit_down(page: Page, name: str) -> None:
    """Begin a game against three bots, and play its first turns."""
    page.fill("#name", name)
    page.get_by_role("button", name="Start").click()
    for _ in range(7):
        decision = page.locator("#panel [data-decision]").get_attribute("data-decision")
        page.locator('.playing:not(.settling) [data-number="1"]').click()
        page.wait_for_selector(f'#panel [data-decision]:not([data-decision="{decision}"])', state="attached")


def open_sum(page: Page) -> None:
    """Open what the winner's cards gave."""
    page.locator("#result summary").first.click()


PICTURES = (
    Picture("viewer", f"{FIRST_MATCH}?ply=80", (1440, 900)),
    Picture("home", "/"),
    Picture("tournament", "/tournaments/1"),
    Picture("bot", "/tournaments/2/bots/planner"),
    Picture("table", "/play", act=lambda page: sit_down(page, "Anna")),
    Picture("table-phone", "/play", _PHONE, act=lambda page: sit_down(page, "Ben")),
    Picture("viewer-phone", f"{FIRST_MATCH}?ply=80", _PHONE),
    Picture("result", FIRST_MATCH, (1440, 900), dark=True, act=open_sum),
    Picture("how-to-play", "/how-to-play"),
    Picture("ukrainian", f"{FIRST_MATCH}?ply=60&lang=uk", (1440, 900)),
)


def main() -> None:
    """Make the pictures."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        sys.exit("no Chromium found; `python -m tools install browser` installs one")
    with (
        tempfile.TemporaryDirectory() as folder,
        _server(Path(folder)) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for picture in PICTURES:
            width, height = picture.size
            context = browser.new_context(
                base_url=url,
                viewport={"width": width, "height": height},
                color_scheme="dark" if picture.dark else "light",
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(picture.path)
            picture.act(page)
            path = FOLDER / f"{picture.name}.webp"
            path.write_bytes(_packed(page.screenshot()))
            sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")
            context.close()
        browser.close()


def _packed(screenshot: bytes) -> bytes:
    """Return a picture as WebP of the best quality that is small enough."""
    with Image.open(BytesIO(screenshot)) as picture:
        picture.thumbnail((_WIDEST, picture.height))
        for quality in _QUALITIES:
            packed = BytesIO()
            picture.convert("RGB").save(packed, "WEBP", quality=quality, method=6)
            if len(packed.getvalue()) <= MAX_BYTES:
                return packed.getvalue()
    sys.exit(f"a picture has more than {MAX_BYTES:,} bytes: choose a smaller size")


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """Run a server on which the tournaments have been played; yield the address of its pages."""
    with subprocess.Popen(
        [sys.executable, "-m", "happycity", *SERVER, "--stop-with-stdin"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        started = json.loads(server.stdout.readline())
        joined = [argument for bot in BOTS for argument in ("--join", bot)]
        for tournament in TOURNAMENTS:
            command = [
                "tournament",
                "run",
                "--server",
                f"grpc://{started['listening']}",
                *joined,
                *tournament,
            ]
            subprocess.run(
                [sys.executable, "-m", "happycity", *command], cwd=folder, check=True, capture_output=True
            )
        yield started["web"]
        server.stdin.close()


if __name__ == "__main__":
    main()
