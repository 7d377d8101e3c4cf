"""Make the fixtures of 1.0: a small store, run, publication and so on that every later version reads.

Once 1.0 is released they are never made again: a later version has to read what 1.0 wrote. Seeds, salts and
times are fixed, so what is made twice is equal, but for what their README names.

It takes bubblewrap, in which a league's and a ladder's hosted bots play, and PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, chdir, closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any

import websockets
from httpx import AsyncClient
from sqlalchemy import insert
from tests.tournament.storage.postgres import postgresql

from happycity import Config, Deal, Mode, Move, TimeControl
from happycity.hosting.v1beta1 import hosting_service_pb2 as hosting_pb
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import Json, dumps
from happycity_bots import BOTS
from happycity_client import Bot, BotFactory, Decision, GameStarted, Settings, play
from happycity_client.matches import match_at_end
from happycity_ladder.season_proof import publish_season
from happycity_league.config import AgentConfig, LeagueConfig
from happycity_league.cycles import run_league
from happycity_league.state import AgentLeague
from happycity_runtime.tokens import PREFIX, Role, StoredTokens, new_secret, new_token, write_tokens
from happycity_runtime.transport import Access
from happycity_server.access.token_file import new_invitation
from happycity_server.app import Clocks, RunningServer, run_server
from happycity_server.config import ServerSettings
from happycity_tournament.cli.json import result_json
from happycity_tournament.client.connection import Connection, connect
from happycity_tournament.client.run_folder import STORE_FILE, TOKENS_FILE, OwnServer, Run, own_store
from happycity_tournament.client.session import ProgressView
from happycity_tournament.config import RandomRounds, RoundRobin, TournamentConfig
from happycity_tournament.hosted.submissions import HostedBot, Submissions, SubmissionState
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.plain_json import plain_json
from happycity_tournament.proof.commitment import Commitment
from happycity_tournament.proof.publication import published_record
from happycity_tournament.proof.tournament_proof import publish
from happycity_tournament.storage.schema import LADDER_SECRET_KEY, meta
from happycity_tournament.storage.sources import StoreSource
from happycity_tournament.storage.store import Store
from tools import ROOT

FOLDER = ROOT / "tests/fixtures/1.0"
EXPECTED = "expected.json"
DIGESTS, README = "SHA256SUMS", "README.md"
POSTGRESQL = "postgresql.sql"
UNRELEASED = "## [Unreleased]"
"""The heading of the changes since the last release in CHANGELOG.md."""
WALL = 1_800_000_000.0
"""The time of all fixtures, in Unix time: it stands still while they are made."""
SALT = "the salt of the fixtures"
BOTS_OF_CUP = ("greedy", "planner", "random", "rogue")
BOTS_OF_LADDER, HOSTED = ("greedy", "planner"), "hosted"
"""Bots that connect to the ladder's server, and the one that it plays itself, in a sandbox."""
TOKENS = {**{f"{role.value}-1": role for role in Role}, **dict.fromkeys((*BOTS_OF_LADDER, HOSTED), Role.BOT)}
"""The names and roles of all tokens."""
PROGRAM = b'''"""Plays the move at a position of the list, or the last one."""

from happycity_client import Bot, Decision, run

POSITION = 0


class Fixed(Bot):
    def choose(self, decision: Decision) -> int:
        return min(POSITION, len(decision.moves) - 1)


run(Fixed)
'''
"""The bot in a sandbox; the edit of an agent changes its constant."""

FINISHED = TournamentConfig(
    bots=BOTS_OF_CUP, game=Config(players=3), format=RoundRobin(), seed=3, concurrency=1
)
STOPPED = TournamentConfig(
    bots=("greedy", "random"),
    game=Config(players=2, mode=Mode.EXPERT),
    format=RandomRounds(rounds=4),
    seed=4,
    concurrency=1,
)
INTERRUPTED = replace(STOPPED, game=Config(players=2), seed=5)
GAMES, SOME_GAMES = 12, 3
"""Games of the finished tournament, and of the others before they ended."""
TABLE, OPEN, PRACTICE = 1, 2, 3
"""The ids of the matches that belong to no tournament, which come first; the one at the table is not over."""
ANSWERS = 6
"""Decisions of the people at the table so far."""
LADDER_DEALS = 6
LADDER = """
anchor = "greedy"
provisional_error = 1000.0
deals_at_once = 1
boards = [{players = 2}]
"""


