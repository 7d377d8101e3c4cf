"""Pictures of all states of a table, to look at: `python -m tests.web.shots FOLDER`.

One file for each state has it at four sizes, in light and dark colours.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.async_api import Browser, Page, expect
from tests.browser import running_chromium
from tests.server.harness import met, serving
from tests.web.recorded_table import RecordedTable
from tests.web.table import choice, next_decision, play_to_the_end, sit_down
from tests.web.test_play import link_on, press

from happycity import Mode

SIZES = ((1440, 900), (1200, 800), (768, 1024), (390, 844))
HEIGHT = 800
"""Of each picture in a file, in pixels."""
VISIONS = ("achromatopsia", "deuteranopia", "protanopia", "tritanopia")
"""How people see who see some colours alike, by the names of Chromium."""


async def take(page: Page, path: Path, *, visions: bool = False) -> None:
    """Take the pictures of a page: at all sizes, or at the first one as the colour-blind see it."""
    taken: list[Image.Image] = []
    if visions:
        network = await page.context.new_cdp_session(page)
        await page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})
        for vision in VISIONS:
            await network.send("Emulation.setEmulatedVisionDeficiency", {"type": vision})
            taken.append(Image.open(BytesIO(await page.screenshot())))
        await network.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    else:
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for width, height in SIZES:
                await page.set_viewport_size({"width": width, "height": height})
                taken.append(Image.open(BytesIO(await page.screenshot())))
    scaled = [one.resize((one.width * HEIGHT // one.height, HEIGHT)) for one in taken]
    half = len(scaled) // 2
    width = max(sum(one.width + 8 for one in row) for row in (scaled[:half], scaled[half:]))
    sheet = Image.new("RGB", (width, 2 * HEIGHT + 8), "grey")
    for number, one in enumerate(scaled):
        row, column = divmod(number, half)
        left = sum(before.width + 8 for before in scaled[row * half : row * half + column])
        sheet.paste(one, (left, row * (HEIGHT + 8)))
    sheet.save(path)
    sys.stdout.write(f"{path}\n")


async def recorded(browser: Browser, url: str, folder: Path) -> None:
    """Take each question of recorded games, once."""
    games = [(Mode.FAMILY, 2, 3, "?guide=1"), *((Mode.EXPERT, players, 3, "") for players in (5, 3))]
    games += [(Mode.EXPERT, 4, seed, "") for seed in range(4, 12)]
    seen = set[str]()
    for mode, players, seed, query in games:
        table = RecordedTable(players=players, mode=mode, seed=seed)
        async with table.page(browser, url) as page:
            await page.goto(f"/play/recorded{query}")
            await page.wait_for_function("() => window.tell")
            for number, message in enumerate(table.messages):
                await page.evaluate("(message) => window.tell(message)", message)
                asked = await page.locator("#playing").get_attribute("data-asks") or "others"
                name = f"{'guided-' if query else ''}{asked}-{players}"
                if (
                    number > len(table.messages) // 2
                    and name not in seen
                    and (players > 2 or asked != "others")
                ):
                    seen.add(name)
                    await take(page, folder / f"{name}.png")
                    if name in ("buy-5", "guided-buy-2"):
                        await take(page, folder / f"{name}-visions.png", visions=True)


@asynccontextmanager
async def people(browser: Browser, url: str) -> AsyncIterator[tuple[Page, Page]]:
    """Yield the pages of two people."""
    async with (
        await browser.new_context(base_url=url, reduced_motion="reduce") as one,
        await browser.new_context(base_url=url, reduced_motion="reduce") as other,
    ):
        yield await one.new_page(), await other.new_page()


async def live(browser: Browser, url: str, folder: Path) -> None:
    """Take what needs a server: a table that waits, one with people, the end, the questions after it."""
    async with people(browser, url) as (host, guest):
        await host.goto("/play")
        await take(host, folder / "new-game.png")
        await sit_down(host, "me", "invite", "greedy", "random")
        await host.get_by_role("button", name="Invite").click()
        link = await link_on(host)
        await take(host, folder / "waiting-room.png")
        await guest.goto(link)
        await guest.get_by_label("Your name").fill("Béa")
        await take(guest, folder / "invitation.png")
        await guest.get_by_role("button", name="Take the seat").click()
        decision = await next_decision(host, None)
        await take(guest, folder / "others-choose.png")
        await guest.goto("about:blank")
        await expect(host.locator("#others p")).to_contain_text("away")
        await take(host, folder / "away.png")
        await choice(host).click()
        await next_decision(host, decision)
        await host.get_by_role("button", name="Let a bot play for now").click()
        await play_to_the_end(host, press)
        await take(host, folder / "end.png")
        await take(host, folder / "end-visions.png", visions=True)
        await host.get_by_role("link", name="Your costliest moves").click()
        await expect(host.locator("#analysis .questions > li")).to_have_count(3)
        await take(host, folder / "costliest.png")
        await take(host, folder / "costliest-visions.png", visions=True)
        await host.get_by_role("button", name="Try again on the board").click()
        await take(host, folder / "question.png")
        await host.get_by_role("button", name="Show the best move").click()
        await take(host, folder / "answer.png")
        await take(host, folder / "answer-visions.png", visions=True)
        for name, path in (("home", "/"), ("matches", "/matches"), ("how-to-play", "/how-to-play")):
            await host.goto(path)
            await take(host, folder / f"{name}.png")


async def main(folder: Path) -> None:
    with TemporaryDirectory() as data:
        async with (
            running_chromium() as browser,
            serving(Path(data), web="127.0.0.1:0", house="greedy,random") as (server, channel),
        ):
            await met(channel, "greedy", "random")
            await live(browser, server.web or "", folder)
            await recorded(browser, server.web or "", folder)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(exist_ok=True)
    asyncio.run(main(Path(sys.argv[1])))
