"""A server with pages, on which bots have played, and a browser that looks at them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect
from tests.browser import running_chromium
from tests.server.api.tournaments import config as tournament_config
from tests.server.conftest import RandomMove, playing
from tests.server.harness import ended_match, matches_at, met, serving, terms, tournaments_at
from tests.waiting import LIMIT, MILLISECONDS
from tests.web.ladders import LadderSite, ladder_site
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from happycity import Config, Mode
from happycity.wire.messages import config_message
from happycity_client import BotFactory
from happycity_server.app import Clocks
from happycity_web import background, guard, serve

expect.set_options(timeout=MILLISECONDS)

HOUSE = "greedy,dummy=random"
"""The bots of `arena`."""


@dataclass(frozen=True)
class Site:
    url: str
    address: str
    channel: grpc.aio.Channel
    client: httpx.AsyncClient
    """Asks for its pages."""

    async def finished_match(self, *bots: str, mode: Mode = Mode.FAMILY) -> int:
        """Play a match to its end; return its id."""
        config = config_message(Config(players=len(bots), mode=mode))
        created = await matches_at(self.channel).CreateMatch(**terms(*bots, config=config, seed=3))
        await ended_match(matches_at(self.channel), created.match_id)
        return int(created.match_id)

    async def create_tournament(self, *bots: str, rounds: int) -> int:
        config = tournament_config(*bots, players=len(bots), rounds=rounds)
        return int((await tournaments_at(self.channel).CreateTournament(config=config)).tournament_id)

    async def finished_tournament(self, *bots: str, rounds: int) -> int:
        """Play a tournament to its end; return its id."""
        tournament_id = await self.create_tournament(*bots, rounds=rounds)
        async for _ in tournaments_at(self.channel).WatchTournament(tournament_id=tournament_id):
            pass
        return tournament_id


@asynccontextmanager
async def site_in(
    folder: Path, *, clocks: Clocks | None = None, bot: BotFactory = RandomMove
) -> AsyncIterator[Site]:
    """Yield a server that is open to everybody, where three bots wait for games that tests set up."""
    async with serving(folder, clocks=clocks, web="127.0.0.1:0") as (server, channel):
        assert server.web is not None
        async with (
            httpx.AsyncClient(timeout=LIMIT, base_url=server.web) as client,
            playing(server.address, "anna", "bob", "carl", bot=bot, games=0),
        ):
            yield Site(server.web, server.address, channel, client)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with site_in(tmp_path_factory.mktemp("site")) as shared:
        yield shared


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def arena(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Yield the address of the pages of a server with two bots of its own."""
    folder = tmp_path_factory.mktemp("arena")
    async with serving(folder, web="127.0.0.1:0", house=HOUSE, practice_matches=100) as (server, channel):
        assert server.web is not None
        await met(channel, "greedy", "dummy")
        yield server.web


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def family_match(site: Site) -> int:
    return await site.finished_match("anna", "bob", "carl")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def expert_match(site: Site) -> int:
    """Return the id of a finished expert game, in which a bot fills two seats."""
    return await site.finished_match("anna", "bob", "carl", "anna", mode=Mode.EXPERT)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tournament(site: Site) -> int:
    return await site.finished_tournament("anna", "bob", "carl", rounds=4)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ladder(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LadderSite]:
    """Yield a server with a ladder that has one season behind it."""
    async with ladder_site(tmp_path_factory.mktemp("ladder")) as site:
        yield site


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Yield a Chromium; without one, the tests that need it are skipped."""
    async with running_chromium() as chromium:
        yield chromium


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser, site: Site) -> AsyncIterator[BrowserContext]:
    async with await browser.new_context(base_url=site.url) as fresh:
        yield fresh


@pytest_asyncio.fixture(loop_scope="session")
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """Yield an empty tab; errors in its console fail the test."""
    tab = await context.new_page()
    problems: list[str] = []
    tab.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: problems.append(str(error)))
    yield tab
    assert not problems


@pytest.fixture(autouse=True)
def analyses(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep analyses in a folder of the tests."""
    monkeypatch.setattr(background, "CACHE", tmp_path_factory.getbasetemp() / "analyses")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test wait for a refusal that is late so that refusals cost little."""
    monkeypatch.setattr(guard, "REFUSAL_SECONDS", 0.0)


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[int]:
    """Return of each socket that has ended how many frames were worked on."""
    monkeypatch.setattr(serve, "FRAMES_PER_SECOND", 1e-9)
    counted: dict[WebSocketsSansIOProtocol, int] = {}
    numbers: asyncio.Queue[int] = asyncio.Queue()
    handle, lost = WebSocketsSansIOProtocol.handle_events, WebSocketsSansIOProtocol.connection_lost

    def count(protocol: WebSocketsSansIOProtocol) -> None:
        counted[protocol] = counted.get(protocol, 0) + len(protocol.conn.events)
        handle(protocol)

    def end(protocol: WebSocketsSansIOProtocol, error: Exception | None) -> None:
        numbers.put_nowait(counted.pop(protocol, 0))
        lost(protocol, error)

    monkeypatch.setattr(WebSocketsSansIOProtocol, "handle_events", count)
    monkeypatch.setattr(WebSocketsSansIOProtocol, "connection_lost", end)
    return numbers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for a server of one test."""
    return tmp_path
