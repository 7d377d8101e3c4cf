"""What a call or a page costs doesn't grow with the store and the files, or is charged accordingly.

Each is called on a server with a small store and on one with a large one, and their CPU times of the same run
are compared.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route, WebSocketRoute
from tests.server import harness as h
from tests.server.stores import Size, Stored, stored
from tests.waiting import LIMIT

from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament
from happycity.v1 import match_pb2
from happycity.wire.match import duration_message
from happycity_server.access.gate import RateLimits
from happycity_server.access.roles import CONTRACT
from happycity_server.app import Clocks
from happycity_web import serve

SMALL = Size(tournaments=210, versions=210, tokens=100)
"""More than the largest page of anything."""
LARGE = Size(tournaments=3000, versions=1000, tokens=2000)
TRIES = 3
ROUNDS = 5
"""How often the tries are made, if the ones before cost too much."""
FACTOR = 3.0
"""How much more CPU time a call may cost with the large store, for each call that it counts as."""
USUAL = 0.002
"""CPU seconds of a call that counts as one, below which none is looked at."""
Fields = dict[str, Any]


@dataclass
class Server:
    """A server, and what it has stored."""

    stored: Stored
    channel: grpc.aio.Channel
    client: httpx.AsyncClient
    matches: int = 0
    """The id of its last match."""
    turn: int = 0
    """The number of the present try, from 0: what changes something needs other fields in each."""

    def headers(self, who: str) -> h.Metadata:
        secret = self.stored.organiser if who == "olga" else self.stored.bots.get(who, "")
        return h.bearer(secret) if secret else ()

    async def call(self, path: str, who: str, fields: Fields) -> Any:
        """Call a method; of a stream, read the first message."""
        service, _, name = path[1:].partition("/")
        made = getattr(h.Service(self.channel, service), name)(self.headers(who), **fields)
        if not h.method_named(path).server_streaming:
            return await made
        first = await made.read()
        made.cancel()
        return first


Ask = Callable[[Server], tuple[str, Fields]]


def by(who: str, **fields: Any) -> Ask:
    return lambda at: (who, fields)


def new_tournament(at: Server) -> tuple[str, Fields]:
    config = tournament.TournamentConfig(bots=["anna", "ben"], time_control=h.PATIENT)
    config.game.CopyFrom(h.terms("a", "b")["config"])
    config.random_rounds.rounds = 1
    return "olga", {"config": config}


def tournament_of(at: Server) -> tuple[str, Fields]:
    """Name another tournament each time, one that was stopped."""
    return "olga", {"tournament_id": 207 - 3 * at.turn}


def id_of(secret: str) -> str:
    return secret.split("_")[1]


def of_match(at: Server) -> tuple[str, Fields]:
    return "anna", {"match_id": at.matches}


LADDER = "happycity.ladder.v1beta1.LadderService"
CHALLENGE: tuple[str, Fields] = (
    "anna",
    {"bot": "anna", "kind": ladder.DEAL_KIND_CHALLENGE, "opponents": ["bot-1"], "deals": 1},
)
CALLS: dict[str, Ask | str] = {
    "Play": "a stream that lasts",
    "ListBots": by("anna"),
    "CreateMatch": lambda at: ("olga", h.terms("anna", "ben")),
    "CreatePracticeMatch": "needs a bot that is connected, and nothing stored",
    "GetMatch": of_match,
    "ListMatches": by("anna", bot="anna"),
    "WatchMatch": of_match,
    "GetMatchRecord": of_match,
    "CreateTournament": new_tournament,
    "GetTournament": by("anna", tournament_id=7),
    "ListTournaments": by("anna", state=tournament.TOURNAMENT_STATE_UNREADABLE, page_size=1),
    "StopTournament": tournament_of,
    "ResumeTournament": lambda at: ("olga", {"tournament_id": 120 + 3 * at.turn}),
    "DeleteTournament": lambda at: ("olga", {"tournament_id": 30 + 3 * at.turn}),
    "DisqualifyBot": lambda at: ("olga", {"tournament_id": 75 + 3 * at.turn, "bot": "anna"}),
    "WatchTournament": by("anna", tournament_id=7),
    "GetStandings": by("anna", tournament_id=7),
    "GetLadder": by("anna"),
    "GetLeaderboard": by("anna"),
    "GetLadderBot": by("anna", bot="anna"),
    "ListLadderDeals": by("anna", bot="anna"),
    "CompareVersions": by("anna", old_version_id=2, new_version_id=3),
    "ListSeasons": by("anna"),
    "CloseSeason": by("olga", season_id=1),
    "CreateChallenge": lambda at: CHALLENGE,
    "AcceptChallenge": lambda at: ("bot-1", {"challenge_id": at.turn + 1, "bot": "bot-1"}),
    "DeclineChallenge": lambda at: ("bot-1", {"challenge_id": at.turn + 1 + TRIES * ROUNDS, "bot": "bot-1"}),
    "WithdrawChallenge": lambda at: (
        "anna",
        {"challenge_id": at.turn + 1 + 2 * TRIES * ROUNDS, "bot": "anna"},
    ),
    "ListChallenges": by("anna", bot="anna"),
    "ListFlags": by("olga"),
    "CreateAct": by("olga", suspend_bot={"bot": "bot-2"}, text="because"),
    "ListActs": by("anna"),
    "Join": lambda at: (
        "",
        {"invitation": at.stored.invitations[at.turn], "bots": [f"new-{at.turn}"], "request_id": "0" * 16},
    ),
    "ListTokens": by("anna"),
    "RenewToken": lambda at: (f"bot-{at.turn + 10}", {}),
    "RevokeToken": lambda at: (f"bot-{at.turn + 30}", {"id": id_of(at.stored.bots[f"bot-{at.turn + 30}"])}),
    "CreateInvitation": by("olga", owner="Team 7", bots=1),
    "ListInvitations": by("olga"),
    "RevokeInvitation": lambda at: ("olga", {"id": id_of(at.stored.invitations[-1 - at.turn])}),
    "Submit": "has a folder of its own",
    "GetSubmission": "likewise",
    "ReadSubmission": "likewise",
    "ListSubmissions": "likewise",
    "WithdrawSubmission": "likewise",
    "GetCatalogue": by(""),
    "GetServer": by(""),
}
"""What each method is asked, by its name; or why it isn't."""
MORE: dict[str, list[Ask]] = {
    "ListTournaments": [
        by("anna"),
        by("anna", bot="nobody"),
        by("", page_size=1),
        by("anna", state=tournament.TOURNAMENT_STATE_WAITING, page_size=1),
        by("anna", state=tournament.TOURNAMENT_STATE_FINISHED, page_size=1),
    ],
    "ListMatches": [by("anna"), by("anna", bot="nobody"), by("anna", tournament_id=1)],
    "GetLadderBot": [by("anna", bot="bot-1")],
    "Join": [
        by("", invitation="hci_00000000_x", bots=["x"]),
        lambda at: ("", {"invitation": at.stored.invitations[0][:-1], "bots": ["x"]}),
    ],
    "ListChallenges": [by("anna"), by("anna", bot="nobody")],
}
"""What else some are asked."""
PAGES: dict[str, str] = {
    "/": "/",
    "/matches": "/matches?bot=anna",
    "/tournaments": "/tournaments",
    "/tournaments/{tournament_id:id}": "/tournaments/7",
    "/tournaments/{tournament_id:id}/bots/{bot}": "/tournaments/7/bots/anna",
    "/bots/{bot}": "/bots/anna?wait=1",  # which waits for what is computed
    "/access": "/access",
    "/hosted": "/hosted",
    "/ladder": "/ladder",
    "/ladder/bots/{bot}": "/ladder/bots/anna",
    "/ladder/bots/{bot}/comparison": "/ladder/bots/anna/comparison?old=2&new=3",
    "/ladder/deals": "/ladder/deals",
    "/ladder/seasons": "/ladder/seasons",
    "/ladder/challenges": "/ladder/challenges",
    "/acts": "/acts",
    "/ladder/flags": "/ladder/flags",
    "/matches/{match_id:id}/record": "/matches/{match}/record.json",
    "/matches/{match_id:id}/picture.png": "/matches/{match}/picture.png",
    "/matches/{match_id:id}/analysis": "/matches/{match}/analysis",
    "/feed.atom": "/feed.atom",
    "/matches/{match_id:id}": "/matches/{match}",
    "/how-to-play": "/how-to-play",
    "/play": "/play",
    "/play/{table_id}": "/play/none",
    "/tables/{table_id}": "/tables/none",
    "/token": "/token",
    "/seats/{secret}": "/seats/none",
    "/invitations/{token}": "/invitations/none",
    "/join": "/join",
    "/static": "/static/none",
}
"""An address of each page, by its route; that of the same as JSON follows from it."""
FORMS: dict[str, tuple[str, Fields]] = {
    "/play": ("olga", {}),
    "/tables/{table_id}": ("olga", {}),
    "/seats/{secret}": ("olga", {}),
    "/invitations/{token}": ("olga", {}),
    "/join": ("", {"link": "grpc://localhost:1/join/hci_00000000_x", "bots": "alice"}),
    "/access": ("bot-0", {"act": "renew"}),
    "/hosted": ("anna", {}),
    "/ladder/challenges": ("anna", {"kind": "rated", "deals": "1"}),
    "/ladder/challenges/{challenge_id:id}": ("anna", {"answer": "decline"}),
    "/token": ("anna", {"token": "wrong"}),
}
"""What is sent to each route that takes a form, and by whom."""


