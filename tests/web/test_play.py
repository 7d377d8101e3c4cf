"""Playing in the browser: by clicks, by keys, against bots and invited people, and what can go wrong."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
import websockets
from playwright.async_api import Browser, BrowserContext, Locator, Page, ViewportSize, expect
from tests.server.harness import ended_match, issued_token, matches_at, met, pages, serving
from tests.server.server_process import ended_server
from tests.waiting import LIMIT
from tests.web.conftest import HOUSE
from tests.web.sockets import close_code, socket_of
from tests.web.table import OVERFLOWING, check_layout, choice, next_decision, play_to_the_end, sit_down

from happycity import CARDS
from happycity.records.replay import replay
from happycity.v1 import match_pb2
from happycity_runtime.tokens import Role
from happycity_server.people import tables
from happycity_tournament.storage.packing import unpack
from happycity_tournament.storage.store import Store
from happycity_web import seats

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser, arena: str) -> AsyncIterator[BrowserContext]:
    async with await browser.new_context(base_url=arena, reduced_motion="reduce") as fresh:
        yield fresh


@pytest_asyncio.fixture(loop_scope="session")
async def guest(browser: Browser, arena: str) -> AsyncIterator[Page]:
    async with await browser.new_context(base_url=arena, reduced_motion="reduce") as fresh:
        yield await fresh.new_page()


async def link_on(page: Page) -> str:
    """Return the link that a page shows since a button was pressed."""
    await expect(page.locator("#own-link-address")).to_have_value(re.compile("^http"))
    return await page.locator("#own-link-address").input_value()


async def press(button: Locator, _: int) -> None:
    await button.click()


async def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    focused = page.locator(f"{selector}:focus")
    for _ in range(100):
        await page.keyboard.press("Tab")
        if await focused.count():
            return
    raise AssertionError(f"{selector} can't be reached by Tab")


async def results(page: Page) -> list[dict[str, object]]:
    """Return the results of the game that a page shows, as the server has stored them."""
    link = await page.get_by_role("link", name="Look at the game again").get_attribute("href") or ""
    answer = await page.request.get(link.replace("?ply=0", ".json"))
    found = (await answer.json())["end"]["results"]
    assert isinstance(found, list)
    return found


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("mode", "others"),
    [
        ("family", ["greedy", "dummy", "greedy", "dummy"]),
        ("expert", ["dummy"]),
    ],
)
async def test_whole_game_by_clicks(mode: str, others: list[str], page: Page) -> None:
    """A game is played from the first choice to its result, which is the one that the server stores.

    Then the page of the seat asks for the three moves that cost most.
    """
    await sit_down(page, "me", *others, mode=mode)
    await play_to_the_end(page, press)
    own = (await results(page))[0]
    assert own["ending"] == "finished"
    await expect(page.locator("#panel .marked")).to_contain_text(f"{own['points']} point")
    await page.get_by_role("link", name="Look at the game again").click()
    await expect(page.locator("#board")).to_have_attribute("data-ply", "0")
    await page.go_back()
    await page.get_by_role("link", name="Your costliest moves").click()
    await expect(page.locator("#analysis .questions > li")).to_have_count(3)
    await check_layout(page)
    await page.locator("#analysis h3 a").first.click()
    await expect(page).to_have_url(re.compile(r"/play/.*ply=\d+"))


@pytest.mark.level(2)
async def test_whole_game_by_keys(page: Page) -> None:
    """Without a mouse a person sets a table up and chooses, by numbers and by Enter, and keeps the focus."""
    await page.goto("/play")
    await tab_to(page, "#name")
    await page.keyboard.type("Anna")
    for seat, key in ((1, "m"), (2, "g"), (3, "n"), (4, "n")):
        await tab_to(page, f"[name=seat{seat}]")
        await page.keyboard.type(key)
    await tab_to(page, "button:text-is('Start')")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("/play/.+"))

    async def press(_: object, number: int) -> None:
        focused = await page.evaluate("document.activeElement.dataset.number ?? ''")
        assert focused == "1", "the first choice has the focus"
        if number > 1:
            await page.keyboard.press(str(number))
        else:
            await page.keyboard.press("Enter")

    await play_to_the_end(page, press)
    assert [seat["ending"] for seat in await results(page)] == ["finished", "finished"]


@pytest.mark.level(2)
@pytest.mark.parametrize(("width", "height"), [(375, 667), (1440, 900)])
async def test_first_game_by_the_guide_alone(width: int, height: int, browser: Browser, arena: str) -> None:
    """Who does what the guide says, and nothing else, ends a game; on a phone a second tap chooses."""
    is_phone = width < 400
    viewport: ViewportSize = {"width": width, "height": height}
    async with await browser.new_context(
        base_url=arena, viewport=viewport, has_touch=is_phone, is_mobile=is_phone, reduced_motion="reduce"
    ) as context:
        page = await context.new_page()
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        await page.goto("/how-to-play")
        await page.get_by_role("link", name="First game?").click()
        await page.get_by_label("Your name").fill(f"New {width}")
        seed = '<input type="hidden" name="seed" value="7">'  # or each run has another deal
        await page.locator("main form").evaluate(
            "(form, seed) => form.insertAdjacentHTML('beforeend', seed)", seed
        )
        await page.get_by_role("button", name="Start").click()
        decision, asked = await next_decision(page, None), set()
        while decision is not None:
            asked.add(await page.locator("#playing").get_attribute("data-asks"))
            await expect(page.locator(".guide")).to_be_visible()
            assert await page.evaluate(IN_SIGHT) == []
            said = page.get_by_text(await page.locator(".guide b").inner_text(), exact=True)
            button = page.locator("[data-move]").filter(has=page.locator(".choice-name").and_(said))
            if is_phone:
                await button.tap()
                await expect(page.locator("#sheet")).to_contain_text(
                    await button.locator("b, .choice-name").inner_text()
                )
                await button.tap()
            else:
                await button.click()
            decision = await next_decision(page, decision)
        assert asked >= {"draw", "buy"}
        assert (await results(page))[0]["ending"] == "finished"
        assert not problems


async def test_a_tap_shows_the_text_of_any_special(browser: Browser, arena: str) -> None:
    """Where nothing hovers, what an expert special does can be read, also while it can't be had."""
    async with await browser.new_context(base_url=arena, has_touch=True, is_mobile=True) as context:
        page = await context.new_page()
        await sit_down(page, "me", "greedy", mode="expert")
        await next_decision(page, None)
        card = page.locator('[data-list="specials"] .card:has(.effect-text)').first
        await card.tap()
        effect = await card.locator(".effect-text").text_content()
        await expect(page.locator("#sheet")).to_contain_text(effect or "no text")
        await expect(page.get_by_role("button", name="Choose", exact=True)).to_be_hidden()
        await expect(page.locator(".number-key").first).to_be_hidden()


