"""A replay as one file: what people do with it, without a server and without a network."""

import base64
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.web.table import check_layout

from happycity import Config, Deal, Incident, IncidentKind, Mode
from happycity.records.playback import Playback
from happycity.records.random_games import record_random_game
from happycity.records.record import Json, dumps, incident_json, loads
from happycity_viewer.languages import language
from happycity_viewer.plies import playback_json
from happycity_viewer.replay import replay_page

pytestmark = pytest.mark.asyncio(loop_scope="session")

BOTS = ("ann", "bob", "cem")
STRIKES = (12, 40)
LONG_THINK = 25


OFF_SCREEN = """shown => shown.filter((one) => {
  const box = one.getBoundingClientRect();
  const isIn = box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth;
  return !box.height || !isIn;
}).map((one) => one.outerHTML.slice(0, 99))"""


CUT = """names => names
  .filter((one) => getComputedStyle(one).position === "static" && one.scrollWidth > one.clientWidth)
  .map((one) => one.textContent)"""


def record_with_events() -> Json:
    record = record_random_game(Deal.shuffle(Config(players=3, mode=Mode.EXPERT), seed=8), random.Random(8))
    moves = record["moves"]
    think_us = [2000] * len(moves)
    think_us[LONG_THINK - 1] = 90_000
    record["clock"] = {"think_us": think_us, "round_trip_us": [100] * 3}
    record["incidents"] = [
        incident_json(Incident(decision, moves[decision - 1]["seat"], IncidentKind.TIMEOUT, "late by 2 s"))
        for decision in STRIKES
    ]
    return record


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record = record_with_events()
    path = tmp_path_factory.mktemp("replay") / "game.html"
    playback = Playback.of_record(record, bots=BOTS, match_id=7)
    path.write_text(replay_page(playback_json(playback), dumps({**record, "bots": list(BOTS)})))
    return path


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """Yield a tab without a network; errors in its console, and requests of any kind, fail the test."""
    async with await browser.new_context(offline=True) as context:
        tab = await context.new_page()
        problems: list[str] = []
        requests: list[str] = []
        tab.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        yield tab
        assert not problems
        assert {url.partition(":")[0] for url in requests} <= {"file", "data"}
        assert len({url.partition("?")[0] for url in requests if url.startswith("file:")}) == 1


async def position(page: Page) -> int:
    return int(await page.locator("#board").get_attribute("data-ply") or -1)


async def test_file_opens_at_its_end_and_at_any_position(page: Page, replay: Path) -> None:
    """Without a position the end is shown with the places; an address may name a position and a seat."""
    await page.goto(replay.as_uri())
    assert await position(page) == int(await page.locator("#slider").get_attribute("max") or 0)
    await expect(page.locator(".final").first).to_contain_text("place")
    await page.goto(f"{replay.as_uri()}?ply=30&seat=2")
    assert await position(page) == 30
    assert await page.locator(".seat h3").all_text_contents() == ["2 bob", "3 cem", "1 ann"]


async def test_strikes_and_long_thinks_are_found(page: Page, replay: Path) -> None:
    await page.goto(f"{replay.as_uri()}?ply=0")
    strike = page.get_by_role("link", name=re.compile("Next strike or forfeit"))
    for expected in (*STRIKES, STRIKES[0]):
        await strike.click()
        assert await position(page) == expected
    await expect(page.locator("#moves .move").nth(STRIKES[0]).locator(".incident")).to_contain_text(
        "late by 2 s"
    )
    await page.get_by_role("button", name="Next long think").click()
    assert await position(page) == LONG_THINK
    await page.locator("body").press("i")
    assert await position(page) == STRIKES[1]
    await page.locator("body").press("t")
    assert await position(page) == LONG_THINK