@pytest.fixture
def charged(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return what is charged in calls from now on; none is refused for that."""
    amounts: list[float] = []

    def take(self: RateLimits, caller: str, amount: float = 1) -> None:
        if not self.quota:
            amounts.append(amount)

    monkeypatch.setattr(RateLimits, "take", take)
    return amounts


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Return the routes of the pages that are served, each a method and a path without its format."""
    known: set[tuple[str, str]] = set()
    make = vars(serve)["application"]

    def application(*arguments: Any) -> Starlette:
        made: Starlette = make(*arguments)
        for route in made.routes:
            assert isinstance(route, Route | WebSocketRoute | Mount)
            path = "/" if route.path == "/index.json" else route.path.removesuffix(".json")
            known.update((method, path) for method in getattr(route, "methods", None) or {"GET"})
        return made

    monkeypatch.setattr(serve, "application", application)
    return known


@asynccontextmanager
async def serving(folder: Path, size: Size) -> AsyncIterator[Server]:
    """Serve a store of a size while the context lasts."""
    made, now = stored(folder, size), datetime.now(UTC).timestamp()
    own: dict[str, Any] = {
        "tokens": folder / "tokens.json",
        "ladder": folder / "ladder.toml",
        "guest_address": "grpc://a:1",
        # Time stands still: a leaderboard is read once a second, by a slow machine thus at each try.
        "clocks": Clocks(wall=lambda: now),
    }
    async with (
        h.serving(
            folder, web="127.0.0.1:0", public=True, house="greedy", resume_tournaments=False, **own
        ) as (
            server,
            channel,
        ),
        httpx.AsyncClient(timeout=LIMIT, base_url=server.web or "") as client,
    ):
        at = Server(made, channel, client)
        terms = h.terms(
            "ghost", "spirit", time_control=match_pb2.TimeControl(connect_time=duration_message(0.0))
        )
        for _ in range(3 * TRIES * ROUNDS):
            await at.call(f"/{LADDER}/CreateChallenge", *CHALLENGE)
        match = await h.matches_at(channel).CreateMatch(at.headers("olga"), **terms)
        at.matches = match.match_id
        await h.ended_match(h.matches_at(channel), at.matches, at.headers("olga"))
        yield at


async def compared(
    name: str,
    servers: list[Server],
    charged: list[float],
    call: Callable[[Server], Awaitable[object]],
) -> str:
    """Call something on both servers; return what it costs on the large one if that is too much, else "".

    What costs too much is measured again: both servers are in one process, whose CPU time counts what any
    thread of theirs does meanwhile, a fit of the ladder's ratings among them, and what the machine's other
    programs take of its caches.
    """
    best = [float("inf")] * len(servers)
    for made in range(0, ROUNDS * TRIES, TRIES):
        calls: list[float] = []
        for index, server in enumerate(servers):
            for server.turn in range(made, made + TRIES):
                charged.clear()
                began = time.process_time()
                await call(server)
                best[index] = min(best[index], time.process_time() - began)
            calls.append(max(1.0, sum(charged)))
        small, large = (each / called for each, called in zip(best, calls, strict=True))
        if large <= FACTOR * max(small, USUAL):
            return ""
    return f"{name}: {1000 * large:.1f} ms for each of {calls[1]:g} calls, and {1000 * small:.1f} ms"


@pytest.mark.level(3)
async def test_no_call_costs_more_with_a_larger_store(tmp_path: Path, charged: list[float]) -> None:
    paths = {f"/{service}/{name}" for service, names in CONTRACT.items() for name in names}
    assert {path.rpartition("/")[2] for path in paths} == CALLS.keys(), "each method needs an entry"
    found = []
    async with serving(tmp_path / "small", SMALL) as small, serving(tmp_path / "large", LARGE) as large:
        for path in sorted(paths):
            name = path.rpartition("/")[2]
            entry = CALLS[name]
            for ask in [] if isinstance(entry, str) else [entry, *MORE.get(name, ())]:

                async def call(at: Server, path: str = path, ask: Ask = ask) -> None:
                    who, fields = ask(at)
                    try:
                        await at.call(path, who, fields)
                    except grpc.aio.AioRpcError as error:
                        assert h.refused(error).reason in ("INVITATION_CLOSED", "NOT_IN_LADDER"), path  # noqa: PT017

                found.append(await compared(name, [small, large], charged, call))
    assert not list(filter(None, found))


@pytest.mark.level(3)
async def test_no_page_costs_more_with_a_larger_store(
    tmp_path: Path, charged: list[float], routes: set[tuple[str, str]]
) -> None:
    found = []
    async with serving(tmp_path / "small", SMALL) as small, serving(tmp_path / "large", LARGE) as large:
        await small.client.get("/")  # which makes the application
        assert {path for method, path in routes if method == "GET"} == PAGES.keys(), (
            "each page needs an entry"
        )
        assert {path for method, path in routes if method == "POST"} == FORMS.keys(), (
            "each form needs an entry"
        )
        for who in ("olga", ""):
            for path in PAGES.values():

                async def get(at: Server, path: str = path, who: str = who) -> None:
                    url = path.replace("{match}", str(at.matches))
                    answer = await at.client.get(url, headers=dict(at.headers(who)))
                    assert answer.status_code != 500

                found.append(await compared(f"{who} GET {path}", [small, large], charged, get))
        for path, (who, fields) in FORMS.items():

            async def post(at: Server, path: str = path, who: str = who, fields: Fields = fields) -> None:
                url = (
                    path.replace("{secret}", "none")
                    .replace("{token}", "none")
                    .replace("{table_id}", "none")
                    .replace("{challenge_id:id}", "1")
                )
                answer = await at.client.post(url, data=fields, headers=dict(at.headers(who)))
                assert answer.status_code != 500

            found.append(await compared(f"POST {path}", [small, large], charged, post))
    assert not list(filter(None, found))
