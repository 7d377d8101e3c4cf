"""Who sees what on every way into a server: `sights.csv` says it by hand, `ways.csv` what each way shows.

A server has a match, a tournament or a deal in each state of the table. Each way is tried with each role, and
no answer may have the seed of anything of which its caller doesn't see all.
"""

import csv
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import grpc
import httpx
import pytest
import pytest_asyncio
import websockets
from starlette.routing import Mount, Route, WebSocketRoute
from tests.server import harness as h
from tests.server.api.ladders import FILE
from tests.server.api.tournaments import config as tournament_config
from tests.tournament.games import finished
from tests.waiting import LIMIT
from tests.web.sockets import socket_of
from tools.docs.sights import PAGE, sights_page

from happycity import BotInfo, Config, Deal
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import dumps, metrics_json
from happycity_ladder import entries
from happycity_ladder.book import Book
from happycity_mcp.tools import Tools
from happycity_runtime.tokens import Role
from happycity_server.access.roles import ROLES, PublicRole
from happycity_server.app import Clocks
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.games import BotProfile, FinishedGame, practice_seed
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage.store import Store
from happycity_web.app import application
from happycity_web.watch import Feeds

pytestmark = pytest.mark.asyncio(loop_scope="session")

FOLDER = Path(__file__).parent
WAYS: dict[str, set[str]] = {
    row["way"]: {row["shows"]} if row["shows"].startswith("own ") else set(row["shows"].split())
    for row in csv.DictReader(FOLDER.joinpath("ways.csv").read_text().splitlines())
}
"""What each way shows, by its name."""
SIGHTS = list(csv.DictReader(FOLDER.joinpath("sights.csv").read_text().splitlines()))
TOKENS = {
    "bot": Role.BOT,
    "player": Role.BOT,
    "observer": Role.OBSERVER,
    "organiser": Role.ORGANISER,
    "worker": Role.WORKER,
    "gateway": Role.GATEWAY,
}
VIEWERS = ("public", "bot", "player", "person", "observer", "organiser", "worker", "gateway")
BOTS = ("player", "away")
CONFIG = Config(players=2)
LIVE = ("/", "/matches", "/tournaments", "/ladder/deals", "/tournaments/2")
"""Pages of which also what follows by itself is looked at; of more, one viewer would wait too long."""
DRAWN = 0
"""The seed of a match that the server draws, which no test knows."""


def cells(kind: str, viewer: str) -> dict[str, dict[str, str]]:
    """Return by state what a viewer sees of things of a kind, by what shows it."""
    found = defaultdict[str, dict[str, str]](dict)
    for row in SIGHTS:
        if row["of"] == kind:
            found[row["state"]][row["shows"]] = row[viewer]
    return found


@dataclass
class World:
    url: str = ""
    channel: grpc.aio.Channel | None = None
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    """What a call shows, by viewer."""
    things: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """By kind and state: the id and the seed."""

    def add(self, kind: str, state: str, number: int, seed: int) -> None:
        self.things[kind, state] = number, seed

    def secrets(self, viewer: str) -> set[str]:
        """Return the seeds that a viewer may see nowhere."""
        whole = {"match": "match", "tournament": "tournament"}
        hidden = {
            str(self.things[kind, state][1])
            for kind, shows in whole.items()
            for state, sights in cells(kind, viewer).items()
            if sights[shows] != "all"
        }
        return hidden - {str(DRAWN)}

    def service(self, name: str) -> h.Service:
        return h.Service(self.channel, name)


def recorded(game: FinishedGame, number: int) -> tuple[FinishedGame, str]:
    """Return a game with the record of one of random movers, who sent a number by the name of its seed."""
    record = record_random_game(Deal.shuffle(CONFIG, seed=game.deal_seed), movers_rng(number))
    record["metrics"] = [metrics_json(decision, {f"n{game.deal_seed}": 1.0}) for decision in (1, 2)]
    return replace(game, match_id=number), dumps(record)


def deal_of(seed: int) -> tuple[TournamentConfig, FinishedGame]:
    """Return a tournament with a seed, and its first game."""
    config = TournamentConfig(bots=BOTS, game=CONFIG, format=RandomRounds(rounds=1), seed=seed)
    (fixture, *_) = next(iter(schedule_of(config).stages()))
    return config, finished(fixture, tournament_id=0)