async def test_guide_can_be_closed(page: Page) -> None:
    """The guide is at the table of a guided game until it is closed, and can be opened again."""
    await page.goto("/play?guide=1")
    await page.get_by_label("Your name").fill("New")
    await page.get_by_role("button", name="Start").click()
    await next_decision(page, None)
    await page.get_by_role("button", name="Close the guide").click()
    await page.reload()
    await next_decision(page, None)
    await expect(page.locator(".guide")).to_be_hidden()
    await page.get_by_text("Settings").click()
    await page.get_by_label("Guide for a first game").check()
    await expect(page.locator(".guide")).to_be_visible()
    await page.get_by_role("button", name="Give up").click()
    await page.locator("dialog").get_by_role("button", name="Give up").click()
    await expect(page.locator("#panel .after")).to_be_visible()
    await sit_down(page, "me", "dummy", mode="expert")
    await next_decision(page, None)
    await expect(page.locator(".guide")).to_have_count(0)


@pytest.mark.level(2)
async def test_same_deal_is_played_in_another_seat(page: Page, context: BrowserContext) -> None:
    """Who gives a game up plays the same cards one seat further; a link to the game can be shared."""
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    await sit_down(page, "me", "greedy", "dummy")
    await next_decision(page, None)
    await page.get_by_role("button", name="Give up").click()
    await page.get_by_role("button", name="Go on playing").click()
    await expect(choice(page)).to_be_visible()
    await page.get_by_role("button", name="Give up").click()
    await page.locator("dialog").get_by_role("button", name="Give up").click()
    await page.get_by_role("button", name="Share a link").click()
    assert (await results(page))[0]["ending"] == "resigned"
    await expect(page.locator("#shared")).to_have_text("Copied")
    first = await (
        await page.request.get(await page.evaluate("navigator.clipboard.readText()") + ".json")
    ).json()
    await page.get_by_role("button", name="The same deal in another seat").click()
    await next_decision(page, None)
    await expect(page.locator(".seat").first).to_have_attribute("data-seat", "1")
    cards = await page.locator('[data-list="specials"] [data-card]').evaluate_all(
        "all => all.map(one => one.dataset.card)"
    )
    assert cards == first["plies"][0]["specials"]


