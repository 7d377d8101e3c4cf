"""Measure what the store costs: `rate`, `backup`, `ladder`, `start`, `schedule`.

rate: CPU seconds of `tournament rate` of 100,000 games at tables of four and 1,000,000 at tables of two.

backup: how long a backup of a store that is written to takes, and its restoring, and how commits wait.

ladder: how a ladder's store grows in a year, and what that and its ratings' start cost.

start: CPU seconds and memory of a server when it listens, by the number of games in its store.

schedule: how many games a second one server can schedule, store and count. The runner, the standings and the
store are the real ones; the matches are instant, as if any number of workers played them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import numpy as np

from happycity import BotInfo, Config, Deal, SeatResult, VoidReason
from happycity.records.random_games import record_random_game
from happycity_ladder.book import Book
from happycity_ladder.entries import DealKind, NewDeal
from happycity_ladder.ladder_config import LadderConfig
from happycity_runtime.event_loop import run
from happycity_server.ladder.ratings import LadderRatings
from happycity_server.ladder.served_book import ServedBook
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.play.progress import TournamentStatus
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.packing import pack
from happycity_tournament.storage.store import Store
from tools.benchmarks.harness import COMMANDS, additions, cpu_of_children, serve, store_url
from tools.benchmarks.models import League
from tools.benchmarks.ratings import spread

RECORD_BYTES = 1600
"""A record of a game at a table of four, compressed."""
GAMES_AT_ONCE = 25
"""Games in a commit: those of 50 ms where 500 games a second are finished."""
PAUSE_SECONDS = 0.05
"""Between two commits, as a server has them: it is the load that is measured, and waits for nothing."""
COMMITS = 200
"""Commits that are measured without a backup, for comparison."""
YEAR = 365 * 86400.0
VERSIONS = 17
"""Versions of each of a ladder's bots in the year: one in three weeks."""
SEATS = 4
STEPS = 4
"""How often a ladder's store is measured."""


def finished_games(league: League, seats: int, deals: int) -> Iterator[FinishedGame]:
    """Yield games of no tournament; what ratings don't use is the same in all."""
    rng = np.random.default_rng(5)
    table = league.games({seats: deals}, rng).tables[seats]
    seeds = rng.integers(0, 2**62, deals).tolist()
    columns = (table.bots.tolist(), table.places.tolist(), table.deals.tolist())
    for number, (bots, places, deal) in enumerate(zip(*columns, strict=True), start=1):
        yield FinishedGame(
            match_id=number,
            deal_seed=seeds[deal],
            config=Config(players=seats),
            bots=tuple(league.bots[bot] for bot in bots),
            bot_seeds=(0,) * seats,
            seats=tuple(SeatResult(90 - place, number % 97, 0, 0, place, place) for place in places),
            decisions=60,
            created_at=0.0,
            started_at=0.0,
            finished_at=0.0,
        )


def noise() -> bytes:
    """Return a record, which is noise, as those of real games are compressed already."""
    return os.urandom(RECORD_BYTES)


def fill(folder: Path, games: Iterator[FinishedGame], *, records: bool) -> None:
    """Make a store of games."""
    with Store.create(store_url(folder)) as store:
        while some := list(islice(games, 10_000)):
            store.add_games([(game, noise() if records else None) for game in some])


# tournament rate


