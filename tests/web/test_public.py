"""Pages for all who come: what the public may open, what links to it show, pictures, and the feed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import grpc
import httpx
import pytest
import pytest_asyncio
from PIL import Image, ImageChops, ImageStat
from playwright.async_api import Browser
from tests.server import harness as h
from tests.server.api.tournaments import config as tournament_config
from tests.server.conftest import playing
from tests.waiting import LIMIT
from tests.web.ladders import LadderSite
from tools.docs.card_art import HEIGHT, WIDTH, art_page

from happycity import CARDS
from happycity.v1 import match_pb2
from happycity.wire.match import duration_message
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_web.guard import COOKIE, SEAT_COOKIE
from happycity_web.picture import ART_FILE, ART_SIZE, ARTS_A_ROW, SIZE, game_picture

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOSS = 25
"""What compressing takes of a picture is at most 15, summed over the colours; two cards differ by 100."""
ATOM = {"": "http://www.w3.org/2005/Atom"}
TITLE = 'Cup <b>1</b> & "friends" ]]>'


@dataclass(frozen=True)
class PublicSite:
    url: str
    channel: grpc.aio.Channel
    client: httpx.AsyncClient
    organiser: h.Metadata
    bot: str
    """The token of the bot anna."""
    finished: int
    """A match."""
    running: int
    """A match whose deal is its own."""
    secret: int
    """A match whose deal may be that of another one."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def public(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PublicSite]:
    """Yield a server that the public may look at, with a match and a tournament that are over."""
    folder = tmp_path_factory.mktemp("public")
    tokens = folder / "tokens.json"
    organiser = h.bearer(h.issued_token(tokens, Role.ORGANISER, "olga"))
    bot = h.issued_token(tokens, Role.BOT, "anna")
    values: dict[str, Any] = {"tokens": tokens, "public": True, "house": "random"}
    async with h.serving(folder, web="127.0.0.1:0", **values) as (server, channel):
        assert server.web is not None
        matches, tournaments = h.matches_at(channel), h.tournaments_at(channel)
        config = tournament_config("anna", "random", rounds=1, title=TITLE)
        async with playing(server.address, "anna", access=Access(token=bot), games=0):
            number = (await tournaments.CreateTournament(organiser, config=config)).tournament_id
            async for _ in tournaments.WatchTournament(organiser, tournament_id=number):
                pass
            finished = await matches.CreateMatch(organiser, **h.terms("anna", "random"))
            await h.ended_match(matches, finished.match_id, organiser)
        # They wait for a bot longer than the tests take on a slow machine.
        waiting = {"time_control": match_pb2.TimeControl(connect_time=duration_message(3600.0))}
        running = await matches.CreateMatch(organiser, **h.terms("random", "absent", **waiting))
        secret = await matches.CreateMatch(organiser, **h.terms("random", "absent", seed=7, **waiting))
        async with httpx.AsyncClient(timeout=LIMIT, base_url=server.web) as client:
            numbers = finished.match_id, running.match_id, secret.match_id
            yield PublicSite(server.web, channel, client, organiser, bot, *numbers)


@pytest.mark.level(2)
async def test_public_opens_what_it_may_see(public: PublicSite) -> None:
    """Pages of results need no token; all others ask for one."""
    for path, status in {
        "/": 200,
        "/matches": 200,
        "/tournaments": 200,
        f"/matches/{public.finished}": 200,
        f"/matches/{public.finished}/record.json": 200,
        f"/matches/{public.running}": 200,
        f"/matches/{public.secret}": 401,
        f"/matches/{public.running}/picture.png": 403,
        "/tournaments/1": 200,
        "/tournaments/1/bots/anna": 200,
        "/bots/anna": 200,
        "/bots/nobody": 404,
        "/bots/@anna": 400,
        "/play": 200,
        "/access": 401,
    }.items():
        answer = await public.client.get(path)
        assert answer.status_code == status, path
        assert ("Your token" in answer.text) is (status == 401), path


@pytest.mark.level(2)
async def test_public_gets_no_statistics_of_deals_in_play(public: PublicSite) -> None:
    """A finished game whose deal another match plays counts for nobody, on the page and as JSON."""
    matches = h.matches_at(public.channel)
    created = await matches.CreateMatch(public.organiser, **h.terms("random", "random", seed=7))
    await h.ended_match(matches, created.match_id, public.organiser)
    headers = dict(public.organiser)
    for own in ({}, headers):
        shown = (await public.client.get("/bots/random.json", headers=own)).json()
        listed = {game["match_id"] for game in shown["games"]}
        assert created.match_id not in listed
        assert shown["counted"] == (shown["results"] or {"games": 0})["games"]
        text = (await public.client.get("/bots/random", headers=own)).text
        assert f'href="/matches/{created.match_id}"' not in text


