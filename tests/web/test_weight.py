"""What pages weigh: all that a browser with an empty cache gets, with the headers, as it is sent."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Browser, Page
from tests.server.conftest import RandomMove
from tests.web.conftest import Site, site_in
from tests.web.table import next_decision, sit_down

from happycity import Mode, Move
from happycity_client import Decision
from happycity_server.app import Clocks
from happycity_server.play.clock import FairClock

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.level(3)]

SHIFTS = """() => new Promise((resolve) => {
  const moved = (one) => one.sources.map(({ node }) => node?.outerHTML?.slice(0, 80) ?? "a text");
  new PerformanceObserver((list) => resolve(list.getEntries().flatMap(moved)))
    .observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => resolve([])));
})"""
"""What was drawn and has moved by itself."""
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 100_000}
"""A phone's connection, in milliseconds and bytes per second: pages are drawn before their scripts run."""


class Loads(NamedTuple):
    """A tab without a cache, and what it has loaded."""

    page: Page
    sizes: dict[str, int]
    """Bytes of each answer, by its address."""

    def check(self, *, most: int, requests: int) -> None:
        """Check the bytes of all answers, and how many they are."""
        largest = sorted(self.sizes.items(), key=lambda one: -one[1])
        total = sum(self.sizes.values())
        assert (total <= most, len(largest) <= requests) == (True, True), (total, largest)


@asynccontextmanager
async def loading(browser: Browser, **options: Any) -> AsyncIterator[Loads]:
    """Yield an empty tab whose answers are weighed."""
    async with await browser.new_context(**options) as context:
        loads = Loads(await context.new_page(), {})
        addresses: dict[str, str] = {}
        network = await context.new_cdp_session(loads.page)

        def answered(event: dict[str, Any]) -> None:
            addresses[event["requestId"]] = event["response"]["url"]

        def finished(event: dict[str, Any]) -> None:
            loads.sizes[addresses[event["requestId"]]] = int(event["encodedDataLength"])

        network.on("Network.responseReceived", answered)
        network.on("Network.loadingFinished", finished)
        await network.send("Network.enable")
        yield loads


async def test_home_is_light(browser: Browser, tmp_path: Path) -> None:
    """With a game of many cards, and lists. On a server of its own: all tests add to the lists of `site`."""
    async with site_in(tmp_path) as site, loading(browser) as loads:
        for mode in [Mode.FAMILY] * 4 + [Mode.EXPERT]:
            await site.finished_match("anna", "bob", "carl", "anna", mode=mode)
        await site.finished_tournament("anna", "bob", "carl", rounds=1)
        await loads.page.goto(site.url, wait_until="networkidle")
        loads.check(most=30_000, requests=9)


@pytest.mark.parametrize(
    ("players", "mode", "seconds", "most"),
    [
        (3, Mode.FAMILY, 0.0001, 40_500),
        (4, Mode.EXPERT, 0.0001, 43_500),
        (5, Mode.EXPERT, 0.0001, 45_000),
        (5, Mode.EXPERT, 0.03, 45_000),
    ],
)
async def test_match_is_light(
    players: int,
    mode: Mode,
    seconds: float,
    most: int,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A game's page has at most `most` bytes, also with the think times of bots that take some `seconds`."""
    now, times = [1000.0], random.Random(1)
    monkeypatch.setattr(FairClock, "tick", lambda clock: 0.0)  # else thinking looks like a late server

    class Thinking(RandomMove):
        def choose(self, decision: Decision) -> Move:
            now[0] += times.uniform(0.5, 1.5) * seconds
            return super().choose(decision)

    clocks = Clocks(steady=lambda: now[0], wall=lambda: 1.8e9 + now[0])
    async with site_in(tmp_path, clocks=clocks, bot=Thinking) as site, loading(browser) as loads:
        match = await site.finished_match(*["anna", "bob", "carl", "anna", "bob"][:players], mode=mode)
        await loads.page.goto(f"{site.url}/matches/{match}?ply=0", wait_until="networkidle")
        loads.check(most=most, requests=8)


@pytest.mark.parametrize("mode", ["family", "expert"])
async def test_table_is_light(mode: str, browser: Browser, arena: str) -> None:
    """With as many others as can be, and all cards that may come."""
    async with loading(browser) as loads:
        await sit_down(loads.page, "me", "greedy", "dummy", "greedy", "dummy", mode=mode, at=arena)
        await next_decision(loads.page, None)
        address, seated = loads.page.url, await loads.page.context.storage_state()
    async with loading(browser, storage_state=seated) as loads:
        await loads.page.goto(address, wait_until="networkidle")
        await next_decision(loads.page, None)
        loads.check(most=60_000, requests=14)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1440, 900)])
async def test_nothing_moves_while_a_match_loads(
    width: int, height: int, browser: Browser, site: Site, family_match: int
) -> None:
    """Scripts change nothing of what is drawn before they run."""
    async with loading(browser, viewport={"width": width, "height": height}) as loads:
        network = await loads.page.context.new_cdp_session(loads.page)
        await network.send("Network.emulateNetworkConditions", SLOW)
        for path in (f"/matches/{family_match}", f"/matches/{family_match}?ply=9"):
            await loads.page.goto(site.url + path, wait_until="networkidle")
            assert await loads.page.evaluate(SHIFTS) == []