class MatchLimit:
    """Lets matches begin up to an id, and none after that."""

    def __init__(self) -> None:
        self._last = self._begun = 0
        self._changed = asyncio.Event()

    def _set(self, *, last: int = 0, begun: int = 0) -> None:
        self._last, self._begun = max(self._last, last), max(self._begun, begun)
        self._changed.set()
        self._changed = asyncio.Event()

    def raise_to(self, match_id: int) -> None:
        """Let matches begin up to this one."""
        self._set(last=match_id)

    async def begun(self, match_id: int) -> None:
        """Wait until a bot would move in this match."""
        while self._begun < match_id:
            await self._changed.wait()

    def factory(self, bot: BotFactory) -> BotFactory:
        """Return a bot that waits before its first move of a match until that may begin."""
        limit = self

        class Gated(Bot):
            def __init__(self, start: GameStarted) -> None:
                super().__init__(start)
                self._bot = bot(start)

            async def choose(self, decision: Decision) -> Move | int:
                limit._set(begun=self.start.match_id)
                while self.start.match_id > limit._last:
                    await limit._changed.wait()
                choice = self._bot.choose(decision)
                return choice if isinstance(choice, int | Move) else await choice

        return Gated


class Rogue(Bot):
    """Plays the first move, and chooses a move that isn't there in the third round of every second game."""

    def choose(self, decision: Decision) -> int:
        """Return the position of a move, or one after the last, by which the game is lost."""
        return len(decision.moves) if decision.view.round == 3 and self.start.match_id % 2 else 0


def serving(url: str, **settings: Any) -> AbstractAsyncContextManager[RunningServer]:
    """Serve a store, by clocks that stand still."""
    values = {"listen": "127.0.0.1:0", "store": url, "open": "tokens" not in settings, "grace": 0.0}
    clocks = Clocks(steady=lambda: 0.0, wall=lambda: WALL)
    return run_server(ServerSettings.model_validate(values | settings), clocks=clocks)


@asynccontextmanager
async def served(
    url: str, limit: MatchLimit | None = None, gated: Collection[str] = ("random",), **settings: Any
) -> AsyncIterator[Connection]:
    """Serve a store with all bots; yield an organiser's connection.

    With a ladder these are its bots, and all have tokens.
    """
    names = BOTS_OF_LADDER if "ladder" in settings else BOTS_OF_CUP
    tasks: list[asyncio.Task[None]] = []
    try:
        async with serving(url, **settings) as server:
            for name in names:
                bot: BotFactory = BOTS.get(name, Rogue)
                factory = limit.factory(bot) if limit is not None and name in gated else bot
                own = Settings(name=name, server=server.address, access=access_of(name))
                tasks.append(asyncio.create_task(play(factory, own)))
            async with connect(server.address, access_of("organiser-1")) as connection:
                yield connection
    finally:  # bots that left before would forfeit what they play
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def make_store(url: str) -> list[str]:
    """Begin a game of people, play matches, and tournaments as far as `play_tournaments` plays them.

    The secrets of the people's seats are returned.
    """
    limit = MatchLimit()
    people = await make_table(url)
    async with served(url, limit) as connection:
        config, time = Config(players=2), TimeControl(connect_seconds=10.0)
        await connection.create_match(config, ("planner", "greedy"), seed=6, time=time)
        await match_at_end(partial(connection.call, connection.matches.GetMatch), OPEN)
        await connection.create_practice_match(config, ("greedy", "greedy"), seed=7)
        await match_at_end(partial(connection.call, connection.matches.GetMatch), PRACTICE)
        await play_tournaments(connection, limit, FINISHED, STOPPED, INTERRUPTED, first=PRACTICE + 1)
    return people