async def test_cookies_that_are_no_longer_valid_keep_nobody_out(public: PublicSite) -> None:
    """A browser may have kept a token or a seat; what a program shows is refused, so that it is noticed."""
    port = public.url.rpartition(":")[2]
    for kind in (COOKIE, SEAT_COOKIE):
        shown = {"cookie": f"{kind}-{port}=hc_00000000_old"}
        assert (await public.client.get("/", headers=shown)).status_code == 200
    wrong = {"authorization": "Bearer hc_00000000_old"}
    assert (await public.client.get("/", headers=wrong)).status_code == 401


async def test_links_show_title_result_and_picture(public: PublicSite) -> None:
    """Each host by which a page is asked for gets its own addresses, also of a page that is kept rendered."""
    path, port = f"/matches/{public.finished}", public.url.rpartition(":")[2]
    for host, origin in {
        f"127.0.0.1:{port}": public.url,
        f"localhost:{port}": f"http://localhost:{port}",
        "localhost": "https://localhost",  # a proxy that encrypts
    }.items():
        text = (await public.client.get(path, headers={"host": host})).text
        assert f'<meta property="og:url" content="{origin}{path}">' in text
        assert f'<meta property="og:image" content="{origin}{path}/picture.png">' in text
        assert f"{origin}{path}?embed=1&#34;" in text
    assert f'<meta property="og:title" content="Match {public.finished}: anna, random">' in text
    about = text.partition('property="og:description" content="')[2].partition('"')[0]
    assert about.endswith(", family, 2 seats")
    assert {word.rstrip("0123456789") for word in about.split(", ")[:2]} == {"anna ", "random "}
    tournament = (await public.client.get("/tournaments/1")).text
    assert 'og:title" content="Cup &lt;b&gt;1&lt;/b&gt; &amp; &#34;friends&#34; ]]&gt;"' in tournament
    running = (await public.client.get(f"/matches/{public.running}")).text
    assert "og:image" not in running
    assert "iframe" not in running


