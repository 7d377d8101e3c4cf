"""The viewer: a game at any position, by link, by keys, and while it is played."""

import asyncio
import re

import pytest
from playwright.async_api import Browser, Page, expect
from tests.server.harness import connected, matches_at, next_response, terms
from tests.web.conftest import Site

from happycity.v1 import play_service_pb2 as play

pytestmark = pytest.mark.asyncio(loop_scope="session")


def drawn(html: str) -> str:
    """Return markup without what means nothing: white space, and the script's notes to itself."""
    html = re.sub(r' data-shows="[^"]*"', "", html)
    html = re.sub(r"\s+", " ", html)
    return re.sub(r"\s*(<[^>]*>)\s*", r"\1", html)


async def table(page: Page) -> str:
    return drawn(await page.locator("#board").evaluate("board => board.outerHTML"))


async def listed(page: Page) -> list[str]:
    rows = page.locator("#moves > li")
    shown = await rows.evaluate_all("rows => rows.map(row => row.outerHTML)")
    return [drawn(row).replace(' aria-current="step"', "") for row in shown]


@pytest.mark.level(2)
async def test_script_draws_what_the_server_draws(
    page: Page, browser: Browser, site: Site, family_match: int, expert_match: int
) -> None:
    """At each position, the table that the script shows is the one that a browser without scripts gets."""
    async with await browser.new_context(base_url=site.url, java_script_enabled=False) as scriptless:
        plain = await scriptless.new_page()
        for match in (family_match, expert_match):
            await page.goto(f"/matches/{match}?ply=0")
            last = int(await page.locator("#slider").get_attribute("max") or 0)
            assert last > 30
            for ply in [*range(0, last, 25), last - 1, last]:
                await page.locator("#slider").fill(str(ply))
                await plain.goto(f"/matches/{match}?ply={ply}")
                assert await table(page) == await table(plain), f"ply {ply}"
                assert f"ply={max(ply - 1, 0)}" in await plain.content()


async def test_position_and_seat_are_in_the_address(page: Page, family_match: int) -> None:
    """A link to a position opened cold shows it from the seat that it names, and steps change the address."""
    await page.goto(f"/matches/{family_match}?ply=7&seat=2")
    await expect(page.locator("#board")).to_have_attribute("data-ply", "7")
    assert await page.locator(".seat h3").all_text_contents() == ["2 bob", "3 carl", "1 anna"]
    await page.get_by_role("link", name="Next").click()
    await expect(page).to_have_url(re.compile(r"\?ply=8&seat=2$"))
    await expect(page.locator('#moves [aria-current="step"]')).to_have_attribute("href", "?ply=8&seat=2")
    await expect(page.locator("#link")).to_have_value(page.url)


async def test_keys_go_through_the_game(page: Page, family_match: int) -> None:
    """Arrows step, Home and End go to the ends, and all controls can be reached by Tab."""
    await page.goto(f"/matches/{family_match}")
    board = page.locator("#board")
    last = await page.locator("#slider").get_attribute("max") or ""
    steps = {"Home": "0", "ArrowRight": "1", "End": last, "ArrowLeft": str(int(last) - 1)}
    for key, ply in steps.items():
        await page.keyboard.press(key)
        await expect(board).to_have_attribute("data-ply", ply)
    await page.keyboard.press("Home")
    focused = page.locator("#viewer :focus")  # the links above the viewer are left out
    names = []
    for _ in range(12):
        await page.keyboard.press("Tab")
        names += [name.strip().partition("\n")[0] for name in await focused.all_text_contents()]
    controls = ["First position", "Back", "Play", "Next", "Last position"]
    assert [name for name in names if name in controls] == controls


@pytest.mark.level(2)
async def test_running_game_follows_by_itself(page: Page, site: Site) -> None:
    """A page that is opened in the middle of a game has all moves before, gets each new one, and the end."""
    async with asyncio.TaskGroup() as tasks:
        dora = await connected(site.channel, "dora")
        answered = asyncio.Semaphore(0)

        async def play_on() -> None:
            while True:
                response = await next_response(dora)
                for decision in response.decisions:
                    await answered.acquire()
                    answer = play.Answer(
                        match_id=decision.match_id,
                        decision_id=decision.decision_id,
                        move=len(decision.moves) - 1,
                        metrics={"value": 0.25},
                    )
                    await dora.write(play.PlayRequest(answers=[answer]))
                if response.games_over:
                    return

        playing = tasks.create_task(play_on())
        for _ in range(5):
            answered.release()
        created = await matches_at(site.channel).CreateMatch(**terms("dora", "dora"))
        await page.goto(f"/matches/{created.match_id}")
        board = page.locator("#board")
        await expect(board).to_have_attribute("data-ply", "5")
        await expect(page.locator("#match-state")).to_have_text("running")
        answered.release()
        await expect(board).to_have_attribute("data-ply", "6")
        await page.keyboard.press("ArrowLeft")
        answered.release()
        await expect(page.locator('[data-field="last"]')).to_have_text("7")
        await expect(board).to_have_attribute("data-ply", "5")
        await page.keyboard.press("End")
        for _ in range(1000):
            answered.release()
        await playing
        dora.cancel()
    await expect(page.locator("#match-state")).to_have_text("finished")
    await expect(page.locator(".final").first).to_contain_text("place")
    await expect(page.locator("#result summary")).to_have_count(2)
    await expect(page.locator("#result")).to_be_visible()
    followed = await table(page)
    moves = await listed(page)
    await page.reload()
    assert await table(page) == followed
    assert await listed(page) == moves
