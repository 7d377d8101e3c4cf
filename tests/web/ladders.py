"""A server with tokens that keeps a ladder, on which bots have played for a season."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import httpx
from playwright.async_api import Browser, BrowserContext
from tests.server.conftest import RandomMove, playing
from tests.server.harness import Service, bearer, issued_token, serving
from tests.waiting import LIMIT
from tests.web.sockets import socket_of

from happycity_client import BotFactory, BotInfo
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_web.guard import COOKIE

_CONFIG = """\
name = "City ladder"
anchor = "greedy"
deals_per_bot = 1
time = { decision_seconds = 600.0 }
boards = [{ players = 2, weight = 4 }, { players = 3, mode = "expert" }]
"""


@dataclass(frozen=True)
class LadderSite:
    url: str
    address: str
    tokens: dict[str, str]
    """Of the organiser olga, the observer ivan, and the bots anna and bob, by their names."""

    PATHS: ClassVar[tuple[str, ...]] = (
        "/ladder",
        "/ladder?season=1&board=3-expert",
        "/ladder/bots/anna",
        "/bots/anna",
        "/ladder/bots/anna/comparison?old={old}&new={new}",
        "/ladder/deals?season=1",
        "/ladder/challenges",
        "/ladder/seasons",
        "/ladder/flags",
    )
    """All kinds of its pages, and the page of a bot that links to them."""

    async def versions(self, bot: str) -> dict[str, int]:
        async with self.client("ivan") as client:
            shown = (await client.get(f"/ladder/bots/{bot}.json")).json()
        new, old = (version["version_id"] for version in shown["bot"]["versions"])
        return {"old": old, "new": new}

    def client(self, who: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(timeout=LIMIT, base_url=self.url, headers=self.headers(who))

    def headers(self, who: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[who]}"}

    async def until(self, path: str, condition: Callable[[Any], object]) -> Any:
        """Wait until a page, as JSON, meets a condition, and return it.

        It is read again whenever the leaderboard has changed.
        """
        async with (
            self.client("ivan") as client,
            socket_of(f"{self.url}/ladder", additional_headers=self.headers("ivan")) as socket,
        ):
            async for _ in socket:  # the first message comes at once
                shown = (await client.get(f"{path}.json")).json()
                if condition(shown):
                    return shown
        raise AssertionError(shown)

    @asynccontextmanager
    async def connected(
        self, *bots: str, version: str, factory: BotFactory = RandomMove
    ) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for bot in bots:
                info = BotInfo(version=version, author=f"author of {bot}")
                own = {"games": 0, "access": Access(token=self.tokens[bot]), "info": info}
                await stack.enter_async_context(playing(self.address, bot, bot=factory, **own))
            yield

    @asynccontextmanager
    async def browsing(self, browser: Browser, who: str) -> AsyncIterator[BrowserContext]:
        """Give a fresh profile of a browser that has somebody's token."""
        async with await browser.new_context(base_url=self.url) as context:
            port = self.url.rpartition(":")[2]
            await context.add_cookies(
                [{"name": f"{COOKIE}-{port}", "value": self.tokens[who], "url": self.url}]
            )
            yield context


@asynccontextmanager
async def ladder_site(folder: Path) -> AsyncIterator[LadderSite]:
    config, tokens = folder / "ladder.toml", folder / "tokens.json"
    config.write_text(_CONFIG, encoding="utf-8")
    roles = {"olga": Role.ORGANISER, "ivan": Role.OBSERVER, "anna": Role.BOT, "bob": Role.BOT}
    issued = {name: issued_token(tokens, role, name) for name, role in roles.items()}
    async with serving(folder, web="127.0.0.1:0", tokens=tokens, ladder=config, house="greedy") as (
        server,
        channel,
    ):
        assert server.web is not None
        site = LadderSite(server.web, server.address, issued)
        for version in ("1.0", "1.1"):
            async with site.connected("anna", "bob", version=version):
                await site.until("/ladder/bots/anna", partial(_has_history, version))
        # Nobody is left who could begin another deal, so the season ends with what is seen now.
        await site.until("/ladder", lambda shown: not shown["ladder"]["deals_running"])
        ladder = Service(channel, "happycity.ladder.v1beta1.LadderService")
        await ladder.CloseSeason(bearer(issued["olga"]), season_id=1)
        yield site


def _has_history(version: str, shown: Any) -> bool:
    if "bot" not in shown:
        return False  # it has not connected yet
    newest = shown["bot"]["versions"][0]
    rated = {point["version_id"] for point in shown["bot"]["history"]}
    return newest["info"]["version"] == version and newest["version_id"] in rated
