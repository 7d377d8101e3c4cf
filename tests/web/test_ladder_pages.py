"""The ladder's pages: what they show, to whom, and how authors challenge there."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.web.conftest import Site
from tests.web.ladders import LadderSite
from tests.web.sockets import closed_with

from happycity import Move
from happycity_client import Bot, Decision

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_leaderboard_follows_the_games(browser: Browser, ladder: LadderSite) -> None:
    """Ratings and who is connected change in an open page by themselves."""
    async with ladder.browsing(browser, "ivan") as context:
        page = await context.new_page()
        await page.goto("/ladder")
        await page.evaluate("window.isTheSamePage = true")
        row = page.locator(".standings tbody tr", has_text="bob")
        deals = await row.locator("td").nth(5).text_content()
        await expect(row.locator("[role=img]")).to_have_attribute("aria-label", "not connected")
        async with ladder.connected("anna", "bob", version="1.1"):
            await expect(row.locator("[role=img]")).to_have_attribute("aria-label", "connected")
            await expect(row.locator("td").nth(5)).not_to_have_text(deals or "")
            await expect(page.locator("#h-present .count")).to_have_text("3")
        assert await page.evaluate("window.isTheSamePage")


async def test_old_seasons_keep_their_leaderboards(browser: Browser, ladder: LadderSite) -> None:
    async with ladder.browsing(browser, "ivan") as context:
        page = await context.new_page()
        await page.goto("/ladder/seasons")
        await page.get_by_role("link", name="season 1").click()
        await expect(page.locator("h1")).to_have_text("Leaderboard, season 1")
        assert sorted(await page.locator(".standings tbody th a").all_text_contents())[:2] == ["anna", "bob"]
        async with page.expect_navigation(url="**season=1**"):
            await page.get_by_role("link", name="3 seats, expert").click()
        await expect(page.locator("h1")).to_have_text("Leaderboard, season 1")


async def test_bot_page_compares_versions(browser: Browser, ladder: LadderSite) -> None:
    async with ladder.browsing(browser, "ivan") as context:
        page = await context.new_page()
        await page.goto("/ladder/bots/anna")
        versions = page.locator("[data-live=versions] tbody th")
        await expect(versions).to_have_text(["1.1", "1.0"])
        await expect(page.locator("figure .legend li")).to_have_text(["1: 1.0", "2: 1.1"])
        await expect(page.locator("figure svg text.end")).to_have_text(["1", "2"])
        await page.get_by_role("link", name="with the one before").click()
        await expect(page.locator("h1")).to_have_text("anna: 1.0, 1.1")
        await page.get_by_label("older").select_option(index=0)
        await page.get_by_role("button", name="Compare").click()
        await expect(page.get_by_text("choose another version than the older one")).to_be_visible()


async def test_deals_lead_to_games_and_back(browser: Browser, ladder: LadderSite) -> None:
    async with ladder.browsing(browser, "ivan") as context:
        page = await context.new_page()
        await page.goto("/ladder/deals")
        await page.get_by_label("Bot").fill("anna")
        await page.get_by_label("Board").select_option("2-family")
        await page.get_by_role("button", name="Show").click()
        deal = page.locator(".deals > li").first
        await expect(deal.locator(".seats-line li")).to_have_count(2)
        await expect(deal.locator(".marked")).to_contain_text("anna")
        await expect(deal.locator("a[href^='/matches/']")).to_have_count(2)
        name = await deal.locator(".entry-name").text_content()
        await deal.locator("a[href^='/matches/']").first.click()
        await page.locator(".crumbs a").first.click()
        await expect(page.locator(".deals .entry-name")).to_have_text([name or ""])
        await page.goto("/matches")
        await expect(page.locator("a.tag").first).to_have_text("ladder")


@pytest.mark.level(2)
async def test_games_of_open_deals_are_hidden(ladder: LadderSite) -> None:
    """A finished game whose cards are in play in another order of seats is linked nowhere, and not shown."""
    first: list[int] = []
    may_go_on = asyncio.Event()

    class Held(Bot):
        async def choose(self, decision: Decision) -> Move:
            first[:] = first or [decision.match_id]
            if decision.match_id not in first:
                await may_go_on.wait()
            return decision.moves[0]

    def half_played(shown: Any) -> list[int]:
        return [
            deal["deal_id"]
            for deal in shown["deals"]
            if not deal["finish_time"] and set(first) & set(deal["match_ids"])
        ]

    async with ladder.connected("anna", version="1.1", factory=Held), ladder.client("ivan") as client:
        (held,) = half_played(await ladder.until("/ladder/deals", half_played))
        for path in ("/", "/matches", "/ladder/deals", "/bots/anna", "/bots/anna.json"):
            text = (await client.get(path)).text
            assert f'href="/matches/{first[0]}"' not in text
            assert f'"match_id":{first[0]},' not in text
        assert "Shown when its deal is over" in (await client.get("/matches")).text
        assert (await client.get(f"/matches/{first[0]}")).status_code == 403
        may_go_on.set()
        await ladder.until("/ladder/deals", lambda shown: held not in half_played(shown))
        assert (await client.get(f"/matches/{first[0]}")).status_code == 200


async def test_authors_challenge_in_the_browser(browser: Browser, ladder: LadderSite) -> None:
    """With a bot's token the forms challenge, accept and withdraw; what is wrong with one is said."""
    async with ladder.browsing(browser, "anna") as annas, ladder.browsing(browser, "bob") as bobs:
        page = await annas.new_page()
        await page.goto("/ladder/challenges")
        await page.get_by_label("against bots that you name").check()
        await page.get_by_role("textbox", name="Opponents").fill("nobody")
        await page.get_by_label("Number of deals").fill("3")
        await page.get_by_role("button", name="Challenge", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("nobody")
        await page.get_by_role("textbox", name="Opponents").fill("bob")
        await page.get_by_role("button", name="Challenge", exact=True).click()
        mine = page.locator(".challenges .entry").first
        await expect(mine).to_contain_text("waits for an answer")
        other = await bobs.new_page()
        await other.goto("/ladder/challenges")
        await other.locator(".challenges .entry").first.get_by_role("button", name="Accept").click()
        await expect(mine).to_contain_text("being played")
        await page.get_by_role("radio", name="rated the ladder").check()
        await page.get_by_role("button", name="Challenge", exact=True).click()
        await expect(mine).to_contain_text("asks for rated deals")
        await mine.get_by_role("button", name="Withdraw").click()
        await expect(page.locator(".challenges .entry").first).to_contain_text("withdrawn")


async def test_others_see_the_commands(ladder: LadderSite) -> None:
    """Without a bot's token there is no form, and none is taken; another site's page can't send one."""
    async with ladder.client("olga") as client:
        shown = await client.get("/ladder/challenges")
        assert "happycity ladder challenge" in shown.text
        assert 'method="post"' not in shown.text
        refused = await client.post("/ladder/challenges", data={"kind": "rated", "deals": "1"})
        assert refused.status_code == 403
        assert "Your token is for other pages than this one." in refused.text
        assert 'name="token"' in refused.text
    async with ladder.client("anna") as client:
        headers = {"origin": "http://evil.example"}
        forged = await client.post("/ladder/challenges", data={"kind": "rated"}, headers=headers)
        assert forged.status_code == 421
        unknown = await client.post("/ladder/challenges/999", data={"answer": "accept"})
        assert unknown.status_code == 400
        assert "challenge: &#39;999&#39; is not in this ladder" in unknown.text


async def test_flags_are_for_organisers(ladder: LadderSite) -> None:
    """Odd results are shown to organisers only, also while one of them follows the page."""
    async with ladder.client("olga") as olga, ladder.client("ivan") as ivan:
        assert (await olga.get("/ladder/flags")).status_code == 200
        assert "Odd results" in (await olga.get("/ladder")).text
        assert (await ivan.get("/ladder/flags")).status_code == 403
        assert "Odd results" not in (await ivan.get("/ladder")).text
    assert await closed_with(f"{ladder.url}/ladder/flags", **ladder.headers("olga")) == 0
    assert await closed_with(f"{ladder.url}/ladder/flags", **ladder.headers("ivan")) == 4403


@pytest.mark.level(2)
async def test_each_page_is_also_json(ladder: LadderSite) -> None:
    versions = await ladder.versions("anna")
    async with ladder.client("olga") as client:
        for path in LadderSite.PATHS:
            address, _, query = path.format(**versions).partition("?")
            shown = await client.get(f"{address}.json?{query}")
            assert shown.status_code == 200, path
            assert shown.json(), path
        # No deal is left that could change the leaderboard between the two pages.
        shown = await ladder.until("/ladder", lambda shown: not shown["ladder"]["deals_running"])
        lines = shown["leaderboard"]["lines"]
        home = (await client.get("/index.json")).json()
        named = [
            [(one["version"], one.get("rank")) for one in shown] for shown in (home["leaders"], lines[:5])
        ]
        assert named[0] == named[1]  # ratings grow older between two requests
        assert home["ladder"]["name"] == "City ladder"
        assert {"anna", "bob"} <= {line["version"]["bot"] for line in lines}


async def test_wrong_addresses_say_what_is_wrong(ladder: LadderSite) -> None:
    """A page that can't be shown says why in a line, with the status that means it."""
    for path, status, text in [
        ("/ladder?board=9-odd", 404, "there is no &#39;9-odd&#39; in this ladder"),
        ("/ladder?season=77", 404, "&#39;77&#39; is not in this ladder"),
        ("/ladder?season=x", 400, "season: &#39;x&#39; is not a number"),
        ("/ladder?ranked=2", 400, "ranked: "),
        ("/ladder/bots/nobody", 404, "&#39;nobody&#39; is not in this ladder"),
        ("/ladder/bots/<b>", 400, "bot name"),
        ("/ladder/bots/anna/comparison", 404, "old, new: &#39;anna&#39; has no versions 0 and 0"),
        ("/ladder/deals?kind=odd", 400, "kind: &#39;odd&#39; is not one of"),
        ("/ladder/deals?page=odd", 400, "page_token"),
        ("/ladder/challenges?state=odd", 400, "state: &#39;odd&#39; is not one of"),
    ]:
        async with ladder.client("ivan") as client:
            response = await client.get(path)
        assert response.status_code == status
        assert text in response.text


async def test_pages_lead_to_the_ladder_where_there_is_one(site: Site, ladder: LadderSite) -> None:
    """The header and the lobby link to the ladder; without one its address says that there is none."""
    async with ladder.client("ivan") as client:
        lobby = (await client.get("/")).text
        assert lobby.count('href="/ladder"') == 2
        assert "City ladder" in lobby
        assert (await client.get("/nothing")).text.count('href="/ladder"') == 1
    assert 'href="/ladder"' not in (await site.client.get("/")).text
    missing = await site.client.get("/ladder")
    assert missing.status_code == 404
    assert "this server keeps no ladder" in missing.text