def rate(given: argparse.Namespace, folder: Path) -> None:
    """Rate a store of each kind, and print the CPU seconds, those of the start of Python included."""
    for bots, seats, games in ((20, 4, 100_000), (50, 2, 1_000_000)):
        league = League(spread(bots, 150))
        part = folder / str(seats)
        part.mkdir()
        count = int(games * given.share) // seats * seats
        fill(part, finished_games(league, seats, count // seats), records=False)
        before = cpu_of_children()
        command = [str(COMMANDS / "tournament"), "rate", str(part / "games.sqlite"), "--json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = cpu_of_children() - before
        print(f"{count:>9,} games, {seats} seats, {bots} bots: {seconds:5.2f} CPU s", flush=True)


# happycity backup


def backup(given: argparse.Namespace, folder: Path) -> None:
    """Commit games without a backup, during one, and while it is restored, and print how long all took."""
    fill(folder, finished_games(League(spread(20, 150)), 4, given.games // 4), records=True)
    print(f"{given.games:,} games, {(folder / 'games.sqlite').stat().st_size / 1e6:,.0f} MB", flush=True)
    with Store.create(store_url(folder)) as store:
        store.claim()
        waits = commits(store)
        _show("without a backup", list(islice(waits, COMMITS)))
        copy, restored = str(folder / "copy.sqlite"), f"sqlite:///{folder}/restored.sqlite"
        for name, *arguments in (
            ("backup", "--store", store_url(folder)),
            ("restoring", "--restore", "--store", restored),
        ):
            before, started = cpu_of_children(), time.perf_counter()
            process = subprocess.Popen([str(COMMANDS / "happycity"), "backup", copy, *arguments])
            waited = []
            while process.poll() is None:
                waited.append(next(waits))
            if process.returncode:
                raise SystemExit(process.returncode)
            seconds, cpu = time.perf_counter() - started, cpu_of_children() - before
            print(f"{name} took {seconds:.1f} s, {cpu:.1f} s of CPU")
            _show(f"during the {name}", waited)
            print(f"the log grew to {(folder / 'games.sqlite-wal').stat().st_size / 1e6:,.0f} MB", flush=True)


def commits(store: Store) -> Iterator[float]:
    """Store games as a server does, again and again; yield the seconds that each commit took."""
    game, number = store.game(1), store.next_match_id()
    assert game is not None
    while True:
        time.sleep(PAUSE_SECONDS)
        batch = [(replace(game, match_id=number + index), noise()) for index in range(GAMES_AT_ONCE)]
        number += GAMES_AT_ONCE
        started = time.perf_counter()
        store.add_games(batch)
        yield time.perf_counter() - started


def _show(name: str, seconds: list[float]) -> None:
    print(f"{name}: {len(seconds)} commits, median {median(seconds):.4f} s, longest {max(seconds):.3f} s")


# A ladder's year


class Growing:
    """A store that a ladder of some bots writes to, in the time of a year."""

    def __init__(self, store: Store, games: int, bots: int) -> None:
        self.games = 0
        self._store = store
        self._ladder = Book(store)
        self._ladder.open_season(0.0)
        self._results = cycle(list(finished_games(League(spread(20, 150)), SEATS, 1000)))
        self._second, self._bots = YEAR / games, bots
        self._versions: dict[str, int] = {}
        self._rng = random.Random(1)

    def play(self) -> None:
        """Begin some deals in one transaction, and store their games in another one."""
        now = self.games * self._second
        new = [self._deal(now) for _ in range(GAMES_AT_ONCE)]
        batch: list[tuple[FinishedGame, bytes]] = []
        for deal, planned in zip(self._ladder.begin_deals(new, now), new, strict=True):
            for rotation in range(SEATS):
                self.games += 1
                at = self.games * self._second
                game = replace(
                    next(self._results),
                    match_id=self.games,
                    deal_seed=deal.deal_seed,
                    bots=planned.bots[rotation:] + planned.bots[:rotation],
                    ladder=(deal.id, rotation),
                    created_at=at,
                    started_at=at,
                    finished_at=at,
                )
                batch.append((game, noise()))
        self._store.add_games(batch)

    def _deal(self, now: float) -> NewDeal:
        bots = tuple(f"bot-{bot:03}" for bot in self._rng.sample(range(self._bots), SEATS))
        versions = tuple(self._version(bot, now) for bot in bots)
        return NewDeal(board="4-family", kind=DealKind.RATED, versions=versions, bots=bots)

    def _version(self, name: str, now: float) -> int:
        """Return the version of a bot at a time, which connects when it is new."""
        number = int(now / YEAR * VERSIONS)
        key = f"{name} {number}"
        if key not in self._versions:
            profile = BotProfile(BotInfo(version=str(number)))
            self._versions[key] = self._ladder.enter_version(name, profile, now, owner=name).id
        return self._versions[key]


def ladder(given: argparse.Namespace, folder: Path) -> None:
    """Print how the store has grown, and the CPU time to store and to rate a game, some times in the year."""
    path, games = folder / "games.sqlite", given.games
    with Store.create(store_url(folder)) as store:
        store.claim()
        growing = Growing(store, games, given.bots)
        for step in range(1, STEPS + 1):
            began = time.process_time()
            while growing.games < games * step // STEPS:
                growing.play()
            written = time.process_time() - began
            asyncio.run(_rate_deals(store))
            rated = time.process_time() - began - written
            size, each = path.stat().st_size, games / STEPS
            print(
                f"{growing.games:,} games: {size / 1e6:,.0f} MB, {size / growing.games:,.0f} bytes a game; "
                f"CPU ms a game: {written / each * 1e3:.2f} to store, {rated / each * 1e3:.2f} to rate",
                flush=True,
            )
        began = time.process_time()
        asyncio.run(_rate_deals(store))
        print(f"its ratings are there after {time.process_time() - began:.2f} CPU s")
    query = "SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY 1"
    with closing(sqlite3.connect(path)) as database:
        for table, size in database.execute(f"{query} ORDER BY 2 DESC"):  # with its indexes
            print(f"  {table:18} {size / games:8,.1f} bytes a game")


async def _rate_deals(store: Store) -> None:
    """Rate all deals that are not rated yet, and keep the ratings and their history."""
    async with AsyncStore(store) as async_store:
        ratings = LadderRatings(ServedBook(LadderConfig(), async_store, lambda: YEAR))
        await ratings.load()
        await ratings.catch_up()
        await ratings.save()
        ratings.close()


def start(given: argparse.Namespace, folder: Path) -> None:
    """Start a server with each number of games, in turns, and print what it has used when it listens."""
    folders = {games: folder / str(games) for games in given.games}
    for games, part in folders.items():
        part.mkdir()
        fill(part, finished_games(League(spread(20, 150)), SEATS, games // SEATS), records=True)
    for games in [*given.games] * 5:
        with ExitStack() as stack:
            server, _ = serve(stack, folders[games], "--web", "127.0.0.1:0")
            used = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{server.pid}/status").read_text().split()
            seconds = (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")
            megabytes = int(status[status.index("VmHWM:") + 1]) / 1024
            print(f"{games:,} games: {seconds:.2f} CPU s, {megabytes:.0f} MB", flush=True)


# Instant games


class InstantHost:
    """A `MatchHost` whose games are over as soon as they begin, but stored like all others."""

    places = 1

    def __init__(self, store: AsyncStore) -> None:
        self.change_listeners: list[Callable[[], None]] = []
        self._store = store
        self._game = next(finished_games(League(spread(20, 150)), SEATS, 1))
        self._match_id = 0
        deals = [Deal.shuffle(Config(), seed=seed) for seed in range(50)]
        self._records = [pack(partial(record_random_game, deal, random.Random(1))) for deal in deals]

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Return that no bot is missing."""
        return []

    def connected(self) -> list[str]:
        """Return that no other bot is there."""
        return []

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        """Return at once: there is no bot to wait for."""

    async def play(self, spec: MatchSpec) -> FinishedGame | VoidReason:
        """Store a game as the one that is asked for."""
        self._match_id += 1
        now = time.time()
        game = replace(
            self._game,
            match_id=self._match_id,
            tournament_id=spec.tournament_id,
            position=spec.position,
            deal_seed=spec.deal.seed,
            bots=spec.bots,
            bot_seeds=spec.bot_seeds,
            created_at=now,
            started_at=now,
            finished_at=now,
        )
        await self._store.save(game, self._records[self._match_id % len(self._records)])
        return game

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Do nothing: no game runs."""

    def drop_waiting(self, tournament_id: int) -> None:
        """Do nothing: no game waits."""

    def void_slow_matches(self, tournament_id: int, seconds: float) -> None:
        """Do nothing: no game takes long."""


def schedule(given: argparse.Namespace, folder: Path) -> None:
    """Play a tournament some times, print what each took, and the median of games a second."""
    rates = []
    for repeat in range(given.repeats):
        part = folder / str(repeat)
        part.mkdir()
        wall, loop, threads = run(_tournament(store_url(part), given.games))
        rates.append(given.games / wall)
        print(
            f"{rates[-1]:,.0f} games/s; CPU us a game: event loop {loop / given.games * 1e6:.1f}, "
            f"all threads {threads / given.games * 1e6:.1f}; plain loop {additions():.1f} M additions/s",
            flush=True,
        )
    print(f"median {median(rates):,.0f} games/s")


async def _tournament(url: str, games: int) -> tuple[float, float, float]:
    """Play a tournament; return wall seconds, and CPU seconds of the event loop and of all threads."""
    bots = tuple(f"bot-{number}" for number in range(8))
    config = TournamentConfig(bots=bots, game=Config(), format=RandomRounds(rounds=games // 8), seed=1)
    with Store.create(url) as store:
        store.claim()
        async with AsyncStore(store) as async_store:
            plan = schedule_of(config)
            number = store.create_tournament(config.json(), games_total=plan.total_games, created_at=0.0)
            status = TournamentStatus(number, config, plan, created_at=0.0)
            host = InstantHost(async_store)
            started, loop, threads = time.perf_counter(), time.thread_time(), time.process_time()
            await TournamentRun(status, host=host, store=async_store).run()
            assert status.complete
            assert store.progress(number).games == plan.total_games
            return time.perf_counter() - started, time.thread_time() - loop, time.process_time() - threads


def main() -> None:
    """Run one of the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)

    command = commands.add_parser("rate")
    command.set_defaults(run=rate)
    command.add_argument("--share", type=float, default=1.0, help="share of the games to make, to try it out")

    command = commands.add_parser("backup")
    command.set_defaults(run=backup)
    command.add_argument("--games", type=int, default=1_000_000)

    command = commands.add_parser("ladder")
    command.set_defaults(run=ladder)
    command.add_argument("--games", type=int, default=1_000_000, help="games of the year")
    command.add_argument("--bots", type=int, default=200)

    command = commands.add_parser("start")
    command.set_defaults(run=start)
    command.add_argument("--games", type=int, nargs="*", default=[1000, 1_000_000])

    command = commands.add_parser("schedule")
    command.set_defaults(run=schedule)
    command.add_argument("--games", type=int, default=20_000)
    command.add_argument("--repeats", type=int, default=3)

    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        given.run(given, Path(folder))
