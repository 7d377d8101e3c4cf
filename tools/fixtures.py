"""Make the fixtures of 1.0: a small store, run, publication and so on that every later version reads.

Once 1.0 is released they are never made again: a later version has to read what 1.0 wrote. Seeds, salts and
times are fixed, so what is made twice is equal, but for the ids of requests, which clients draw, for `ladder`
and `season`, whose pairing nobody foresees, and for the digest of the sources of bots in `league`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import groupby, islice, product
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from happycity import Config, Deal, Mode, Move
from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import Json, dumps
from happycity_bots import BOTS
from happycity_client import Bot, BotFactory, Decision, GameStarted, Settings, play
from happycity_ladder.season_proof import publish_season
from happycity_league.config import AgentConfig, LeagueConfig
from happycity_league.state import AgentLeague, Edit, EditOutcome
from happycity_runtime.tokens import Role, StoredTokens, new_token, write_tokens
from happycity_runtime.transport import Access
from happycity_server.access.token_file import new_invitation
from happycity_server.app import Clocks, run_server
from happycity_server.config import ServerSettings
from happycity_tournament.cli.json import result_json
from happycity_tournament.client.connection import Connection, connect
from happycity_tournament.client.run_folder import STORE_FILE, OwnServer, Run, own_store
from happycity_tournament.config import RandomRounds, RoundRobin, TournamentConfig
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
DIGESTS = "SHA256SUMS"
WALL = 1_800_000_000.0
"""The time of all fixtures, in Unix time: it stands still while they are made."""
SALT = "the salt of the fixtures"
BOTS_OF_CUP = ("greedy", "planner", "random", "rogue")

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
        self._last = 0
        self._moved = asyncio.Condition()

    async def raise_to(self, match_id: int) -> None:
        """Let matches begin up to this one."""
        async with self._moved:
            self._last = match_id
            self._moved.notify_all()

    def factory(self, bot: BotFactory) -> BotFactory:
        """Return a bot that waits before its first move of a match until that may begin."""
        limit = self

        class Gated(Bot):
            def __init__(self, start: GameStarted) -> None:
                super().__init__(start)
                self._bot = bot(start)

            async def choose(self, decision: Decision) -> Move | int:
                async with limit._moved:
                    await limit._moved.wait_for(lambda: self.start.match_id <= limit._last)
                choice = self._bot.choose(decision)
                return choice if isinstance(choice, int | Move) else await choice

        return Gated


class Rogue(Bot):
    """Plays the first move, and chooses a move that isn't there in the third round of every second game."""

    def choose(self, decision: Decision) -> int:
        """Return the position of a move, or one after the last, by which the game is lost."""
        return len(decision.moves) if decision.view.round == 3 and self.start.match_id % 2 else 0


@asynccontextmanager
async def served(
    url: str, limit: MatchLimit | None = None, gated: Collection[str] = ("random",), **settings: Any
) -> AsyncIterator[Connection]:
    """Serve a store, by clocks that stand still, with all bots; yield a connection."""
    values = {"listen": "127.0.0.1:0", "store": url, "open": True, "grace": 0.0, **settings}
    clocks = Clocks(steady=lambda: 0.0, wall=lambda: WALL)
    tasks: list[asyncio.Task[None]] = []
    try:
        async with run_server(ServerSettings.model_validate(values), clocks=clocks) as server:
            for name in BOTS_OF_CUP:
                bot: BotFactory = BOTS.get(name, Rogue)
                factory = limit.factory(bot) if limit is not None and name in gated else bot
                tasks.append(asyncio.create_task(play(factory, Settings(name=name, server=server.address))))
            async with connect(server.address, Access()) as connection:
                yield connection
    finally:  # bots that left before would forfeit what they play
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def played(connection: Connection, number: int, games: int) -> None:
    """Wait until a tournament has this number of games."""
    async for snapshot in connection.watch(number):
        if snapshot.games == games:
            return
    raise AssertionError(f"tournament {number} ended before {games} games")


async def make_store(folder: Path, *configs: TournamentConfig) -> None:
    """Play FINISHED to its end, STOPPED until it is stopped, INTERRUPTED until the server ends."""
    limit, first = MatchLimit(), 1
    async with served(own_store(folder), limit) as connection:
        for number, config in enumerate(configs, 1):
            games = GAMES if config is FINISHED else SOME_GAMES
            await limit.raise_to(first + games - 1)
            await connection.create(config)
            await played(connection, number, games)
            if config is STOPPED:
                await connection.stop(number)
            first += games + (config is STOPPED)  # the match that was stopped has an id too


async def make_ladder(folder: Path) -> None:
    """Play deals of a ladder, and close its season."""
    config = folder / "ladder.toml"
    config.write_text(LADDER, encoding="utf-8")
    with Store.create(own_store(folder)) as store, store.writing() as writing:
        writing.execute(insert(meta).values(key=LADDER_SECRET_KEY, value="1"))
    limit = MatchLimit()
    async with served(own_store(folder), limit, gated=BOTS_OF_CUP, ladder=config) as connection:
        ladder, seasons = connection.ladder, pb.ListSeasonsRequest()

        async def rated(deals: int) -> None:
            """Play until this number of deals is rated."""
            await limit.raise_to(2 * deals)
            # Nothing reports that a deal is rated.
            while sum(one.deals for one in (await ladder.ListSeasons(seasons)).seasons) < deals:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

        await rated(LADDER_DEALS)
        await ladder.CloseSeason(pb.CloseSeasonRequest(season_id=1))
        await rated(LADDER_DEALS + 1)  # the deal that had begun before; the season can be published then


