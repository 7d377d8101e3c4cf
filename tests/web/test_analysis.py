"""What moves cost, in the viewer: the graph, the costliest moves as questions, and when there is none."""

import asyncio
import re
from functools import partial
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.web.conftest import Site
from tests.web.table import check_layout

from happycity_server.errors import ApiError
from happycity_web import background, matches, watch
from happycity_web.background import ANALYSES, MOST_OPEN, analysis_of
from happycity_web.cache import PageCache

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.level(2)
async def test_costliest_moves_are_questions(page: Page, family_match: int) -> None:
    """The graph and the questions come into the page on request; a link shows the position of one."""
    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    await page.set_viewport_size({"width": 320, "height": 700})
    await page.goto(f"/matches/{family_match}?seat=2")
    await page.get_by_role("link", name="What the moves cost").click()
    section = page.locator("#analysis")
    await expect(section.locator("polyline")).to_have_count(3)
    questions = section.locator(".questions > li")
    await expect(questions).to_have_count(3)
    await expect(section.locator("circle")).to_have_count(3)
    first = questions.first
    await expect(first.get_by_text("chosen in the game")).not_to_be_visible()
    moves = first.locator(".tries details")
    for number in range(await moves.count()):
        await moves.nth(number).locator("summary").click()
    assert len(await first.get_by_text("the best move", exact=True).all()) == 1
    assert len(await first.get_by_text("chosen in the game").all()) == 1
    await first.get_by_text("Show the best move").click()
    await expect(first.locator(".best")).to_contain_text("The chosen move costs")
    await check_layout(page)
    await page.get_by_role("button", name="Try again on the board").click()
    asking, board = page.locator("#asking"), page.locator("#board")
    await expect(asking.get_by_role("heading")).to_contain_text("1/3")
    answers = page.locator(".verdict")
    assert await answers.count() == await moves.count()
    await expect(page.get_by_text("yours", exact=True)).to_have_count(0)
    await answers.first.click()
    await expect(page.get_by_text("yours", exact=True)).to_have_count(1)
    await asking.get_by_role("button", name="Show the best move").click()
    await expect(page.locator(".was-best")).to_have_count(1)
    await expect(asking.locator(".why p")).to_have_count(2)
    await check_layout(page)
    await asking.get_by_role("button", name="Next mistake").click()
    await expect(asking.get_by_role("heading")).to_contain_text("2/3")
    await page.keyboard.press("ArrowRight")
    await expect(asking).to_be_hidden()
    await expect(board.locator(".asked, .verdict")).to_have_count(0)
    await section.get_by_role("link", name="Go to the costliest one").click()
    title = await first.get_by_role("link").text_content() or ""
    decision = int(re.search(r"decision (\d+)", title)[1])  # type: ignore[index]  # it has one
    await expect(page.locator("#board")).to_have_attribute("data-ply", str(decision - 1))
    await section.get_by_role("link", name="3 carl").click()
    await expect(section.locator('[aria-current="true"]')).to_have_text("3 carl")


@pytest.mark.level(2)
async def test_analysis_is_kept_over_a_restart(
    family_match: int, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was analysed once is read again by the next server, and a damaged file is not used."""
    record = (await site.client.get(f"/matches/{family_match}/record.json")).text
    first = await analysis_of(record)

    async def refuse(*_: object, **__: object) -> bytes:
        raise AssertionError("it is analysed a second time")

    monkeypatch.setattr(background, "output_of", refuse)
    assert await analysis_of(record) == first
    for file in background.CACHE.iterdir():
        file.write_text("{")
    with pytest.raises(AssertionError, match="second time"):
        await analysis_of(record)


async def test_page_answers_while_the_game_is_analysed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without scripts nobody waits for it: the page says so, and asks again by itself."""
    release = asyncio.Event()

    async def slow(_: str) -> object:
        await release.wait()
        raise RuntimeError("not this time")

    monkeypatch.setattr(watch, "LOAD_SECONDS", 0.0)
    monkeypatch.setattr(matches, "analysis_of", slow)
    other = await site.finished_match("anna", "bob")
    answer = await site.client.get(f"/matches/{other}/analysis")
    assert 'http-equiv="refresh"' in answer.text
    assert "which takes some seconds" in answer.text
    release.set()


async def test_analysis_needs_no_scripts(browser: Browser, site: Site, family_match: int) -> None:
    async with await browser.new_context(base_url=site.url, java_script_enabled=False) as scriptless:
        page = await scriptless.new_page()
        await page.goto(f"/matches/{family_match}?lang=uk")
        await page.locator("a[data-analysis]").click()
        await expect(page.locator("polyline")).to_have_count(3)
        await page.locator(".expectation circle").first.click()
        await expect(page.locator("#board")).to_have_attribute("data-ply", re.compile(r"\d+"))
    content = (await site.client.get(f"/matches/{family_match}/analysis.json")).json()["analysis"]
    assert {round(sum(places), 2) for places in content["places"]} == {6}


async def test_a_program_whose_output_nobody_wants_leaves_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes more than is read ahead, so the end of its pipe would never be seen."""
    started: list[asyncio.subprocess.Process] = []

    async def start(*command: str, **options: Any) -> asyncio.subprocess.Process:
        program = await create_subprocess_exec(*command, **options)
        assert program.stdout is not None
        await program.stdout.readexactly(1)
        wanted.cancel()
        started.append(program)
        return program

    create_subprocess_exec = asyncio.create_subprocess_exec
    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    wanted = asyncio.create_task(background.output_of("timeit", "while True: print('0' * 10**7)"))
    with pytest.raises(asyncio.CancelledError):
        await wanted
    (program,) = started
    assert program.returncode is not None
    assert program.stdout is not None
    assert program.stdout.at_eof()


async def test_values_of_the_background_are_bounded_and_kept() -> None:
    """One is made at a time, a few may wait, and the next is refused; each is made once."""
    made: list[int] = []
    begun, release = asyncio.Event(), asyncio.Event()

    async def make(number: int) -> object:
        made.append(number)
        begun.set()
        await release.wait()
        return object()

    charged: list[float] = []
    cache = PageCache(charged.append)
    get: Any = partial(cache.get, ANALYSES, calls=20)
    wanted = [asyncio.ensure_future(get(n, partial(make, n))) for n in (*range(MOST_OPEN), 0)]
    await begun.wait()
    assert made == [0]
    with pytest.raises(ApiError, match="8 analyses are open already"):
        await get(99, partial(make, 99))
    release.set()
    results = await asyncio.gather(*wanted)
    assert results[0] is results[-1]
    assert made == list(range(MOST_OPEN))
    assert charged == [20] * MOST_OPEN  # by who asked first
