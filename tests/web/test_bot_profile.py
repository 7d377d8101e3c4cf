"""The page of a bot over all its games: what is counted, from whose records, and how it is shown."""

import random

import pytest
from playwright.async_api import Page, expect
from tests.web.conftest import Site

from happycity import CardKind, Config, Deal, Mode
from happycity.records.random_games import record_random_game
from happycity.records.record import dumps
from happycity.records.replay import replay
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.messages import config_message
from happycity_web.bot_profile import ROUNDS, bot_profile_of
from happycity_web.purchases import purchases_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


def game(number: int, *places: tuple[str, int], tournament_id: int | None = None) -> match_pb.Match:
    """Return a finished game of bots with their places by seat."""
    finished = match_pb2.ENDING_FINISHED
    seats = [match_pb2.SeatResult(place=place, rank=place, ending=finished) for _, place in places]
    config = config_message(Config(players=len(places)))
    bots = [bot for bot, _ in places]
    outcome = match_pb2.MatchOutcome(result=match_pb2.MatchResult(seats=seats))
    return match_pb.Match(
        match_id=number, config=config, bots=bots, outcome=outcome, tournament_id=tournament_id
    )


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("seed", range(3))
async def test_purchases_fill_the_cities(mode: Mode, seed: int) -> None:
    """All cards of the cities at the end were bought, but for the markets; rounds rise."""
    record = record_random_game(Deal.shuffle(Config(players=4, mode=mode), seed=seed), random.Random(seed))
    purchases, view = purchases_of(dumps(record)), replay(record).view()
    for seat, city in enumerate(view.cities):
        built = {card.id for card in city if card.kind is not CardKind.MARKET}
        assert built <= {card for own, card, _ in purchases if own == seat}
    rounds = [number for *_, number in purchases]
    assert rounds == sorted(rounds)
    assert 1 <= rounds[0] <= rounds[-1] <= view.round


async def test_figures_of_cards_and_opponents() -> None:
    """A card counts once for a seat, in the round in which it was bought first; forfeited seats don't."""
    games = [
        game(3, ("anna", 1), ("bob", 2), tournament_id=7),
        game(2, ("bob", 1), ("anna", 2)),
        game(1, ("anna", 2), ("carl", 1)),
    ]
    games[2].outcome.result.seats[0].ending = match_pb2.ENDING_TIMEOUT
    bought = {
        3: [(0, "house", 2), (0, "house", 5), (1, "bank", 1)],
        2: [(1, "house", 4), (0, "bank", 1), (1, "school", 12)],
        1: [(0, "school", 1), (1, "house", 1)],
    }
    shown = bot_profile_of("anna", games, bought)
    figures = {entry.card: entry for entry in shown["card_figures"]}
    assert set(figures) == {"house", "school"}
    assert figures["house"][1:] == (2, 1, 1.0, pytest.approx(1 / 3), [(1, 1), (1, 0), (0, 0), (0, 0)])
    assert figures["school"].rounds == [(0, 0), (0, 0), (0, 0), (1, 0)]
    assert len(figures["school"].rounds) == len(ROUNDS)
    assert shown["favourites"] == ["house", "school"]
    assert (shown["results"].games, shown["results"].firsts) == (3, 1)
    assert {number: own.games for number, own in shown["competitions"].items()} == {7: 1, 0: 2}
    met = [(meeting.opponent, meeting.games, meeting.score) for meeting in shown["meetings"]]
    assert met == [("bob", 2, 0.5), ("carl", 1, 0.0)]


@pytest.mark.level(2)
async def test_page_shows_a_bot_over_all_its_games(page: Page, site: Site, tournament: int) -> None:
    """It comes by itself when the records are read, and its numbers are those of the lists."""
    await page.goto("/bots/anna")
    await expect(page.locator("#h-cards")).to_be_visible()
    assert await page.locator(".card-figures tbody tr").count() > 10
    shown = (await site.client.get("/bots/anna.json")).json()
    assert shown["results"]["games"] >= shown["counted"] >= 12  # in games of other tests it has two seats
    assert shown["results"]["games"] == sum(own["games"] for own in shown["competitions"].values())
    assert shown["competitions"][str(tournament)]["games"] == 12
    assert {"bob", "carl"} <= {meeting["opponent"] for meeting in shown["meetings"]}
    assert (
        shown["info"]
        == (await site.client.get(f"/tournaments/{tournament}/bots/anna.json")).json()["info"]["info"]
    )


async def test_lists_draw_the_cities_of_games(page: Page, site: Site, tournament: int) -> None:
    """As a square for each card that was bought, once the records are read."""
    await page.goto("/matches?bot=anna&seats=3")
    entry = page.locator(".entry", has=page.locator(".city-mini")).first
    await expect(entry).to_be_visible()
    number = (await entry.locator("a.entry-name").get_attribute("href") or "").rpartition("/")[2]
    record = await site.client.get(f"/matches/{number}/record.json")
    bought = purchases_of(dumps(record.json()))
    assert await entry.locator(".city-mini i").count() == len(bought)
    first = await entry.locator(".city-mini").first.locator("i").count()
    assert first in {sum(seat == own for seat, *_ in bought) for own in range(3)}