async def test_letters_can_be_switched_off(page: Page, replay: Path) -> None:
    """Space plays and pauses; once letters are no keys, they and space do nothing, and arrows still step."""
    await page.goto(f"{replay.as_uri()}?ply=0")
    body = page.locator("body")
    await body.press(" ")
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    await body.press(" ")
    await expect(page.get_by_role("button", name="Play")).to_be_visible()
    await page.get_by_label("Space and letters are keys").uncheck()
    before = await position(page)
    await body.press("i")
    assert await position(page) == before
    await body.press("ArrowRight")
    assert await position(page) == before + 1
    await page.reload()
    await expect(page.get_by_label("Space and letters are keys")).not_to_be_checked()


async def test_record_is_in_the_file(page: Page, replay: Path) -> None:
    await page.goto(replay.as_uri())
    link = page.get_by_role("link", name="Download the record")
    assert await link.get_attribute("download") == "game-0000007.json"
    data = (await link.get_attribute("href") or "").partition("base64,")[2]
    assert loads(base64.b64decode(data).decode())["moves"] == record_with_events()["moves"]


async def test_embedded_game_shows_the_board_alone(page: Page, replay: Path) -> None:
    """With embed=1 there are the board and its controls, also after a step."""
    await page.goto(f"{replay.as_uri()}?ply=5&embed=1")
    await page.get_by_role("link", name="Next", exact=True).click()
    assert page.url.endswith("?ply=6&embed=1")
    await expect(page.locator("#board")).to_be_visible()
    await expect(page.locator("#moves")).to_be_hidden()
    await expect(page.locator(".keep")).to_be_hidden()


@pytest.mark.parametrize(
    ("width", "height", "code"),
    [
        (375, 667, "en"),
        pytest.param(820, 1180, "uk", marks=pytest.mark.level(2)),
        pytest.param(1440, 900, "pl", marks=pytest.mark.level(2)),
        pytest.param(1920, 1080, "et", marks=pytest.mark.level(2)),
    ],
)
async def test_cities_cards_and_news_are_on_one_screen(
    width: int, height: int, code: str, page: Page, tmp_path: Path
) -> None:
    """With five seats all is in sight at any position and no name is cut; the end says who has won."""
    bots = ("alexander-the-5th", "bob", "cem", "dora", "eve")
    record = record_random_game(Deal.shuffle(Config(players=5, mode=Mode.EXPERT), seed=8), random.Random(8))
    playback = Playback.of_record(record, bots=bots, match_id=7)
    path = tmp_path / "game.html"
    game = playback_json(playback, texts=language(code).texts)
    path.write_text(replay_page(game, dumps({**record, "bots": list(bots)}), language=language(code)))
    await page.set_viewport_size({"width": width, "height": height})
    last = len(playback.steps) - 1
    await page.goto(path.as_uri())
    for ply in (0, last // 2, last - 1):
        await page.locator("#slider").fill(str(ply))
        assert await page.locator(".now, .market, .seat, .city .slot").evaluate_all(OFF_SCREEN) == []
        assert await page.locator(".city .name").evaluate_all(CUT) == []
    await expect(page.locator("#result")).to_be_hidden()
    await page.keyboard.press("End")
    best = min(playback.results, key=lambda seat: seat.place)
    result = page.locator("#result")
    await expect(result.get_by_role("heading")).to_contain_text(bots[playback.results.index(best)])
    sums = [f"{seat.inhabitants} " for seat in sorted(playback.results, key=lambda seat: seat.place)]
    await expect(result.locator("summary")).to_contain_text(sums)
    await result.locator("summary").first.click()
    await expect(result.locator("details[open] li").first).to_contain_text(f"{best.inhabitants}")


@pytest.mark.parametrize("forced", [False, True], ids=["colours", "forced-colours"])
async def test_file_is_accessible_on_a_phone(forced: bool, page: Page, replay: Path) -> None:  # noqa: FBT001
    """On a phone nothing overflows, and axe finds nothing, with the system's colours too."""
    await page.emulate_media(forced_colors="active" if forced else "none", reduced_motion="reduce")
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.goto(replay.as_uri())
    await check_layout(page)
