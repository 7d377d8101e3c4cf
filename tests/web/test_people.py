"""A table with people in the browser: who is waited for or away, greetings, open seats, strangers."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.server import harness as h
from tests.server.harness import met, serving
from tests.web.table import OVERFLOWING, check_layout, choice, next_decision, play_to_the_end, sit_down
from tests.web.test_play import link_on, press

from happycity.records.replay import choosers_of, replay
from happycity_runtime.tokens import Role
from happycity_server.people import tables as tables_module
from happycity_server.people.person import STAND_IN

pytestmark = pytest.mark.asyncio(loop_scope="session")


COVERED = """() => {
  const own = document.getElementById("others").getBoundingClientRect();
  const isCovered = (one) => {
    const box = one.getBoundingClientRect();
    const isBeside = box.right < own.left + 1 || box.left > own.right - 1;
    return box.width > 2 && !isBeside && box.bottom > own.top + 1 && box.top < own.bottom - 1;
  };
  const parts = [...document.querySelectorAll("#board, #seat-title, .news-box, .seat-bar > *")];
  return parts.filter(isCovered).map((one) => one.id || one.className);
}"""
"""What lies under the line that says who is away."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def arena(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Yield the address of the pages of a public server at which visitors play."""
    folder = tmp_path_factory.mktemp("people")
    tokens = folder / "tokens.json"
    h.issued_token(tokens, Role.ORGANISER, "olga")
    values: dict[str, Any] = {"public": True, "tokens": tokens, "guests_play": 1000}
    async with serving(folder, web="127.0.0.1:0", house="greedy,random", **values) as (server, _):
        assert server.web is not None
        yield server.web


@pytest_asyncio.fixture(loop_scope="session")
async def people(browser: Browser, arena: str) -> AsyncIterator[list[Page]]:
    """Yield the pages of two people with browsers of their own; errors in a console fail the test."""
    contexts = [await browser.new_context(base_url=arena, reduced_motion="reduce") for _ in range(2)]
    pages = [await context.new_page() for context in contexts]
    problems: list[str] = []
    for page in pages:
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
    yield pages
    for context in contexts:
        await context.close()
    assert not problems


async def seated(host: Page, guest: Page, *bots: str, name: str, clock: str = "300") -> None:
    """Let two people sit down at a table, by an invitation."""
    await sit_down(host, "me", "invite", *bots, clock=clock)
    await host.get_by_role("button", name="Invite").click()
    await guest.goto(await link_on(host))
    await guest.get_by_label("Your name").fill(name)
    await guest.get_by_role("button", name="Take the seat").click()


@pytest.mark.level(3)
async def test_whole_game_with_one_who_leaves_and_comes_back(people: list[Page], arena: str) -> None:
    """Each sees who is waited for and who is away; a bot plays on; the record says who chose."""
    anna, bea = people
    await seated(anna, bea, "greedy", "random", name="Béa")
    await next_decision(anna, None)
    assert re.match("● Your turn", await anna.title())
    title = bea.locator("#seat-title")
    await expect(title).to_have_text(re.compile(r"@Anna \d+ chooses, \d:\d\d"))
    await expect(bea.locator('[data-seat="0"] .activity')).to_have_text(re.compile(r"\d:\d\d"))
    await expect(bea.locator("#spoken")).to_have_text(re.compile(r"@Anna \d+ chooses"))
    await bea.get_by_text("Say", exact=True).click()
    await bea.get_by_role("button", name="Good luck!").click()
    await expect(anna.locator('[data-seat="1"] .said')).to_have_text("Good luck!")
    await expect(anna.locator("#spoken")).to_have_text("@Béa: Good luck!")
    # Béa goes: Anna reads so at once, and what becomes of the seat.
    address = bea.url
    await bea.goto("about:blank")
    away = anna.locator("#others p")
    await expect(away).to_contain_text(re.compile(r"@Béa is away, the seat is kept for [45]:\d\d"))
    await expect(anna.locator("#spoken")).to_contain_text("@Béa is away")
    await check_layout(anna)
    for width, height in ((1440, 900), (768, 1024), (390, 844), (667, 375)):
        await anna.set_viewport_size({"width": width, "height": height})
        assert await anna.evaluate(COVERED) == []
    await anna.set_viewport_size({"width": 1280, "height": 720})
    await anna.get_by_role("button", name="Let a bot play for now").click()
    await expect(away).to_have_text("A bot plays for @Béa for now ")
    await expect(anna.locator('[data-seat="1"] .activity')).to_have_text("a bot, for now")
    await check_layout(anna)
    await play_to_the_end(anna, press, most=8)
    await bea.goto(address)
    await expect(away).to_have_count(0)
    await expect(anna.locator("#moves .note").filter(has_text=f"chosen by {STAND_IN}").first).to_be_attached()
    await asyncio.gather(*(play_to_the_end(page, press) for page in people))
    link = await anna.get_by_role("link", name="Look at the game again").get_attribute("href") or ""
    record = await (await anna.request.get(link.replace("?ply=0", "/record.json"))).json()
    replay(record)
    choosers = choosers_of(record)
    assert set(choosers.values()) == {STAND_IN}
    own = [number for number, line in enumerate(record["moves"], start=1) if line["seat"] == 1]
    assert 0 < len(choosers) < len(own)
    assert choosers.keys() <= {*own}
    assert record["endings"] == ["finished"] * 4
    await expect(anna.get_by_role("button", name="Share a link")).to_have_count(0)  # others may not see it
    for page in people:  # of Béa, the bot's moves are not judged
        await page.get_by_role("link", name="Your costliest moves").click()
        await expect(page.locator("#analysis .expectation polyline")).to_have_count(4)


