"""Who may open what: tokens, names of hosts, other sites, and what no page shows."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
import websockets
from tests.server import harness as h
from tests.server.api.tournaments import config as tournament_config
from tests.server.conftest import playing
from tests.server.server_process import server_process
from tests.waiting import LIMIT
from tests.web.conftest import Site
from tests.web.sockets import close_code, closed_with, socket_of

from happycity_runtime.tokens import Role
from happycity_server.access.token_file import revoke_token

pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass(frozen=True)
class Guarded:
    url: str
    tokens: Path
    observer: str
    bot: str
    running: int
    """A match that waits for a bot's first answer."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    """Yield a server with tokens, on which a game is being played."""
    folder = tmp_path_factory.mktemp("guarded")
    tokens = folder / "tokens.json"
    organiser = h.issued_token(tokens, Role.ORGANISER, "olga")
    observer, bot = h.issued_token(tokens, Role.OBSERVER, "ivan"), h.issued_token(tokens, Role.BOT, "dora")
    async with h.serving(folder, web="127.0.0.1:0", tokens=tokens) as (server, channel):
        assert server.web is not None
        call = await h.connected(channel, "dora", h.bearer(bot))
        created = await h.matches_at(channel).CreateMatch(h.bearer(organiser), **h.terms("dora", "dora"))
        yield Guarded(server.web, tokens, observer, bot, created.match_id)
        call.cancel()


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(guarded: Guarded) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=LIMIT, base_url=guarded.url) as client:
        yield client


async def test_token_in_a_link_is_kept_in_a_cookie(guarded: Guarded, visitor: httpx.AsyncClient) -> None:
    """Without a token a page asks for one; a link with a token lets the browser in from then on."""
    refused = await visitor.get("/")
    assert refused.status_code == 401
    assert "Your token" in refused.text
    entered = await visitor.get(f"/matches/{guarded.running}?ply=0&token={guarded.observer}")
    assert entered.status_code == 200
    assert f"url=/matches/{guarded.running}?ply=0" in entered.text
    assert guarded.observer not in entered.text
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert (await visitor.get(f"/matches/{guarded.running}")).status_code == 200


async def test_link_on_another_site_asks_first(guarded: Guarded, visitor: httpx.AsyncClient) -> None:
    """A page elsewhere can't let a browser act with a token of its choice; its reader is asked."""
    link = f"/matches/{guarded.running}?token={guarded.observer}"
    for site in ("cross-site", "same-site"):
        asked = await visitor.get(link, headers={"sec-fetch-site": site})
        assert (asked.status_code, "set-cookie" in asked.headers) == (200, False)
        assert "you act as <bdi>ivan</bdi>" in asked.text
        assert f'name="token" value="{guarded.observer}"' in asked.text
    accepted = await visitor.post("/token", data={"token": guarded.observer, "to": link.partition("?")[0]})
    assert "set-cookie" in accepted.headers
    assert f"url=/matches/{guarded.running}" in accepted.text


async def test_link_replaces_no_token_unasked(guarded: Guarded, visitor: httpx.AsyncClient) -> None:
    """A browser that has a token keeps it when it opens a link with another one; its own one is fine."""
    await visitor.get("/", params={"token": guarded.bot})
    other = await visitor.get("/", params={"token": guarded.observer})
    assert "set-cookie" not in other.headers
    assert (await visitor.get(f"/matches/{guarded.running}")).status_code == 403  # still the bot's
    assert "set-cookie" in (await visitor.get("/", params={"token": guarded.bot})).headers
    wrong = await visitor.get("/", params={"token": "hc_00000000_x"})
    assert wrong.status_code == 401


async def test_token_can_be_typed(guarded: Guarded, visitor: httpx.AsyncClient) -> None:
    """The form takes a token, goes on to a page of this server only, and refuses a wrong token."""
    wrong = await visitor.post("/token", data={"token": "hc_00000000_x", "to": "/"})
    assert wrong.status_code == 401
    elsewhere = await visitor.post("/token", data={"token": guarded.observer, "to": "//evil.example/"})
    assert "evil" not in elsewhere.text
    assert (await visitor.get("/")).status_code == 200


async def test_bot_may_not_watch_running_games(guarded: Guarded) -> None:
    """With a bot's token the lobby is shown, and a running match is not; nor over a WebSocket."""
    authorization = {"authorization": f"Bearer {guarded.bot}"}
    async with httpx.AsyncClient(timeout=LIMIT, base_url=guarded.url, headers=authorization) as client:
        assert (await client.get("/")).status_code == 200
        assert (await client.get(f"/matches/{guarded.running}")).status_code == 403
        refused = await client.get(f"/matches/{guarded.running}.json")
        assert refused.json()["reason"] == "WRONG_ROLE"
    path = f"{guarded.url}/matches/{guarded.running}"
    assert await closed_with(path, **authorization) == 4403
    assert await closed_with(path, authorization=f"Bearer {guarded.observer}") == 0
    assert await closed_with(path) == 4401


async def test_revoked_token_ends_open_pages(guarded: Guarded) -> None:
    token = h.issued_token(guarded.tokens, Role.OBSERVER, "eve")
    headers = {"authorization": f"Bearer {token}"}
    async with socket_of(f"{guarded.url}/", additional_headers=headers) as socket:
        await socket.recv()
        revoke_token(guarded.tokens, token.split("_")[1])
        assert await close_code(socket) == 4403


