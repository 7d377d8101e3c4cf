"""Who may open what: tokens, names of hosts, other sites, and what no page shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
import websockets
from tests.server.conftest import RandomMove
from tests.server.harness import bearer, between, connected, issued_token, serving
from tests.web.conftest import Site
from tests.web.sockets import close_code, closed_with

from happycity import Config
from happycity.runtime.tokens import Role, revoke_token
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.messages import config_message
from happycity_client import Settings, play

pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass(frozen=True)
class Guarded:
    """A server with tokens."""

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
    organiser = issued_token(tokens, Role.ORGANISER, "olga")
    observer, bot = issued_token(tokens, Role.OBSERVER, "ivan"), issued_token(tokens, Role.BOT, "dora")
    async with serving(folder, web="127.0.0.1:0", tokens=tokens) as (server, channel):
        assert server.web is not None
        call = await connected(channel, "dora", bearer(bot))
        stub = MatchServiceStub(channel)
        created = await stub.CreateMatch(between("dora", "dora"), metadata=bearer(organiser))
        yield Guarded(server.web, tokens, observer, bot, created.match_id)
        call.cancel()


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(guarded: Guarded) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a browser that has no token yet."""
    async with httpx.AsyncClient(timeout=60, base_url=guarded.url) as client:
        yield client


async def test_token_in_a_link_is_kept_in_a_cookie(guarded: Guarded, visitor: httpx.AsyncClient) -> None:
    """Without a token a page asks for one; a link with a token lets the browser in from then on."""
    refused = await visitor.get("/")
    assert refused.status_code == 401
    assert "token create" in refused.text
    entered = await visitor.get(f"/matches/{guarded.running}?ply=0&token={guarded.observer}")
    assert entered.status_code == 200
    assert f"url=/matches/{guarded.running}?ply=0" in entered.text
    assert guarded.observer not in entered.text
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert (await visitor.get(f"/matches/{guarded.running}")).status_code == 200


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
    async with httpx.AsyncClient(timeout=60, base_url=guarded.url, headers=authorization) as client:
        assert (await client.get("/")).status_code == 200
        assert (await client.get(f"/matches/{guarded.running}")).status_code == 403
        refused = await client.get(f"/matches/{guarded.running}.json")
        assert refused.json()["reason"] == "WRONG_ROLE"
    path = f"{guarded.url}/matches/{guarded.running}"
    assert await closed_with(path, **authorization) == 4403
    assert await closed_with(path, authorization=f"Bearer {guarded.observer}") == 0
    assert await closed_with(path) == 4401


async def test_revoked_token_ends_open_pages(guarded: Guarded) -> None:
    """When a token is revoked, the sockets that it has opened are closed."""
    token = issued_token(guarded.tokens, Role.OBSERVER, "eve")
    url = f"{guarded.url}/".replace("http", "ws")
    async with websockets.connect(url, additional_headers={"authorization": f"Bearer {token}"}) as socket:
        await socket.recv()
        revoke_token(guarded.tokens, token.split("_")[1])
        assert await close_code(socket) == 4403


async def test_game_of_a_running_tournament_stays_hidden(folder: Path) -> None:
    """A finished game whose cards are in play in others is shown to nobody before the tournament is over."""
    async with serving(folder, web="127.0.0.1:0") as (server, channel):
        assert server.web is not None
        bots = [
            asyncio.create_task(play(RandomMove, Settings(name=name, server=server.address, games=1)))
            for name in ("anna", "bob")
        ]
        stub = TournamentServiceStub(channel)
        created = await stub.CreateTournament(
            tournament_pb.CreateTournamentRequest(
                config=tournament_pb.TournamentConfig(
                    game=config_message(Config(players=2)),
                    bots=["anna", "bob"],
                    random_rounds=tournament_pb.RandomRounds(rounds=10_000),
                )
            )
        )
        tournament_id = created.tournament_id
        watch = tournament_pb.WatchTournamentRequest(tournament_id=tournament_id)
        async for update in stub.WatchTournament(watch):
            if update.progress.games_finished:
                break
        async with httpx.AsyncClient(timeout=60, base_url=server.web) as client:
            hidden = await client.get("/matches/1.json")
            assert (hidden.status_code, hidden.json()["reason"]) == (403, "MATCH_RUNNING")
            await stub.StopTournament(tournament_pb.StopTournamentRequest(tournament_id=tournament_id))
        for bot in bots:
            bot.cancel()
        await asyncio.gather(*bots, return_exceptions=True)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("", 421),
    ],
)
async def test_only_known_hosts_are_served(host: str, status: int, site: Site) -> None:
    """A request for a name that is not the server's is refused: a stranger may have rebound it."""
    assert (await site.client.get("/", headers={"host": host})).status_code == status


async def test_other_sites_may_not_connect(site: Site) -> None:
    """A WebSocket or a form of another site's page is refused; one of this server's pages is not."""
    own = site.url
    assert await closed_with(site.url, origin=own) == 0
    with pytest.raises(websockets.InvalidStatus):
        await closed_with(site.url, origin="http://evil.example")
    posted = await site.client.post("/token", data={"token": "x"}, headers={"origin": "http://evil.example"})
    assert posted.status_code == 421


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/style.css", "/matches/999999.json"])
async def test_every_answer_has_the_headers(path: str, site: Site) -> None:
    """Whatever is answered forbids scripts from elsewhere, frames, and guessing what it is."""
    headers = (await site.client.get(path)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers


async def test_hidden_orders_are_nowhere(site: Site, expert_match: int) -> None:
    """What the viewer gets has the sizes of decks and piles, never their cards, and not the deal's seed."""
    text = (await site.client.get(f"/matches/{expert_match}.json")).text
    assert '"seed"' not in text
    assert '"box"' not in text
    shown = (await site.client.get(f"/matches/{expert_match}.json")).json()
    assert all(isinstance(size, int) for ply in shown["plies"] for size in ply["decks"] + ply["discards"])


async def test_viewer_that_talks_too_much_is_disconnected(site: Site) -> None:
    """A page sends nothing over its WebSocket; a long message ends it."""
    async with websockets.connect(site.url.replace("http", "ws")) as socket:
        await socket.send("x" * 100_000)
        assert await close_code(socket) == 1009


async def test_streams_of_a_caller_are_limited(folder: Path) -> None:
    """One address may have so many pages open at once, and no more."""
    async with serving(folder, web="127.0.0.1:0", streams_per_peer=2) as (server, _):
        assert server.web is not None
        url = server.web.replace("http", "ws")
        async with websockets.connect(url) as one, websockets.connect(url) as two:
            await one.recv()
            await two.recv()
            assert await closed_with(server.web) == 4429