def make_run(folder: Path) -> None:
    """Make the folder of a run that was stopped."""
    asyncio.run(make_store(folder, STOPPED))
    Run(
        folder=folder,
        tournament_id=1,
        created_at=WALL,
        venue=OwnServer(store=own_store(folder)),
        lineup=Lineup(
            bots=tuple(BotEntry(name=name, builtin=name) for name in STOPPED.bots), directory=Path("/")
        ),
    ).save()


def make_league(folder: Path) -> None:
    """Write the state of a league in whose first cycle one edit was accepted and another failed.

    It has no games, as bots of a league play in a sandbox, which not every machine has.
    """
    names = ("ann", "bob")
    agents = tuple(AgentConfig(name=name, project=name, command="true") for name in names)
    config = LeagueConfig(agents=agents, anchors=("greedy",), cycles=1, deals=2, seats=2, seed=1, salt=SALT)
    league = AgentLeague.create(folder, config)
    league.begin_cycle()
    accepted = Edit(
        outcome=EditOutcome.ACCEPTED, seconds=1.5, changed_lines=3, usage={"tokens": 12.0}, digest="a" * 64,
        content="b" * 64, plays="ann-0",
    )  # fmt: skip
    failed = Edit(outcome=EditOutcome.FAILED, reason=("status 1",))
    league.change(edits={"ann": accepted, "bob": failed})
    league.change(chain=league.link(league.cycles[0]), is_played=True)


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
    """Write a file with a token of each role, and an invitation, by their `fixed_secret`."""
    created = datetime.fromtimestamp(WALL, UTC)
    tokens = [
        new_token(role, f"{role.value}-1", created=created, source=partial(fixed_secret, number))[1]
        for number, role in enumerate(Role)
    ]
    _, invitation = new_invitation("guest", 3, created=created, source=partial(fixed_secret, 9))
    write_tokens(file, StoredTokens(tokens=tokens, invitations=[invitation]))


def fixed_secret(number: int) -> bytes:
    """Return the 64 bytes from which the text of a token or an invitation is made."""
    return hashlib.sha512(f"fixture {number}".encode()).digest()


def dump(path: Path) -> str:
    """Return a SQLite database as SQL, always the same for the same content."""
    with closing(sqlite3.connect(path)) as connection:
        lines = list(connection.iterdump())
    ordered: list[str] = []
    for kind, statements in groupby(lines, key=_kind):
        group = list(statements)
        ordered += sorted(group) if kind else group  # rows and indexes are added in any order
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
        if path.suffix == ".sql":
            with closing(sqlite3.connect(target.with_suffix(""))) as connection:
                connection.executescript(path.read_text("utf-8"))
        elif path.suffix == ".base64":
            target.with_suffix("").write_bytes(base64.decodebytes(path.read_bytes()))
        else:
            target.write_bytes(path.read_bytes())


def digests(folder: Path) -> str:
    """Return the SHA-256 of all texts of a folder, as `sha256sum` prints them."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name not in (DIGESTS, "README.md")
    )
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    )


async def resumed(url: str) -> list[Json]:
    """Play what is missing in the tournaments of a restored store, and return how each of them ends."""
    async with served(url) as connection:
        await connection.resume(2)
        ends = [[one async for one in connection.watch(number)][-1] for number in (1, 2, 3)]
    return [stable(result_json(end)) for end in ends]


def stable(result: Json) -> Json:
    """Return how a tournament has ended, but for what its bots say of themselves and where they log."""
    kept: Json = plain_json({key: result[key] for key in ("state", "games", "rating", "standings")})
    for line in kept["standings"]:
        del line["about"], line["log"]
    return kept


def main() -> None:
    """Make them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="where to write them")
    folder = parser.parse_args().folder
    if version("happycity").startswith("1.") and folder == FOLDER:
        sys.exit(f"error: {folder}: 1.0 wrote them; add a migration instead of making them again")
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        for kind in ("store", "run", "ladder"):
            (top / kind).mkdir()
        asyncio.run(make_store(top / "store", FINISHED, STOPPED, INTERRUPTED))
        make_run(top / "run")
        make_league(top / "league")
        store = top / "store" / STORE_FILE
        make_records(store, top / "records.jsonl")
        make_tokens(top / "tokens.json")
        with closing(StoreSource(f"sqlite:///{store}", tournament=1)) as source:
            publish(source, Commitment.to(FINISHED, salt=SALT), top / "publication", processes=1)
        asyncio.run(make_ladder(top / "ladder"))
        with Store.existing(own_store(top / "ladder")) as opened:
            publish_season(opened, 1, top / "season", processes=1)
        as_text(top, folder)
        (folder / EXPECTED).write_text(
            json.dumps(asyncio.run(resumed(own_store(top / "store"))), indent=1) + "\n", encoding="utf-8"
        )
    (folder / DIGESTS).write_text(digests(folder), encoding="utf-8")