@pytest.mark.level(2)
async def test_game_of_a_running_tournament_stays_hidden(folder: Path) -> None:
    async with h.serving(folder, web="127.0.0.1:0") as (server, channel):
        assert server.web is not None
        tournaments, config = h.tournaments_at(channel), tournament_config("anna", "bob", rounds=10_000)
        async with playing(server.address, "anna", "bob", games=1):
            number = (await tournaments.CreateTournament(config=config)).tournament_id
            async for update in tournaments.WatchTournament(tournament_id=number):
                if update.progress.games_finished:
                    break
            async with httpx.AsyncClient(timeout=LIMIT, base_url=server.web) as client:
                for path in ("/matches/1.json", "/matches/1/analysis.json"):
                    hidden = await client.get(path)
                    assert (hidden.status_code, hidden.json()["reason"]) == (403, "MATCH_RUNNING")
                assert (await client.get("/bots/anna.json")).json()["counted"] == 0
                assert (await client.get("/index.json")).json()["podiums"] == {}
            await tournaments.StopTournament(tournament_id=number)


async def test_only_known_hosts_are_served(site: Site) -> None:
    # A request for a name that is not the server's is refused: a stranger may have rebound it.
    for host, status in [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("", 421),
        ("127.0.0.1:x", 421),
        ("127.0.0.1:80@evil.example", 421),
        ("localhost:65536", 421),
    ]:
        assert (await site.client.get("/", headers={"host": host})).status_code == status

    # A WebSocket or a form of another site's page is refused; one of this server's pages is not.
    own = site.url
    assert await closed_with(site.url, origin=own) == 0
    with pytest.raises(websockets.InvalidStatus):
        await closed_with(site.url, origin="http://evil.example")
    posted = await site.client.post("/token", data={"token": "x"}, headers={"origin": "http://evil.example"})
    assert posted.status_code == 421


async def test_every_answer_has_the_headers(site: Site) -> None:
    # Whatever is answered forbids scripts from elsewhere, frames, and guessing what it is.
    paths = ["/", "/nothing", "/static/nothing", "/static/style.css", "/matches/999999.json"]
    for path in paths:
        headers = (await site.client.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert ("script-src 'self'" in policy) is (path != "/static/style.css")  # which runs none at all
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers.get("x-frame-options") == (None if path == "/static/style.css" else "DENY")
        assert "server" not in headers

    # What is shown depends on the cookie, so only files of all servers alike may be kept on the way.
    for path in ("/", "/index.json", "/nothing"):
        headers = (await site.client.get(path)).headers
        assert headers["cache-control"] == "no-store"
        assert "cookie" in headers["vary"].lower()
    assert "no-store" not in (await site.client.get("/static/style.css")).headers.get("cache-control", "")


async def test_ids_that_no_store_has_are_not_found(site: Site) -> None:
    """A number of any length is no reason to fail."""
    for path in ["/matches/{}", "/matches/{}.json", "/tournaments/{}", "/tournaments/{}/bots/x"]:
        for number in ["9" * 5000, str(2**63), str(10**18)]:
            answer = await site.client.get(path.format(number))
            assert answer.status_code == 404
            assert "content-security-policy" in answer.headers


@pytest.mark.level(2)
async def test_what_is_not_found_counts_as_a_call(folder: Path) -> None:
    """A stranger who asks for what isn't there is limited and counted like any caller, and logged as JSON."""
    flags = ("--web", "127.0.0.1:0", "--calls-burst", "3", "--calls-per-second", "0.001")
    with server_process(folder, "--open", *flags) as server:
        async with httpx.AsyncClient(timeout=LIMIT, base_url=server.web) as client:
            statuses = [(await client.get(f"/matches/{'9' * 5000}")).status_code for _ in range(6)]
        assert set(statuses) == {404, 429}
        refusals = server.metric("happycity_refusals_total")
        assert refusals["not_found"] == statuses.count(404)
        assert refusals["rate_limited"] == statuses.count(429)
    lines = [json.loads(line) for line in (folder / "server.log").read_text().splitlines()]
    refused = [line for line in lines if line["event"] == "page_refused"]
    assert len(refused) == statuses.count(404)
    assert {line["route"] for line in refused} == {None}
    assert not [line for line in lines if line["level"] == "error"]


async def test_messages_that_end_a_socket(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    # Bytes that are not UTF-8 close the socket, without a traceback in the log.
    async with socket_of(site.url) as socket:
        await socket.recv()
        await socket.send(b"\xff\xfe", text=True)
        assert await close_code(socket) == 1007
    assert not caplog.records

    # A page sends nothing over its WebSocket; a long message ends it.
    async with socket_of(site.url) as socket:
        await socket.send("x" * 100_000)
        assert await close_code(socket) == 1009


async def test_hidden_orders_are_nowhere(site: Site, expert_match: int) -> None:
    """What the viewer gets has the sizes of decks and piles, never their cards, and not the deal's seed."""
    text = (await site.client.get(f"/matches/{expert_match}.json")).text
    assert '"seed"' not in text
    assert '"box"' not in text
    shown = (await site.client.get(f"/matches/{expert_match}.json")).json()
    assert all(isinstance(size, int) for ply in shown["plies"] for size in ply["decks"] + ply["discards"])


async def test_streams_of_a_caller_are_limited(folder: Path) -> None:
    """One address may have so many pages open at once, and no more."""
    async with h.pages(folder, streams_per_peer=2) as url, socket_of(url) as one, socket_of(url) as two:
        await one.recv()
        await two.recv()
        assert await closed_with(url) == 4429


async def test_long_forms_are_refused(site: Site) -> None:
    """No form of a page has a kilobyte."""
    answer = await site.client.post("/play", content=b"name=" + b"x" * 2000)
    assert answer.status_code == 413


async def test_numbers_of_an_address_are_short_and_ascii(site: Site, expert_match: int) -> None:
    """What Python takes for a digit is more than what a number has."""
    for number in ("²", "٣", "9" * 5000, "-1", "1.5"):
        answer = await site.client.get(f"/matches/{expert_match}", params={"ply": number})
        assert answer.status_code == 400, number