async def make_table(url: str) -> list[str]:
    """Let two people sit down by the pages, and begin a game; return the secrets of their seats."""
    async with serving(url, web="127.0.0.1:0") as server:
        web = server.web or ""
        host = await seat_at(f"{web}/play", {"name": "Anna", "seat1": "me", "seat2": "invite", "seed": "8"})
        async with host.page() as page:
            await page.send(json.dumps({"invite": 1}))
            links = (json.loads(message).get("link") async for message in page)
            link = await anext(link async for link in links if link)
        guest = await seat_at(web + link, {"name": "Bob"})
        await choose((host, guest), most=ANSWERS)
    return [host.secret, guest.secret]


@dataclass(frozen=True)
class PersonSeat:
    """The seat of a person, as a browser has it."""

    url: str
    """The page of the table."""
    cookie: str

    @property
    def secret(self) -> str:
        """What the cookie keeps."""
        return self.cookie.partition("=")[2]

    def page(self) -> websockets.connect:
        """Return the socket of the page."""
        url, headers = self.url.replace("http", "ws", 1), {"cookie": self.cookie}
        return websockets.connect(f"{url}?from=0", additional_headers=headers, ping_interval=None)


async def seat_at(url: str, form: Mapping[str, str]) -> PersonSeat:
    """Send the form of a page that gives a seat, and return that."""
    async with AsyncClient() as browser:
        seated = await browser.post(url, data=form)
    assert seated.status_code == HTTPStatus.SEE_OTHER, seated.text
    table, cookie = seated.headers["location"], seated.headers["set-cookie"].partition(";")[0]
    return PersonSeat(str(seated.url.join(table)), cookie)


async def choose(people: Iterable[PersonSeat], *, most: int | None = None) -> None:
    """Let all people of a table choose first moves, until `most` are chosen, or to the end of the game."""
    chosen = 0

    async def choose_at(seat: PersonSeat) -> None:
        nonlocal chosen
        asked = None
        async with seat.page() as page:
            async for text in page:
                message = json.loads(text)
                decision = message.get("decision")
                if message.get("end") or (decision not in (None, asked) and chosen == most):
                    return
                if decision not in (None, asked):
                    asked, chosen = decision, chosen + 1
                    await page.send(json.dumps({"answer": [decision, 0]}))

    tasks = [asyncio.create_task(choose_at(seat)) for seat in people]
    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for task in done:
        task.result()


async def play_tournaments(
    connection: Connection, limit: MatchLimit, *configs: TournamentConfig, first: int = 1
) -> None:
    """Play tournaments as far as they shall be played; `first` is the id of the next match."""
    for number, config in enumerate(configs, 1):
        games = GAMES if config is FINISHED else SOME_GAMES
        limit.raise_to(first + games - 1)
        await connection.create(config)
        await played(connection, number, games)
        if config is STOPPED:
            await connection.stop(number)
        first += games + (config is STOPPED)  # the match that was stopped has an id too


async def played(connection: Connection, number: int, games: int) -> None:
    """Wait until a tournament has this number of games."""
    async for snapshot in connection.watch(number):
        if snapshot.games == games:
            return
    raise AssertionError(f"tournament {number} ended before {games} games")


def make_postgresql(file: Path) -> None:
    """Make the same store in PostgreSQL, and dump it."""
    with postgresql() as cluster:
        url = cluster.new_database()
        asyncio.run(make_store(url))
        file.write_text(dump_postgresql(url), encoding="utf-8")


