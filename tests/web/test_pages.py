"""The first page, tournaments and bots: what they show, and how they stay current."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect
from tests.server.cables import Cable
from tests.server.conftest import playing
from tests.server.harness import connected, matches_at, serving, terms
from tests.web.conftest import Site

from happycity import Move
from happycity.v1 import match_service_pb2 as match_pb
from happycity_client import Bot, Decision
from happycity_runtime.transport import Access
from happycity_tournament.cli.console import ratings_table
from happycity_tournament.client.connection import Connection
from happycity_web.home import by_strength

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_lobby_shows_who_comes_and_goes(page: Page, site: Site) -> None:
    """A bot that connects while the lobby is open appears in it, and one that leaves is shown as gone."""
    await page.goto("/")
    await expect(page.get_by_text("anna").first).to_be_visible()
    emil = await connected(site.channel, "emil")
    line = page.locator(".bot-entry", has_text="emil")
    await expect(line).to_contain_text("waits")
    emil.cancel()
    await expect(line).to_contain_text("disconnected")


async def test_home_follows_a_game_to_its_end(page: Page, site: Site) -> None:
    """A game that is being played is shown small, move by move, and its result in the end."""
    may_decide = asyncio.Event()

    class Waiting(Bot):
        async def choose(self, decision: Decision) -> Move:
            await may_decide.wait()
            return self.rng.choice(decision.moves)

    async with playing(site.address, "fred", bot=Waiting, games=0):
        created = await matches_at(site.channel).CreateMatch(**terms("fred", "anna", seed=3))
        await page.goto("/")
        await expect(page.locator("#best")).to_have_text(f"Match {created.match_id}")
        await expect(page.locator("#h-best")).to_have_text("Best game being played")
        assert await page.locator(".mini-seat .tile:not(.free)").count() == 2  # their markets
        may_decide.set()
        await expect(page.locator("#h-best")).to_have_text("Newest game")
        assert await page.locator(".mini-seat .place").count() == 2
        assert await page.locator(".mini-seat .tile:not(.free)").count() > 2
        best = (await site.client.get("/index.json")).json()["best"]
        assert (best["match"], best["bots"]) == (created.match_id, ["fred", "anna"])
    await expect(page.locator("#h-best")).to_have_text("Newest game")


@pytest.mark.parametrize(
    ("ratings", "order"),
    [({}, [1, 2, 3]), ({"anna": 900.0}, [1, 2, 3]), ({"carl": 900.0, "bob": 100.0}, [3, 2, 1])],
)
async def test_best_game_has_the_highest_ratings(ratings: dict[str, float], order: list[int]) -> None:
    """Bots without a rating count for nothing; of equal games the one that began first is the best."""
    games = [
        match_pb.Match(match_id=3, bots=["carl", "bob"]),
        match_pb.Match(match_id=2, bots=["bob", "bob"]),
    ]
    games.append(match_pb.Match(match_id=1, bots=["anna", "dora"]))
    assert [game.match_id for game in by_strength(games, ratings)] == order


async def test_list_of_tournaments_names_the_first_ones(site: Site, tournament: int) -> None:
    """The newest comes first, each that is over with its bots in the order of the standings."""
    for query, is_listed in {
        "": True,
        "?bot=bob&mode=family": True,
        "?bot=nobody": False,
        "?mode=expert": False,
    }.items():
        shown = (await site.client.get(f"/tournaments.json{query}")).json()
        assert any(one["tournament_id"] == tournament for one in shown["tournaments"]) is is_listed
        assert (str(tournament) in shown["podiums"]) is is_listed
    lines = (await site.client.get(f"/tournaments/{tournament}.json")).json()["standings"]
    podium = (await site.client.get("/tournaments.json")).json()["podiums"][str(tournament)]
    assert [line["bot"] for line in podium] == [line["bot"] for line in lines]
    home = (await site.client.get("/index.json")).json()
    assert str(home["cup"]["tournament_id"]) in home["podiums"]


@pytest.mark.level(2)
async def test_pages_come_back_after_a_restart(context: BrowserContext, folder: Path) -> None:
    """A page that is open while the server restarts says that it is cut off, and comes back by itself."""
    page = await context.new_page()  # the browser writes into its console that nobody listens for a while
    async with serving(folder, web="127.0.0.1:0") as (server, _):
        assert server.web is not None
        await page.goto(server.web)
        await page.evaluate("window.isTheSamePage = true")
        await expect(page.locator("#link-state")).to_be_hidden()
    await expect(page.locator("#link-state")).to_contain_text("Connection lost")
    async with serving(folder, web=server.web.removeprefix("http://")) as (_, channel):
        emil = await connected(channel, "emil")
        await expect(page.locator(".bot-entry", has_text="emil")).to_contain_text("waits")
        await expect(page.locator("#link-state")).to_be_hidden()
        assert await page.evaluate("window.isTheSamePage")
        emil.cancel()


@pytest.mark.level(2)
async def test_running_tournament_is_followed_to_its_end(context: BrowserContext, site: Site) -> None:
    """A page whose connection is cut twice meanwhile has the final standings in the end, by itself."""
    page = await context.new_page()  # it writes into the console that its connection was cut
    may_decide = asyncio.Event()

    class Waiting(Bot):
        async def choose(self, decision: Decision) -> Move:
            await may_decide.wait()
            return self.rng.choice(decision.moves)

    async with (
        Cable.to(site.url.removeprefix("http://")) as cable,
        playing(site.address, "fred", bot=Waiting, games=0),
    ):
        tournament_id = await site.create_tournament("anna", "bob", "fred", rounds=4)
        await page.goto(f"http://{cable.address}/tournaments/{tournament_id}")
        await page.evaluate("window.isTheSamePage = true")
        await expect(page.locator("h1")).to_contain_text("running")
        for _ in range(2):
            await expect(page.locator("#link-state")).to_be_hidden()
            cable.cut()
            await expect(page.locator("#link-state")).to_contain_text("Connection lost")
        may_decide.set()
        await expect(page.locator("h1")).to_contain_text("finished")
        await expect(page.locator(".standings tbody td:nth-of-type(6)")).to_have_text(["12"] * 3)
        assert await page.evaluate("window.isTheSamePage")


async def test_tournament_shows_standings_and_games(page: Page, site: Site, tournament: int) -> None:
    await page.goto(f"/tournaments/{tournament}")
    await expect(page.locator("h1")).to_contain_text("finished")
    names = await page.locator(".standings tbody th").all_text_contents()
    assert sorted(names) == ["anna", "bob", "carl"]
    await page.locator("select[name=bot]").select_option("bob")
    await page.get_by_role("button", name="Show").click()
    assert await page.locator(".games .entry").count() == 12
    await page.get_by_label("Ending").select_option("timeout")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_text("No such game.")).to_be_visible()


async def test_standings_are_those_of_the_terminal(page: Page, site: Site, tournament: int) -> None:
    """A tournament's page and a bot's page have the columns of `tournament show`, with the same numbers."""
    connection = Connection(site.channel, address=site.address, access=Access())
    snapshot = await connection.standings(tournament)
    assert snapshot.final is not None
    columns = ratings_table(snapshot.final, snapshot).columns
    shown = [[str(cell) for cell in column.cells] for column in columns]
    await page.goto(f"/tournaments/{tournament}")
    table = page.locator(".standings tbody")
    for number, cells in zip((1, 2, 3, 5, 6, 7, 8, 9), shown[:1] + shown[2:], strict=True):
        on_page = await table.locator(f"td:nth-of-type({number})").all_text_contents()
        assert [text.replace(",", "") for text in on_page] == cells
    assert await table.locator("th").all_text_contents() == shown[1]
    await page.goto(f"/tournaments/{tournament}/bots/{shown[1][0]}")
    await expect(page.locator(".facts")).to_contain_text(f"{shown[4][0]} above {shown[1][1]}")


@pytest.mark.level(2)
async def test_each_page_is_also_json(site: Site, tournament: int, family_match: int) -> None:
    lobby = (await site.client.get("/index.json")).json()
    assert {"anna", "bob", "carl"} <= {bot["name"] for bot in lobby["bots"]}
    shown = (await site.client.get(f"/tournaments/{tournament}.json")).json()
    assert shown["tournament"]["progress"]["games_finished"] == 12
    assert [line["rank"] for line in shown["standings"]] == sorted(
        line["rank"] for line in shown["standings"]
    )
    assert [len(row) for row in shown["pairs"]] == [3, 3, 3]
    assert [(span["first"], span["last"]) for span in shown["rounds"]] == [(n, n) for n in range(1, 5)]
    bot = (await site.client.get(f"/tournaments/{tournament}/bots/anna.json")).json()
    assert bot["line"]["bot"] == "anna"
    assert {meeting["opponent"] for meeting in bot["meetings"]} == {"bob", "carl"}
    assert bot["ratings"][-1] == [12, pytest.approx(bot["line"]["rating"]["elo"])]
    games = (await site.client.get("/matches.json?seats=3&bot=anna")).json()["games"]
    assert {len(game["bots"]) for game in games} == {3}
    assert not (await site.client.get("/matches.json?mode=expert&seats=3")).json()["games"]
    text = (await site.client.get("/matches?bot=anna&mode=family&seats=3")).text
    shown = re.findall(r'class="place place-(\d)"', text)
    places = [shown[first : first + 3] for first in range(0, len(shown), 3)]
    assert places == [sorted(game) for game in places] != []
    match = (await site.client.get(f"/matches/{family_match}.json")).json()
    assert match["format"] == "happycity-plies/1"
    assert match["bots"] == ["anna", "bob", "carl"]
    assert [ply["ply"] for ply in match["plies"]] == list(range(len(match["plies"])))


async def test_wrong_addresses_say_what_is_wrong(site: Site, tournament: int, family_match: int) -> None:
    """A page that can't be shown says why in a line, with the status that means it."""
    for path, status, text in [
        ("/matches/999999", 404, "there is no match 999999"),
        ("/matches/{match}?ply=9999", 400, "ply: &#39;9999&#39; is not a number from 0 to"),
        ("/matches/{match}?seat=0", 400, "seat: &#39;0&#39; is not a number from 1 to 3"),
        ("/tournaments/999999", 404, "there is no tournament 999999"),
        ("/tournaments/{tournament}/bots/nobody", 404, "has no bot nobody"),
        ("/tournaments/{tournament}/bots/<b>", 400, "bot name"),
        ("/tournaments/{tournament}?ending=odd", 400, "ending: &#39;odd&#39; is not one of"),
        ("/matches?only=lost", 400, "only: lost games are those of a bot"),
        ("/tournaments?page=odd", 400, "page_token"),
        ("/matches?mode=odd", 400, "mode: &#39;odd&#39; is not one of family, expert"),
        ("/matches?seats=9", 400, "seats: &#39;9&#39; is not one of 2, 3, 4, 5"),
        ("/nothing", 404, "There is no such page"),
    ]:
        response = await site.client.get(path.format(match=family_match, tournament=tournament))
        assert response.status_code == status
        assert text in response.text