async def test_number_keys_can_be_switched_off(page: Page) -> None:
    """Without the keys, digits do nothing, and the browser remembers that."""
    await sit_down(page, "me", "dummy")
    decision = await next_decision(page, None)
    await page.get_by_text("Settings").click()
    await page.locator("#number-keys").uncheck()
    await page.keyboard.press("1")
    await page.reload()
    assert await next_decision(page, None) == decision
    await page.get_by_text("Settings").click()
    await expect(page.locator("#number-keys")).not_to_be_checked()
    await page.locator("#number-keys").check()
    await page.keyboard.press("1")
    assert await next_decision(page, decision) != decision


async def test_seat_goes_on_after_a_reload_and_in_a_second_tab(page: Page, context: BrowserContext) -> None:
    """A page that is loaded again asks the same; two pages of one seat show the same, and either answers."""
    await sit_down(page, "me", "dummy")
    decision = await next_decision(page, None)
    await page.reload()
    assert await next_decision(page, None) == decision
    second = await context.new_page()
    await second.goto(page.url)
    assert await next_decision(second, None) == decision
    await choice(second).click()
    follower = await next_decision(page, decision)
    assert await next_decision(second, decision) == follower
    await choice(page).click()
    await next_decision(page, follower)


async def test_invitation_seats_one_person(page: Page, guest: Page) -> None:
    """A link seats the first who opens it; the host can't use it, and a second opening is refused."""
    await sit_down(page, "invite", "me", "dummy", name="Анна")
    await page.get_by_role("button", name="Invite somebody to seat 1").click()
    link = page.get_by_label("Invitation for one person")
    await expect(link).to_have_value(re.compile("/invitations/"))
    address = await link.input_value()
    host = await page.context.new_page()
    await host.goto(address)
    await expect(host.get_by_text("You sit at this table already")).to_be_visible()
    await guest.goto(address)
    await guest.get_by_label("Your name").fill("анна")
    await guest.get_by_role("button", name="Take the seat").click()
    await expect(guest.get_by_role("alert")).to_contain_text("somebody plays as анна already")
    await guest.get_by_label("Your name").fill("Bob O'Neil")
    await guest.get_by_role("button", name="Take the seat").click()
    await next_decision(guest, None)
    await expect(page.locator(".seat h3").first).to_contain_text("@Анна")
    refused = await page.request.get(address)
    assert refused.status == 403
    assert "is taken already" in await refused.text()
    answering = asyncio.create_task(play_to_the_end(guest, press))
    assert await next_decision(page, None)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)


async def test_free_seat_is_filled_with_a_bot(page: Page) -> None:
    """Who waits sees what will be played, and may go on without the guest."""
    await sit_down(page, "me", "invite", mode="expert")
    await expect(page.locator("#waiting")).to_contain_text("Expert game · Time for each decision: 5 minutes")
    await page.get_by_label("Fill seat 2 with a bot").select_option("dummy")
    assert await next_decision(page, None)


@pytest.mark.level(2)
async def test_browser_remembers_how_a_game_was_set_up(page: Page) -> None:
    """The form begins with the last game; once one was played, the first page sets it up again by one button.

    Before, that button leads to the guided game.
    """
    first = "The first game is guided."
    await sit_down(page, "me", "dummy", name="Maria", mode="expert", clock="60")
    await next_decision(page, None)
    await page.context.clear_cookies()
    await page.goto("/")
    await expect(page.locator("[data-defaults]")).to_have_text(first)
    await expect(page.get_by_role("link", name="Play now")).to_have_attribute("href", "/play?guide=1")
    await page.get_by_role("link", name="New game").click()
    await expect(page.get_by_label("Your name")).to_have_value("Maria")
    await expect(page.locator('[name="mode"][value="expert"]')).to_be_checked()
    await expect(page.locator("#clock")).to_have_value("60")
    await page.get_by_label("Your name").fill("Mario")
    await page.get_by_role("button", name="Start").click()
    await expect(page).to_have_url(re.compile("/play/.+"))
    await page.get_by_role("button", name="Give up").click()
    await page.get_by_role("dialog").get_by_role("button", name="Give up").click()
    await expect(page.locator("#panel .after")).to_be_visible()
    before = page.url
    await page.goto("/")
    await expect(page.locator("[data-defaults]")).to_have_text("Mario · dummy")
    await page.get_by_role("link", name="Play now").click()
    await expect(page).to_have_url(re.compile("/play/.+"))
    assert page.url != before