async def make_ladder(folder: Path, tokens: Path) -> None:
    """Play deals of a ladder, with a hosted bot, and close its season; end in the middle of a deal."""
    config, hosted = folder / "ladder.toml", folder / "bots"
    config.write_text(LADDER, encoding="utf-8")
    submit(hosted)
    with Store.create(own_store(folder)) as store, store.writing() as writing:
        writing.execute(insert(meta).values(key=LADDER_SECRET_KEY, value="1"))
    limit = MatchLimit()
    async with served(
        own_store(folder), limit, BOTS_OF_LADDER, ladder=config, tokens=tokens, hosted=hosted
    ) as connection:

        async def rated(deals: int) -> None:
            """Play until this number of deals is rated."""
            limit.raise_to(2 * deals)
            # Nothing reports that a deal is rated.
            while sum([one.deals for one in await seasons(connection)]) < deals:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

        while HOSTED not in [bot.name for bot in await connection.bots()]:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.1)
        await rated(LADDER_DEALS)
        await connection.call(connection.ladder.CloseSeason, pb.CloseSeasonRequest(season_id=1))
        await rated(LADDER_DEALS + 1)  # the deal that had begun before; the season can be published then
        limit.raise_to(2 * LADDER_DEALS + 3)
        await limit.begun(2 * LADDER_DEALS + 4)  # of a deal, one of two games is over
    keep_only(hosted, "bot.*")


async def seasons(connection: Connection) -> list[pb.Season]:
    """Return the seasons of a server's ladder."""
    return [*(await connection.call(connection.ladder.ListSeasons, pb.ListSeasonsRequest())).seasons]


def submit(folder: Path) -> None:
    """Keep the program of the hosted bot among submissions, as one that has passed its trial."""
    submissions = Submissions(folder)
    bot = HostedBot(name=HOSTED, command="python bot", language="Python")
    with closing(submissions.upload(bot)) as upload:
        upload.take(hosting_pb.SubmissionPart(file=hosting_pb.HostedFile(path="bot")))
        upload.take(hosting_pb.SubmissionPart(content=PROGRAM))
        kept = submissions.keep(upload, HOSTED, datetime.fromtimestamp(WALL, UTC))
    submissions.save(submissions.change(kept, state=SubmissionState.PLAYING))


async def make_run(folder: Path) -> None:
    """Make the folder of a run that was stopped."""
    limit = MatchLimit()
    async with served(own_store(folder), limit) as connection:
        await play_tournaments(connection, limit, STOPPED)
    Run(
        folder=folder,
        tournament_id=1,
        created_at=WALL,
        venue=OwnServer(store=own_store(folder)),
        lineup=Lineup(
            bots=tuple(BotEntry(name=name, builtin=name) for name in STOPPED.bots), directory=Path("/")
        ),
    ).save()


class StopLeagueError(Exception):
    """A league has come to the line at which it shall be stopped."""


class StoppingView(ProgressView):
    """Stops a league where it would play the compared games of its last cycle."""

    def remark(self, text: str) -> None:
        """Stop at the line."""
        if text == "cycle 1: ann-0":
            raise StopLeagueError


def make_leagues(folder: Path) -> None:
    """Play a league that is stopped, a copy of which is kept, and resumed to its end.

    In its last cycle the edit of one agent is accepted, and that of the other fails.
    """
    project = folder / "project"
    project.mkdir()
    (project / "bot").write_bytes(PROGRAM)
    (project / "bot.toml").write_text('name = "first"\ncommand = "python bot"\nfiles = ["bot"]\n')
    edit = """sh -c "sed -i s/0/1/ bot && echo '{\\"tokens\\": 12}' > usage.json" """
    agents = (
        AgentConfig(name="ann", project="project", command=edit.strip(), network=False),
        AgentConfig(name="bob", project="project", command="false", network=False),
    )
    config = LeagueConfig(agents=agents, anchors=("greedy",), cycles=1, deals=2, seats=2, seed=1, salt=SALT)
    with chdir(folder):  # so that the league names no path of this machine
        league = AgentLeague.create(folder / "league", config)
        with suppress(StopLeagueError):
            asyncio.run(run_league(league, StoppingView()))
        shutil.copytree(folder / "league", folder / "league-stopped")
        asyncio.run(run_league(AgentLeague.load(folder / "league"), ProgressView()))
    shutil.rmtree(project)
    for made in folder.glob("league*"):
        keep_only(made, "*.json", STORE_FILE, "bots")
        (made / TOKENS_FILE).unlink()  # of a server that has ended
        keep_only(made / "bots", "bot.*")
        for submission in made.glob("bots/*/*"):
            keep_only(submission, "files", "submission.json")