@pytest.mark.level(2)
async def test_picture_is_drawn_once_and_kept(public: PublicSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of requests draw it once; browsers and proxies keep it."""
    drawn: list[Any] = []

    def draw(game: Any) -> bytes:
        drawn.append(game)
        return game_picture(game)

    monkeypatch.setattr("happycity_web.matches.game_picture", draw)
    path = f"/matches/{public.finished}/picture.png"
    first, *others = await asyncio.gather(*(public.client.get(path) for _ in range(8)))
    assert (first.status_code, first.headers["content-type"]) == (200, "image/png")
    assert {other.content for other in others} == {first.content}
    assert len(drawn) == 1
    assert first.headers["cache-control"] == "public, max-age=31536000, immutable"
    by_bot = await public.client.get(path, headers={"authorization": f"Bearer {public.bot}"})
    assert by_bot.headers["cache-control"].startswith("private, ")
    image = Image.open(BytesIO(first.content))
    assert (image.format, image.size) == ("PNG", SIZE)
    assert len(image.getcolors(1 << 20) or ()) > 20  # there is something on it


@pytest.mark.level(3)
async def test_pictures_have_the_cards_as_they_are(browser: Browser) -> None:
    """The file of the cards' pictures is what Chromium draws of them now."""
    page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    await page.set_content(art_page())
    drawn = Image.open(BytesIO(await page.screenshot())).convert("RGB")
    kept = Image.open(str(files("happycity_web").joinpath(ART_FILE))).convert("RGB")
    assert drawn.size == kept.size
    for number, card in enumerate(CARDS):
        left, top = number % ARTS_A_ROW * ART_SIZE[0], number // ARTS_A_ROW * ART_SIZE[1]
        box = (left, top, left + ART_SIZE[0], top + ART_SIZE[1])
        difference = ImageChops.difference(drawn.crop(box), kept.crop(box))
        assert sum(ImageStat.Stat(difference).mean) < LOSS, f"{card.id}: python -m tools card-art draws it"


async def test_pictures_count_as_costly_calls(folder: Path) -> None:
    """Who asks for the pictures of many games is soon refused."""
    async with h.serving(folder, web="127.0.0.1:0", calls_burst=50, calls_per_second=0.001) as (
        server,
        channel,
    ):
        async with playing(server.address, "anna", games=2):
            for _ in range(2):
                created = await h.matches_at(channel).CreateMatch(**h.terms("anna", "anna"))
                await h.ended_match(h.matches_at(channel), created.match_id)
        async with httpx.AsyncClient(timeout=LIMIT, base_url=server.web or "") as client:
            asked = [(await client.get(f"/matches/{number}/picture.png")).status_code for number in (1, 2, 1)]
        assert asked == [200, 429, 200]


async def test_only_the_view_of_a_game_may_be_framed(public: PublicSite) -> None:
    """Neither a page that asks for a token, nor one that takes it, is shown inside another site."""
    for path, framed in {
        f"/matches/{public.finished}?embed=1": True,
        f"/matches/{public.finished}": False,
        f"/matches/{public.secret}?embed=1": False,
        f"/matches/{public.finished}?embed=1&token={public.bot}": False,
        f"/matches/{public.finished}?embed=1&%74oken={public.bot}": False,
        "/?embed=1": False,
        "/play?embed=1": False,
    }.items():
        headers = (await public.client.get(path)).headers
        assert ("x-frame-options" not in headers) is framed, path
        assert headers["content-security-policy"].endswith("*" if framed else "'none'"), path
    public.client.cookies.clear()


async def test_feed_has_the_newest_results(public: PublicSite) -> None:
    """It is an Atom feed, newest first, of what is over, in English."""
    answer = await public.client.get("/feed.atom", headers={"accept-language": "pl"})
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(answer.content)
    entries = feed.findall("entry", ATOM)
    found = {entry.findtext("id", "", ATOM): entry.findtext("title", "", ATOM) for entry in entries}
    assert found == {f"{public.url}/tournaments/1": TITLE}
    assert feed.findtext("updated", "", ATOM) == entries[0].findtext("updated", "", ATOM) > "2026"
    for element in (feed, *entries):
        assert {"id", "title", "updated", "link"} <= {child.tag.partition("}")[2] for child in element}
    assert feed.attrib["{http://www.w3.org/XML/1998/namespace}lang"] == "en"
    assert entries[0].findtext("summary", "", ATOM) == "2 games"


async def test_feed_is_not_sent_again_to_who_has_it(public: PublicSite) -> None:
    """A reader shows the mark of what it has; the same page as JSON has one too."""
    for path in ("/feed.atom", "/tournaments.json"):
        first = await public.client.get(path)
        mark = first.headers["etag"]
        for shown in (mark, f'W/"other", {mark}', mark.removeprefix("W/")):
            again = await public.client.get(path, headers={"if-none-match": shown})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", mark)
        for shown in ('W/"other"', ""):
            assert (await public.client.get(path, headers={"if-none-match": shown})).content == first.content
    assert (await public.client.get("/feed.atom")).headers["cache-control"] == "private, no-cache"


async def test_feed_has_deals_of_the_ladder(ladder: LadderSite) -> None:
    """Each has the bots in the order of their places."""
    async with ladder.client("ivan") as client:
        feed = ElementTree.fromstring((await client.get("/feed.atom")).content)
    found = [(entry.findtext("title", "", ATOM), entry.findtext("summary", "", ATOM)) for entry in feed]
    titles, summaries = zip(*(pair for pair in found if pair[0]), strict=True)
    assert all(title.startswith("Deal ") for title in titles[2:])
    assert any(summary.startswith("1. ") for summary in summaries)


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[str]:
    """Run a reverse proxy before a server, which appends who asks, one request a connection."""
    host, _, port = url.removeprefix("http://").rpartition(":")

    async def relay(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while part := await source.read(1 << 16):
            target.write(part)

    async def pass_on(asked: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        head = await asked.readuntil(b"\r\n\r\n")
        answered, server = await asyncio.open_connection(host, int(port))
        peer = client.get_extra_info("peername")[0]
        server.write(head[:-2] + f"X-Forwarded-For: {peer}\r\nConnection: close\r\n\r\n".encode())
        asking = asyncio.create_task(relay(asked, server))
        await relay(answered, client)
        asking.cancel()
        client.close()
        server.close()

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.level(2)
@pytest.mark.parametrize("trusted", ["127.0.0.1", ""])
async def test_visitors_behind_a_proxy_play_their_own_games(trusted: str, folder: Path) -> None:
    """The games of an hour count by the address that a trusted proxy names, whatever a visitor writes."""
    tokens = folder / "tokens.json"
    h.issued_token(tokens, Role.ORGANISER, "olga")
    values: dict[str, Any] = {"public": True, "tokens": tokens, "guests_play": 2, "trusted_proxy": trusted}
    async with h.pages(folder, house="greedy", **values) as url, proxied(url) as address:

        async def sit_down(source: str, name: str) -> int:
            transport = httpx.AsyncHTTPTransport(local_address=source)
            async with httpx.AsyncClient(timeout=LIMIT, base_url=address, transport=transport) as visitor:
                form = {"name": name, "seat1": "me", "seat2": "greedy"}
                shown = {"x-forwarded-for": f"6.6.6.{len(name)}"}
                return (await visitor.post("/play", data=form, headers=shown)).status_code

        asked = [("127.0.0.2", "A"), ("127.0.0.2", "AA"), ("127.0.0.2", "AAA"), ("127.0.0.3", "B")]
        statuses = [await sit_down(*one) for one in asked]
    assert statuses == [303, 303, 429, 303 if trusted else 429]