async def test_double_click_decides_once(people: list[Page]) -> None:
    """The second half of a double click answers no other decision, nor does a press when one is new."""
    page, _ = people
    await sit_down(page, "me", "greedy")
    first = await next_decision(page, None)
    await page.evaluate("""() => {
      window.sent = [];
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) { window.sent.push(text); return send.call(this, text); };
      new MutationObserver(() => {
        const playing = document.getElementById("playing");
        if (playing.matches(".settling")) document.querySelector("[data-number='1']")?.click();
      }).observe(document.getElementById("playing"), { attributeFilter: ["class"] });
    }""")
    await choice(page).dblclick()
    await next_decision(page, first)
    assert len(await page.evaluate("window.sent.filter((text) => text.includes('answer'))")) == 1


async def test_lost_connection_dims_the_table(folder: Path, browser: Browser) -> None:
    """The table can't be played, and says so where it is seen, also far down on a phone."""
    async with await browser.new_context(viewport={"width": 375, "height": 667}) as context:
        page = await context.new_page()
        async with serving(folder, web="127.0.0.1:0", house="greedy") as (server, channel):
            await met(channel, "greedy")
            await sit_down(page, "me", "greedy", at=server.web or "")
            await next_decision(page, None)
            await page.evaluate("scrollTo(0, document.body.scrollHeight)")
        await expect(page.get_by_text("Connection lost")).to_be_in_viewport()
        await expect(page.locator("#board")).to_have_css("pointer-events", "none")
        assert not await page.evaluate(OVERFLOWING)


async def test_strangers_meet_at_an_open_table(people: list[Page]) -> None:
    """A table is listed while its host is there; who sits down by the list plays."""
    host, guest = people
    await sit_down(host, "me", "open", name="Ida")
    await expect(host.locator("#waiting")).to_contain_text(
        re.compile(r"Bots take the open seats in [01]:\d\d")
    )
    await check_layout(host)
    await guest.goto("/")
    await guest.get_by_role("link", name="Sit down @Ida").click()
    await expect(guest.get_by_label("Your name")).to_be_visible()
    await check_layout(guest)
    await guest.get_by_label("Your name").fill("Otto")
    await guest.get_by_role("button", name="Take the seat").click()
    await next_decision(host, None)
    await expect(guest.locator("#seat-title")).to_have_text(re.compile("@Ida chooses"))


async def test_bots_come_where_nobody_does(people: list[Page], monkeypatch: pytest.MonkeyPatch) -> None:
    host, _ = people
    monkeypatch.setattr(tables_module, "OPEN_SECONDS", 0.2)
    await sit_down(host, "me", "open", "open")
    assert await next_decision(host, None)
    await expect(host.locator("h3 bdi")).to_have_text([re.compile("@Anna"), "greedy", "random"])


@pytest.mark.level(3)
@pytest.mark.parametrize(
    "code",
    ["en", pytest.param("pl", marks=pytest.mark.nightly), pytest.param("uk", marks=pytest.mark.nightly)],
)
async def test_first_visit_of_a_stranger(code: str, people: list[Page]) -> None:
    """Without a token, from the first page to the end of a guided game, in the visitor's language."""
    page, _ = people
    await page.goto(f"/?lang={code}")
    assert await page.get_by_role("navigation").first.locator("a[href='/play']").count() == 1
    await page.locator("nav a[href='/how-to-play']").click()
    await page.locator("a[href='/play?guide=1']").first.click()
    await page.locator("#name").fill({"uk": "Леся", "pl": "Łucja"}.get(code, "Zoë"))
    await page.locator("form.new-game .main-button").click()
    assert await page.locator("html").get_attribute("lang") == code
    await next_decision(page, None)
    await check_layout(page)
    await play_to_the_end(page, press)
    await check_layout(page)
    for link in await page.locator("#panel .after a").all():
        answer = await page.request.get(await link.get_attribute("href") or "")
        assert answer.status == 200