def keep_only(folder: Path, *patterns: str) -> None:
    """Remove from a folder what no later version needs, such as logs and the profile of a sandbox."""
    for path in folder.iterdir():
        if path.is_dir() and not any(map(path.match, patterns)):
            shutil.rmtree(path)
        elif not any(map(path.match, patterns)):
            path.unlink()


def make_records(store: Path, file: Path) -> None:
    """Write records of all modes and numbers of seats, with moves of a bot for a person, and forfeits."""
    lines = []
    for mode, players in product(Mode, range(2, 6)):
        deal = Deal.shuffle(Config(players=players, mode=mode), seed=players)
        record = record_random_game(deal, movers_rng(players))
        for move in record["moves"][::players]:
            move["by"] = "careless"
        lines.append({"bots": [f"bot-{seat}" for seat in range(players)], **record})
    with closing(StoreSource(f"sqlite:///{store}", tournament=1)) as source:
        lines += [
            published_record(game, record) for game, record in islice(source.games(with_records=True), 2)
        ]
    file.write_text("".join(f"{dumps(line)}\n" for line in lines), encoding="utf-8")


def make_tokens(file: Path) -> None:
    """Write a file with a token of each role, those of the ladder's bots, and an invitation."""
    created = datetime.fromtimestamp(WALL, UTC)
    tokens = [
        new_token(role, name, created=created, source=partial(fixed_secret, name))[1]
        for name, role in TOKENS.items()
    ]
    _, invitation = new_invitation("guest", 3, created=created, source=partial(fixed_secret, "guest"))
    write_tokens(file, StoredTokens(tokens=tokens, invitations=[invitation]))


def fixed_secret(name: str) -> bytes:
    """Return the 64 bytes from which the text of a token or an invitation is made."""
    return hashlib.sha512(f"fixture {name}".encode()).digest()


def access_of(name: str) -> Access:
    """Return the access of a bot or a person, with the token of that name."""
    return Access(token=new_secret(PREFIX, partial(fixed_secret, name))[0])


def dump(path: Path) -> str:
    """Return a SQLite database as SQL, always the same for the same content."""
    with closing(sqlite3.connect(path)) as connection:
        return _in_order(connection.iterdump())


def dump_postgresql(url: str) -> str:
    """Return a PostgreSQL database as SQL, likewise."""
    command = ("pg_dump", "--inserts", "--no-owner", "--no-privileges", url.replace("+psycopg", ""))
    dumped = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    # Newer versions of pg_dump begin and end with a command for psql.
    return _in_order(line for line in dumped.splitlines() if line and not line.startswith(("--", "\\")))


def _in_order(statements: Iterable[str]) -> str:
    """Return SQL with its rows and indexes, which are added in any order, in order."""
    ordered: list[str] = []
    for kind, group in groupby(statements, key=_kind):
        rows = list(group)
        ordered += sorted(rows) if kind else rows
    return "\n".join([*ordered, ""])


def _kind(statement: str) -> str:
    """Return what a statement has in common with those of which the order doesn't matter; "" for others."""
    if statement.startswith("INSERT"):
        return statement.partition("(")[0]
    return "CREATE INDEX" if statement.startswith("CREATE INDEX") else ""