class Builder:
    """Fills a store with what is over."""

    def __init__(self, store: Store, world: World) -> None:
        self._store, self._world = store, world
        self._ladder = Book(store)
        self._ladder.open_season(10.0)
        said = BotProfile(BotInfo(version="1"), "sdk/1")
        self._versions = [self._ladder.enter_version(bot, said, 11.0, owner=bot).id for bot in BOTS]

    def game(self, state: str, game: FinishedGame) -> None:
        number = self._store.next_match_id()
        self._store.add_games([recorded(game, number)])
        self._world.add("match", state, number, game.deal_seed)

    def single(self, state: str, seed: int) -> None:
        _, game = deal_of(1)
        self.game(state, replace(game, tournament_id=None, position=None, deal_seed=seed))

    def tournament(
        self, seed: int, state: TournamentState, *, names: tuple[str, str] | None = None, of_game: bool = True
    ) -> int:
        """Add a tournament, with a game if it is to have one; `names` are its state and that of the game."""
        config, game = deal_of(seed)
        number = self._store.create_tournament(config.json(), games_total=2, created_at=1.0)
        self._store.set_state(number, state)
        if names is not None:
            self._world.add("tournament", names[0], number, seed)
            if of_game:
                self.game(names[1], replace(game, tournament_id=number))
        return number

    def ladder_deal(self, state: str, of_game: str, *, games: int, seed: int | None = None) -> int:
        """Begin a deal and store some of its two games; return its seed."""
        new = entries.NewDeal(
            board="2-family",
            kind=entries.DealKind.RATED,
            versions=tuple(self._versions),
            bots=BOTS,
            deal_seed=seed,
        )
        (deal,) = self._ladder.begin_deals([new], 20.0)
        _, game = deal_of(1)
        for rotation in range(games):
            bots = BOTS[rotation:] + BOTS[:rotation]
            of = replace(game, tournament_id=None, position=None, bots=bots, deal_seed=deal.deal_seed)
            self.game(of_game, replace(of, ladder=(deal.id, rotation)))
        if state:
            self._world.add("deal of the ladder", state, deal.id, deal.deal_seed)
        return deal.deal_seed