async def test_clock_that_runs_out_plays_for_the_person(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who doesn't answer in time sees a strike and is asked again; too often, and the seat is given up."""
    monkeypatch.setitem(seats.CLOCKS, "60", 1.0)
    await sit_down(page, "me", "dummy", clock="60")
    await expect(page.locator("#panel .warn").first).to_contain_text(re.compile("strike [1-3]"))
    await expect(page.locator("#panel .after")).to_be_visible()
    assert (await results(page))[0]["ending"] == "timeout"


async def test_seat_without_a_page_is_given_up(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """When nobody comes back within the grace time, the game ends without the person."""
    monkeypatch.setattr(tables, "GRACE_SECONDS", 0.2)
    await sit_down(page, "me", "dummy", name="Gone")
    await next_decision(page, None)
    address = page.url
    await page.goto("/")
    await expect(page.locator("[data-live=finished]")).to_contain_text("@Gone")
    finished = (await (await page.request.get("/index.json")).json())["finished"]
    over = [match for match in finished if "@Gone" in match["bots"]]
    assert over[0]["outcome"]["result"]["seats"][0]["ending"] == "disconnected"
    await page.goto(address)
    await expect(page.get_by_role("heading", name="You are number 2 of 2")).to_be_visible()


@pytest.mark.level(2)
@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
async def test_pages_of_a_game_fit_and_are_accessible(width: int, scheme: str, page: Page) -> None:
    """At every width and in both schemes nothing overflows, and axe finds nothing, up to the end."""
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
    await page.set_viewport_size({"width": width, "height": 800})

    await page.goto("/play")
    await check_layout(page)
    await sit_down(page, "me", "invite", name="Eva")
    await page.get_by_role("button", name="Invite somebody to seat 2").click()
    await expect(page.get_by_label("Invitation for one person")).to_be_visible()
    await check_layout(page)
    await page.get_by_role("button", name="Give up the table").click()
    await page.get_by_role("link", name="New game").click()
    await sit_down(page, "me", "greedy", "dummy", mode="expert", name="Eva")
    decision = None
    for _ in range(4):
        decision = await next_decision(page, decision)
        await check_layout(page)
        await choice(page).click()
    await next_decision(page, decision)
    await page.get_by_role("button", name="Give up").click()
    await check_layout(page)
    await page.locator("dialog").get_by_role("button", name="Give up").click()
    await expect(page.locator("#panel .after")).to_be_visible()
    await check_layout(page)


IN_SIGHT = """() => {
  const own = document.querySelector(".seat:first-child").getBoundingClientRect();
  const isHidden = (one, end) => {
    const box = one.getBoundingClientRect();
    return !box.width || box.top < 0 || box.bottom > end + 1 || box.right > innerWidth;
  };
  const hidden = [...document.querySelectorAll("[data-move]")].filter((one) => isHidden(one, own.top));
  if (own.bottom > innerHeight + 1 || own.right > innerWidth) return ["own city"];
  return hidden.map((one) => one.outerHTML);
}"""
"""What a person has to scroll for: the own city, or choices."""


@pytest.mark.level(2)
@pytest.mark.parametrize("mode", ["family", "expert"])
async def test_city_and_choices_are_in_sight(mode: str, page: Page) -> None:
    """On phones and large screens, with five seats, the own city and all choices are on the screen."""
    await page.set_viewport_size({"width": 1440, "height": 900})
    await sit_down(page, "me", "greedy", "dummy", "greedy", "dummy", mode=mode)
    decision = None
    asked = set()
    for number in range(12):
        if (decision := await next_decision(page, decision)) is None:
            break
        asks = await page.locator("#playing").get_attribute("data-asks")
        asked.add(asks)
        if asks != "special":  # they say what they need, and can be read
            await expect(page.locator('[data-list="specials"] .dimmed')).to_have_count(0)
        await page.emulate_media(color_scheme="dark" if number % 2 else "light", reduced_motion="reduce")
        for width, height in ((375, 667), (820, 1180), (1440, 900), (1920, 1080)):
            await page.set_viewport_size({"width": width, "height": height})
            assert not await page.evaluate(OVERFLOWING)
            await page.evaluate("scrollTo(0, 0)")
            assert await page.evaluate(IN_SIGHT) == [], (asked, width)
        card = page.locator(".market .can .card")
        await (card if number % 2 and await card.count() else choice(page)).first.click()
    assert {"discard", "draw", "buy"} <= asked


async def test_past_is_marked_and_ends_with_a_click(page: Page) -> None:
    """Who looks at an earlier position reads so, and can't choose by mistake."""
    await sit_down(page, "me", "greedy")
    first = await next_decision(page, None)
    await choice(page).click()
    second = await next_decision(page, first)
    await page.keyboard.press("Home")
    await expect(page.get_by_text("You look at move 0.")).to_be_visible()
    await page.keyboard.press("1")
    await expect(page.locator("[data-move]").first).to_be_hidden()
    await page.get_by_role("button", name="Back to the game").click()
    await expect(choice(page)).to_be_visible()
    assert await next_decision(page, None) == second


@pytest.mark.level(2)
async def test_moves_of_others_are_shown_one_by_one(browser: Browser, arena: str) -> None:
    """Each position is drawn between a person's choice and the next one, and a key skips the rest."""
    async with await browser.new_context(base_url=arena) as context:
        page = await context.new_page()
        await sit_down(page, "me", "greedy", "dummy", "greedy")
        decision = await next_decision(page, None)
        await page.evaluate("""() => {
            window.seen = [];
            const note = () => window.seen.push(Number(board.dataset.ply));
            new MutationObserver(note).observe(board, { attributeFilter: ["data-ply"] });
        }""")
        for _ in range(3):
            await choice(page).click()
            decision = await next_decision(page, decision)
        seen = await page.evaluate("window.seen")
        assert seen == sorted(seen)
        assert set(seen) == set(range(seen[0], seen[-1] + 1))
        await page.evaluate("""() => {
            new MutationObserver((_, observer) => {
                if (!news.querySelector(".seat-no:not(.s0)")) return;
                observer.disconnect();
                document.querySelector(".market .card").click();
                window.skipped = document.querySelector(".chosen") ? "chose" : "waited";
            }).observe(news, { childList: true });
        }""")
        skipped = None
        while skipped is None:
            await choice(page).click()
            decision = await next_decision(page, decision)
            skipped = await page.evaluate("window.skipped")
        assert skipped == "waited"
        await page.get_by_text("Settings").click()
        await page.get_by_label("Moves of others").select_option("at once")
        await page.reload()
        await expect(page.get_by_label("Moves of others")).to_have_value("0")
        await play_to_the_end(page, lambda button, _: button.click())
        await expect(page.locator("#news")).to_contain_text("greedy")  # whose turn was the last


@pytest.mark.level(3)
@pytest.mark.parametrize("by", [pytest.param(signal.SIGTERM, marks=pytest.mark.nightly), signal.SIGKILL])
async def test_game_continues_after_a_restart(by: signal.Signals, folder: Path, browser: Browser) -> None:
    """Two people and two bots play on where the server was ended, without a reload; nothing is revealed.

    One of them comes back with another browser, by the link to the own seat.
    """
    flags = ("--listen", "127.0.0.1:0", "--house", HOUSE)
    people = [await browser.new_context(reduced_motion="reduce") for _ in range(3)]
    host, guest, other = [await context.new_page() for context in people]
    async with ended_server(folder, "--web", "127.0.0.1:0", *flags, by=by) as addresses:
        web = addresses["web"]
        await sit_down(host, "me", "invite", "greedy", "dummy", at=web)
        await host.get_by_role("button", name="Invite").click()
        await guest.goto(await link_on(host))
        await guest.get_by_label("Your name").fill("Bob")
        await guest.get_by_role("button", name="Take the seat").click()
        playing = asyncio.create_task(play_to_the_end(host, press))
        await play_to_the_end(guest, press, most=3)  # then the guest has to choose again
        playing.cancel()
        await guest.get_by_role("button", name="Continue on another device").click()
        own_link = await link_on(guest)
        shown = await host.locator("#board").get_attribute("data-ply")
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        (table,) = (json.loads(unpack(packed)) for packed in store.tables().values())
    before, match = table["record"], f"{web}/matches/{table['match_id']}"
    assert "outcome" not in before
    assert len(before["moves"]) >= int(shown or 0) >= 5
    await expect(host.get_by_text("Connection lost")).to_be_visible()
    await guest.close()
    async with ended_server(folder, "--web", web.removeprefix("http://"), *flags):
        await expect(host.get_by_role("heading", name="The game continues when")).to_be_visible()
        await other.goto(own_link)
        await other.get_by_role("button", name="Go on with your game").click()
        await next_decision(other, None)
        running = await host.request.get(f"{match}.json")
        assert len((await running.json())["plies"]) > len(before["moves"])
        assert "deal" not in await running.text()
        assert (await host.request.get(f"{match}/record.json")).status == 403
        await asyncio.gather(*(play_to_the_end(page, press) for page in (host, other)))
        record = await (await host.request.get(f"{match}/record.json")).json()
    replay(record)
    assert record["moves"][: len(before["moves"])] == before["moves"]
    assert {**record["deal"], "reshuffles": []} == {**before["deal"], "reshuffles": []}
    assert record["endings"] == ["finished"] * 4
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        assert not store.tables()


@pytest.mark.level(2)
async def test_seat_is_given_up_after_a_restart(
    folder: Path, guest: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game whose person does not come back within the grace time goes on without the person, and ends."""
    async with serving(folder, web="127.0.0.1:0", house="greedy") as (server, channel):
        await met(channel, "greedy")
        await sit_down(guest, "me", "greedy", at=server.web or "")
        await next_decision(guest, None)
    await guest.goto("about:blank")
    monkeypatch.setattr(tables, "GRACE_SECONDS", 0.2)
    async with serving(folder, house="greedy") as (_, channel):
        (match, _) = (await matches_at(channel).ListMatches()).matches
        over = await ended_match(matches_at(channel), match.match_id)
    assert over.outcome.result.seats[0].ending == match_pb2.ENDING_ABSENT


@pytest.mark.level(2)
async def test_table_that_is_gone_says_so(folder: Path, browser: Browser) -> None:
    """Where a server has another store there is nothing to choose; the page offers a new game."""
    async with await browser.new_context(reduced_motion="reduce") as context:
        page = await context.new_page()
        async with serving(folder, web="127.0.0.1:0", house="greedy") as (server, channel):
            await met(channel, "greedy")
            address = server.web or ""
            await sit_down(page, "me", "greedy", at=address)
            await next_decision(page, None)
        async with serving(folder / "other", web=address.removeprefix("http://"), house="greedy"):
            await expect(page.get_by_text("This table is no longer there")).to_be_visible()
            await expect(page.locator("[data-move]")).to_have_count(0)
            await expect(page.locator("#clock")).to_be_hidden()


async def test_rules_are_on_a_page(page: Page) -> None:
    """Six steps and every card, for those who have no token too; nothing overflows a phone."""
    await page.set_viewport_size({"width": 320, "height": 700})
    await page.goto("/how-to-play?lang=uk")
    await expect(page.locator(".lesson")).to_have_count(6)
    assert await page.locator(".card-list .card").count() == len(CARDS) - 6  # without the Happy Markets
    await check_layout(page)


async def test_wrong_form_is_shown_again(arena: str) -> None:
    """What can't be played is named, above the form with what was typed."""
    for fields, problem in [
        ({"name": "A<b>", "seat1": "me", "seat2": "greedy"}, "can&#39;t be in it"),
        ({"name": "...", "seat1": "me", "seat2": "greedy"}, "a letter or digit"),
        ({"name": "Anna", "seat1": "me"}, "a game has 2 to 5"),
        ({"name": "Anna", "seat1": "greedy", "seat2": "greedy"}, "must be yours"),
        ({"name": "Anna", "seat1": "me", "seat2": "stranger"}, "is not a bot of the house"),
        ({"name": "Anna", "seat1": "me", "seat2": "greedy", "mode": "hard"}, "unknown"),
    ]:
        async with httpx.AsyncClient(timeout=LIMIT, base_url=arena) as client:
            answer = await client.post("/play", data=fields)
        assert answer.status_code == 400
        assert problem in answer.text


async def test_form_of_another_site_is_refused(arena: str) -> None:
    """A stranger's page can neither set a table up nor open the socket of a seat."""
    async with httpx.AsyncClient(timeout=LIMIT, base_url=arena) as client:
        form = {"name": "Anna", "seat1": "me", "seat2": "greedy"}
        assert (
            await client.post("/play", data=form, headers={"origin": "http://evil.example"})
        ).status_code == 421
        seated = await client.post("/play", data=form)
        cookie = seated.headers["set-cookie"]
        assert {"httponly", "samesite=strict"} <= set(cookie.lower().split("; "))
        headers = {"cookie": cookie.partition(";")[0]}
        socket = arena + seated.headers["location"] + "?from=0"
        with pytest.raises(websockets.InvalidStatus, match="403"):
            await socket_of(
                socket, additional_headers=headers, origin=websockets.Origin("http://evil.example")
            )
        for message in ('{"answer": "all"}', "[" * 1000):
            async with socket_of(socket, additional_headers=headers) as own:
                await own.send(message)
                assert await close_code(own) == 4400


async def test_table_is_shown_to_its_people_only(arena: str) -> None:
    """Without the secret of a seat there is no page of a table."""
    async with httpx.AsyncClient(timeout=LIMIT, base_url=arena) as client:
        seated = await client.post("/play", data={"name": "Ida", "seat1": "me", "seat2": "invite"})
        table = seated.headers["location"]
        assert (await client.get(table)).status_code == 200
        (seat,) = client.cookies.values()
        client.cookies.clear()
        assert (await client.get(table)).status_code == 404
        own_link = f"/seats/{seat}"
        assert "set-cookie" not in (await client.get(own_link)).headers  # it asks first
        assert (await client.post(own_link)).headers["location"] == table
        assert (await client.get(table)).status_code == 200
        assert (await client.get(own_link[:-1])).status_code == 403
        client.cookies.clear()
        await client.post("/play", data={"name": "Eve", "seat1": "me", "seat2": "invite"})
        assert (await client.get(table)).status_code == 404


@pytest.mark.level(2)
async def test_invited_people_need_no_token(folder: Path) -> None:
    """With tokens, a bot's one sets a table up, an observer's doesn't, and an invitation is enough."""
    tokens = folder / "tokens.json"
    bot, observer = (issued_token(tokens, role, "mine") for role in (Role.BOT, Role.OBSERVER))
    form = {"name": "Anna", "seat1": "me", "seat2": "invite"}
    async with pages(folder, tokens=tokens) as url:
        client = partial(httpx.AsyncClient, base_url=url)
        async with client() as host, client() as guest:
            assert (await host.post("/play", data=form)).status_code == 401
            await host.get("/play", params={"token": observer})
            assert (await host.post("/play", data=form)).status_code == 403
            await host.post("/token", data={"token": bot})
            table = (await host.post("/play", data=form)).headers["location"]
            cookies = "; ".join(f"{name}={value}" for name, value in host.cookies.items())
            async with socket_of(url + table, additional_headers={"cookie": cookies}) as socket:
                await socket.send('{"invite": 1}')
                answers = [json.loads(await socket.recv()) for _ in range(2)]
                link = next(answer["link"] for answer in answers if "link" in answer)
            assert (await guest.get(link)).status_code == 200
            seated = await guest.post(link, data={"name": "Bob"})
            assert seated.headers["location"] == table
            seat = await guest.get(table)
            assert (seat.status_code, 'href="/play"' in seat.text) == (200, False)  # it is for one table
            assert 'href="/play"' in (await host.get(table)).text
            assert (await guest.post("/play", data=form)).status_code == 401


async def test_server_without_bots_says_so(folder: Path) -> None:
    """Where no bot of the house plays, the form says that nobody plays against a person alone."""
    async with pages(folder) as url, httpx.AsyncClient(timeout=LIMIT) as client:
        assert "no bots of its own to play against" in (await client.get(f"{url}/play")).text