def as_text(folder: Path, into: Path) -> None:
    """Write all files of a folder as text: databases as SQL, packed files in Base64."""
    for path in sorted(folder.rglob("*")):
        target = into / path.relative_to(folder)
        if path.suffix == ".sqlite":
            target, content = target.with_name(f"{path.name}.sql"), dump(path)
        elif path.suffix == ".gz":
            target = target.with_name(f"{path.name}.base64")
            content = base64.encodebytes(path.read_bytes()).decode()
        elif path.is_file() and path.suffix != ".lock":
            content = path.read_text("utf-8")
        else:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")


def restore(texts: Path, folder: Path) -> None:
    """Write the files of which a folder has the texts."""
    for path in texts.rglob("*"):
        target = folder / path.relative_to(texts)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.name.endswith(".sqlite.sql"):
            with closing(sqlite3.connect(target.with_suffix(""))) as connection:
                connection.executescript(path.read_text("utf-8"))
        elif path.suffix == ".base64":
            target.with_suffix("").write_bytes(base64.decodebytes(path.read_bytes()))
        else:
            target.write_bytes(path.read_bytes())


def digests(folder: Path) -> str:
    """Return the SHA-256 of all texts of a folder, as `sha256sum` prints them."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name not in (DIGESTS, README)
    )
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    )


async def resumed(url: str) -> Json:
    """Play what is missing in the tournaments of a restored store; return how these and its matches ended."""
    async with served(url) as connection:
        await connection.resume(2)
        ends = [[one async for one in connection.watch(number)][-1] for number in (1, 2, 3)]
        matches = [(await connection.game(number))[0] for number in (OPEN, PRACTICE)]
    of_match = ("bots", "points", "places", "practice")
    return {
        "matches": [{name: plain_json(getattr(match, name)) for name in of_match} for match in matches],
        "tournaments": [stable(result_json(end)) for end in ends],
    }


def stable(result: Json) -> Json:
    """Return how a tournament has ended, but for what its bots say of themselves and where they log."""
    kept: Json = plain_json({key: result[key] for key in ("state", "games", "rating", "standings")})
    for line in kept["standings"]:
        del line["about"], line["log"]
    return kept


def written_by() -> str:
    """Return the version that has written the fixtures."""
    return str(json.loads((FOLDER / EXPECTED).read_text())["written_by"])


def are_final() -> bool:
    """Return whether the fixtures are never made again: a version from 1.0 on wrote them, and is released.

    It is if this tree is of another version, or has changes since that one.
    """
    writer = written_by()
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return not writer.startswith("0.") and (writer != version("happycity") or UNRELEASED in changelog)


def make_all(folder: Path) -> None:
    """Make all fixtures, as texts in a folder."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        for kind in ("store", "run", "ladder"):
            (top / kind).mkdir()
        store = top / "store" / STORE_FILE
        people = asyncio.run(make_store(own_store(top / "store")))
        make_postgresql(top / POSTGRESQL)
        asyncio.run(make_run(top / "run"))
        make_records(store, top / "records.jsonl")
        make_tokens(top / "tokens.json")
        with closing(StoreSource(f"sqlite:///{store}", tournament=1)) as source:
            publish(source, Commitment.to(FINISHED, salt=SALT), top / "publication", processes=1)
        asyncio.run(make_ladder(top / "ladder", top / "tokens.json"))
        with Store.existing(own_store(top / "ladder")) as opened:
            publish_season(opened, 1, top / "season", processes=1)
        make_leagues(top)
        as_text(top, folder)
        expected = {
            "written_by": version("happycity"),
            "people": people,
            "ends": asyncio.run(resumed(own_store(top / "store"))),
        }
        (folder / EXPECTED).write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    (folder / DIGESTS).write_text(digests(folder), encoding="utf-8")


def main() -> None:
    """Make them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="where to write them")
    folder = parser.parse_args().folder
    if folder == FOLDER and are_final():
        sys.exit(f"error: {folder}: {written_by()} is released; add a migration instead")
    with tempfile.TemporaryDirectory() as name:
        made = Path(name) / "made"
        make_all(made)
        if folder == FOLDER:
            keep_only(FOLDER, README)
        shutil.copytree(made, folder, dirs_exist_ok=True)
