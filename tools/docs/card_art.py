"""Draw the pictures of all cards into one file, with Chromium; the pictures of games are made of it."""

from __future__ import annotations

import shutil
import sys
from importlib.resources import files
from io import BytesIO

from PIL import Image
from playwright.sync_api import sync_playwright

from happycity import CARDS
from happycity_viewer.templates import picture
from happycity_web.picture import ART_FILE, ART_SIZE, ARTS_A_ROW
from happycity_web.render import colour_name
from tools import ROOT
from tools.docs.pictures import CHROMIUM

WIDTH, HEIGHT = ARTS_A_ROW * ART_SIZE[0], -(-len(CARDS) // ARTS_A_ROW) * ART_SIZE[1]


def art_page() -> str:
    """Return a page that shows nothing but the pictures of all cards, in the order of the cards."""
    style = files("happycity_viewer").joinpath("static", "style.css").read_text("utf-8")
    arts = "".join(
        f'<svg class="art c-{colour_name(card)}" viewBox="0 0 100 60" preserveAspectRatio="xMidYMax slice">'
        f"{picture(card)}</svg>"
        for card in CARDS
    )
    return (
        f"<style>{style} body {{ display: flex; flex-flow: wrap; width: {WIDTH}px }} "
        f".art {{ width: {ART_SIZE[0]}px; height: {ART_SIZE[1]}px; border-bottom-width: 6px }}</style>{arts}"
    )


def main() -> None:
    """Write the file."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        sys.exit("no Chromium found; `python -m tools install browser` installs one")
    path = ROOT / "web" / "happycity_web" / ART_FILE
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_content(art_page())
        with Image.open(BytesIO(page.screenshot())) as drawn:
            drawn.convert("RGB").save(path, "WEBP", quality=85, method=6)
        browser.close()
    sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