def fill(store: Store, world: World) -> None:
    """Store what is over, in each state of the table."""
    builder, state = Builder(store, world), TournamentState
    builder.single("over", 8_100_000_000_001)
    builder.single("over; an open match has its seed", 8_100_000_000_002)
    builder.single("over; practice of the player", practice_seed(8_100_000_000_003))
    table = "over; practice of the player whose seed a waiting table has"
    builder.single(table, practice_seed(8_100_000_000_004))
    builder.tournament(8_200_000_000_001, state.RUNNING, names=("running", "over; its tournament runs"))
    builder.tournament(8_200_000_000_002, state.STOPPED, names=("stopped", "over; its tournament is stopped"))
    over = state.FINISHED
    builder.tournament(8_200_000_000_003, over, names=("finished", "over; its tournament is finished"))
    for seed, own, other in (
        (8_200_000_000_004, "running", state.RUNNING),
        (8_200_000_000_005, "stopped", state.STOPPED),
    ):
        names = (
            f"finished; a {own} one has its seed",
            f"over; a {own} tournament has the seed of its finished one",
        )
        builder.tournament(seed, over, names=names)
        builder.tournament(seed, other)
    names = (
        "finished; an open match has the seed of one of its deals",
        "over; of a finished tournament and an open match has its seed",
    )
    builder.tournament(8_200_000_000_006, over, names=names)
    _, running = deal_of(8_200_000_000_001)
    builder.single("over; single with the seed of a deal of a running tournament", running.deal_seed)
    builder.ladder_deal("finished", "over; its deal of the ladder is finished", games=2)
    builder.ladder_deal("open", "over; its deal of the ladder is open", games=1)
    repeats = "over; an open deal of the ladder repeats its deal"
    seed = builder.ladder_deal("finished; an open one repeats it", repeats, games=2)
    builder.ladder_deal("", "", games=0, seed=seed)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Yield a server for the public that has something in each state of the table."""
    folder, world = tmp_path_factory.mktemp("sights"), World()
    tokens, ladder = folder / "tokens.json", folder / "ladder.toml"
    ladder.write_text(FILE)
    roles = {**TOKENS, "away": Role.BOT}
    clear = {name: h.issued_token(tokens, role, name) for name, role in roles.items()}
    with Store.create(f"sqlite:///{folder}/games.sqlite") as store:
        fill(store, world)
    values: dict[str, Any] = {"tokens": tokens, "public": True, "ladder": ladder, "web": "127.0.0.1:0"}
    values |= {"calls_per_second": 1e6, "calls_burst": 1_000_000, "practice_matches": 9}
    async with (
        h.serving(folder, clocks=Clocks(steady=h.Clock()), **values) as (server, channel),
        httpx.AsyncClient(timeout=LIMIT, base_url=server.web or "") as client,
    ):
        world.url, world.channel = server.web or "", channel
        world.headers = {name: {"authorization": f"Bearer {token}"} for name, token in clear.items()}
        organiser, player = (h.bearer(clear[name]) for name in ("organiser", "player"))
        # A table waits for another person; who has set it up is a person too.
        seats = {"name": "meg", "seat1": "me", "seat2": "invite", "clock": "none", "seed": "8100000000004"}
        made = await client.post("/play", data=seats, headers=world.headers["organiser"])
        secret = made.headers["set-cookie"].partition("=")[2].partition(";")[0]
        world.headers |= {"public": {}, "person": {"authorization": f"Bearer {secret}"}}
        matches = world.service("happycity.v1.MatchService")
        calls = [await h.connected(channel, bot, h.bearer(clear[bot]), info={"version": "1"}) for bot in BOTS]
        for state, given in (
            ("open; the server drew its seed for it alone", {}),
            ("open; its seed was given", {"seed": 8_100_000_000_002}),
            ("", {"seed": deal_of(8_200_000_000_006)[1].deal_seed}),
        ):
            created = await matches.CreateMatch(organiser, **h.terms(*BOTS, **given))
            if state:
                world.add("match", state, created.match_id, given.get("seed", DRAWN))
        config = tournament_config(*BOTS).game
        created = await matches.CreatePracticeMatch(player, config=config, bots=("player", "player"), seed=5)
        world.add("match", "open; practice of the player", created.match_id, practice_seed(5))
        running, _ = world.things["tournament", "running"]
        while ("match", "open; of a tournament") not in world.things:
            for started in (await h.next_response(calls[0])).games_started:
                match = await matches.GetMatch(organiser, match_id=started.match_id)
                if match.tournament_id == running:
                    seed = deal_of(8_200_000_000_001)[1].deal_seed
                    world.add("match", "open; of a tournament", match.match_id, seed)
        yield world
        for call in calls:
            call.cancel()


async def test_every_way_and_role_has_a_row() -> None:
    """Methods, paths, tools and roles that are new need rows, which a person writes and another one reads."""
    methods = {f"{path[1:].partition('/')[0].rpartition('.')[2]}.{path.rpartition('/')[2]}" for path in ROLES}
    paths = set[str]()
    for route in application(Feeds(MagicMock()), MagicMock()).routes:
        assert isinstance(route, Mount | Route | WebSocketRoute)
        path = route.path.replace(":id}", "}")
        kinds = {"WS"} if isinstance(route, WebSocketRoute) else getattr(route, "methods", None) or {"GET"}
        paths |= {f"{kind} {path}" for kind in kinds - {"HEAD"}}
    offered: list[str] = []
    server = SimpleNamespace(
        add_tool=lambda function, **_: offered.append(f"tool {function.__name__}"),
        resource=lambda name, **_: lambda _: offered.append(f"resource {name}"),
    )
    Tools(MagicMock(is_shared=False)).add_to(server)  # type: ignore[arg-type]
    assert methods | paths | {*offered} == WAYS.keys()
    shown = {row["shows"] for row in SIGHTS}
    assert set().union(*WAYS.values()) - {"nothing", "own game", "own files"} == shown
    columns = list(SIGHTS[0])[3:]
    assert columns == list(VIEWERS)
    assert {TOKENS[name].value for name in VIEWERS if name in TOKENS} | {"public"} == {
        *(role.value for role in Role),
        PublicRole.PUBLIC.value,  # a guest sees no more than the public
    }


def sight_of_match(match: Any) -> str:
    """Return what a message of a match shows; its place in a schedule has the seed."""
    if not match.watchable:
        assert not match.HasField("deal")
        return "result" if match.outcome.HasField("result") else "exists"
    return "all"


def sight_of_tournament(tournament: Any) -> str:
    return "all" if tournament.config.HasField("seed") else "result"


def plain_sight_of_match(match: Any) -> str:
    """Return what the JSON of a match shows."""
    if match.get("watchable"):
        return "all"
    return "result" if (match["outcome"] or {}).get("result") else "exists"


async def test_the_documentation_has_the_tables() -> None:
    assert PAGE.read_text(encoding="utf-8") == sights_page(), "run: python -m tools sights"


@pytest.mark.level(2)
@pytest.mark.parametrize("viewer", VIEWERS)
async def test_methods_show_what_the_table_says(world: World, viewer: str) -> None:
    """Each method that shows matches, tournaments, deals of the ladder or owners, for each state."""
    metadata = tuple(world.headers[viewer].items())
    matches = world.service("happycity.v1.MatchService")
    listed = {match.match_id: match for match in (await matches.ListMatches(metadata, page_size=200)).matches}
    for state, expected in cells("match", viewer).items():
        number, seed = world.things["match", state]
        found = {
            "MatchService.GetMatch": await answer(matches.GetMatch(metadata, match_id=number)),
            "MatchService.ListMatches": listed.get(number),
        }
        for way, match in found.items():
            assert ("-" if match is None else sight_of_match(match)) == expected["match"], (way, state)
        record = await answer(matches.GetMatchRecord(metadata, match_id=number))
        assert ("-" if record is None else "all") == expected["record"], state
        assert record is None or str(seed) in record.json or not seed
        watch = matches.WatchMatch(metadata, match_id=number)
        step = await answer(watch.read())
        watch.cancel()
        assert ("-" if step is None else "all") == expected["game"], state
    tournaments = world.service("happycity.tournament.v1beta1.TournamentService")
    page = await tournaments.ListTournaments(metadata, page_size=200)
    listed = {one.tournament_id: one for one in page.tournaments}
    for state, expected in cells("tournament", viewer).items():
        number, seed = world.things["tournament", state]
        watch = tournaments.WatchTournament(metadata, tournament_id=number)
        first = await answer(watch.read())
        watch.cancel()
        for one in (
            listed.get(number),
            await answer(tournaments.GetTournament(metadata, tournament_id=number)),
            None if first is None else first.tournament,
        ):
            assert ("-" if one is None else sight_of_tournament(one)) == expected["tournament"], state
            assert one is None or one.config.seed in (0, seed)
        standings = await answer(tournaments.GetStandings(metadata, tournament_id=number))
        assert ("-" if standings is None else "result") == expected["standings"], state
    ladder = world.service("happycity.ladder.v1beta1.LadderService")
    deals = {deal.deal_id for deal in (await ladder.ListLadderDeals(metadata)).deals}
    for state, expected in cells("deal of the ladder", viewer).items():
        number, _ = world.things["deal of the ladder", state]
        assert ("result" if number in deals else "-") == expected["deal"], state
    bot = await ladder.GetLadderBot(metadata, bot="player")
    lines = (await ladder.GetLeaderboard(metadata)).lines
    (owner,) = (expected["owner"] for expected in cells("owner of a bot", viewer).values())
    for entry in (bot, *lines):
        assert ("all" if entry.owner else "-") == owner


@pytest.mark.level(3)
@pytest.mark.parametrize("viewer", sorted(VIEWERS, key="organiser".__ne__))
async def test_pages_show_what_the_table_says(world: World, viewer: str) -> None:
    """Each page, as HTML, JSON, over a WebSocket and as a feed, for each state.

    Organisers come first, as pages keep what they have made of records.
    """
    headers = world.headers[viewer]
    secrets = world.secrets(viewer)
    async with httpx.AsyncClient(timeout=LIMIT, base_url=world.url, headers=headers) as client:

        async def get(path: str) -> httpx.Response:
            answer = await client.get(path)
            text = answer.text
            assert not [secret for secret in secrets if secret in text], path
            return answer

        async def first_message(path: str) -> str | None:
            """Return what the socket of a page sends first; None if it is closed instead."""
            async with socket_of(f"{world.url}{path}", additional_headers=headers) as socket:
                try:
                    sent = await socket.recv()
                except websockets.ConnectionClosed:
                    return None
            text = sent if isinstance(sent, str) else sent.decode(errors="replace")
            assert not [secret for secret in secrets if secret in text], path
            return text

        async def see(path: str) -> bool:
            """Return whether a page is shown, as what follows by itself of it is too."""
            is_shown = (await get(path)).status_code == 200
            if not is_shown or (viewer == "bot" and path in LIVE):
                assert (await first_message(path) is not None) is is_shown, path
            return is_shown

        for way in WAYS:
            kind, _, path = way.partition(" ")
            if kind in ("GET", "WS") and not re.search(r"\{(?!bot)", path):
                await (see if f"WS {path}" in WAYS else get)(path.format(bot="player"))
        shown, html, query = dict[int, Any](), "", ""
        while not html or query:
            shown |= {one["match_id"]: one for one in (await get(f"/matches.json{query}")).json()["games"]}
            html += (page := (await get(f"/matches{query}")).text)
            query = unescape(next(iter(re.findall(r'rel="next" href="([^"]*)"', page)), ""))
        home = (await get("/index.json")).json()
        homes = {one["match_id"]: one for one in (*home["running"], *home["finished"])}
        counted = {one["match_id"] for one in (await get("/bots/player.json")).json()["games"]}
        for state, expected in cells("match", viewer).items():
            number, _ = world.things["match", state]
            for listed in (shown, homes):
                if listed is shown or number in homes:
                    found = plain_sight_of_match(listed[number]) if number in listed else "-"
                    assert found == expected["match"], state
            assert (f'href="/matches/{number}"' in html) is (expected["match"] == "all"), state
            assert number not in counted or expected["record"] == "all", state
            for suffix in ("", ".json"):
                answer = await get(f"/matches/{number}{suffix}")
                assert (answer.status_code == 200) is (expected["game"] == "all"), (state, answer.text)
            is_shown = await first_message(f"/matches/{number}") is not None
            assert is_shown is (expected["game"] == "all"), state
            for suffix in ("/record.json", "/picture.png", "/analysis.json", "/analysis"):
                answer = await get(f"/matches/{number}{suffix}")
                assert (answer.status_code == 200) is (expected["record"] == "all"), (state, suffix)
        listing = (await get("/tournaments.json")).json()["tournaments"]
        tournaments = {one["tournament_id"]: one for one in listing}
        feed = (await get("/feed.atom")).text
        for state, expected in cells("tournament", viewer).items():
            number, _ = world.things["tournament", state]
            answer = await get(f"/tournaments/{number}.json")
            shown_whole = answer.json().get("tournament") if answer.status_code == 200 else None
            for one in (tournaments.get(number), shown_whole):
                found = "-" if one is None else ("result" if one["config"]["seed"] is None else "all")
                assert found == expected["tournament"], state
            is_seen = expected["standings"] != "-"
            for page in ("", "/bots/away"):
                assert await see(f"/tournaments/{number}{page}") is is_seen, (state, page)
                answer = await get(f"/tournaments/{number}{page}.json")
                assert (answer.status_code == 200) is is_seen, (state, page)
            assert f"/tournaments/{number}<" not in feed or is_seen
        if viewer == "organiser":
            number, _ = world.things["tournament", "stopped"]
            _, seed = world.things["match", "over; its tournament is stopped"]
            assert f"n{seed}" in (await get(f"/tournaments/{number}/bots/away")).text
        deals = {one["deal_id"] for one in (await get("/ladder/deals.json")).json()["deals"]}
        for state, expected in cells("deal of the ladder", viewer).items():
            number, _ = world.things["deal of the ladder", state]
            assert ("result" if number in deals else "-") == expected["deal"], state


async def answer(call: Any) -> Any:
    """Return what a call returns; None if it is refused for a reason that has to do with who calls."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        known = ("UNAUTHENTICATED", "WRONG_ROLE", "UNKNOWN_MATCH", "UNKNOWN_TOURNAMENT", "MATCH_RUNNING")
        if h.refused(error).reason not in known:
            raise
        return None
