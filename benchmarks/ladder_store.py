"""`python -m benchmarks.ladder_store`: how a ladder's store grows in a year, and what that costs."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from benchmarks.backup import RECORD_BYTES, fill
from happycity import BotInfo
from happycity_ladder.entries import DealKind, NewDeal
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.ladder_store import LadderStore
from happycity_server.ladder.ratings import Ratings
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.storage import AsyncStore, Store

YEAR = 365 * 86400.0
BOTS = 200
VERSIONS = 17
"""Versions of each bot in the year: one in three weeks."""
PLAYERS = 4
DEALS_AT_ONCE = 25
"""Deals that begin, and whose games are stored, in one transaction each."""
TEMPLATES = 4000
"""Different results, which are used again and again."""
STEPS = 4
"""How often the store is measured."""


def results(folder: Path) -> Iterator[FinishedGame]:
    """Yield results of games, without an end."""
    url = f"sqlite:///{folder}/results.sqlite"
    fill(url, TEMPLATES)
    with Store.existing(url) as store:
        return cycle([game for game, _ in store.all_games()])


class Growing:
    """A store that a ladder writes to, in the time of a year."""

    def __init__(self, store: Store, games: int, results: Iterator[FinishedGame]) -> None:
        self._store = store
        self._ladder = LadderStore(store)
        self._season = self._ladder.open_season(0.0).id
        self._results = results
        self._second = YEAR / games
        self._games = 0
        self._versions: dict[str, int] = {}
        self._rng = random.Random(1)

    def play(self, games: int) -> None:
        """Play deals until there are so many games."""
        while self._games < games:
            self._deals(DEALS_AT_ONCE)

    def _deals(self, count: int) -> None:
        now = self._games * self._second
        lineups = [self._rng.sample(range(BOTS), PLAYERS) for _ in range(count)]
        new = [
            NewDeal(
                board="4-family",
                kind=DealKind.RATED,
                versions=tuple(self._version(bot, now) for bot in lineup),
                bots=tuple(f"bot-{bot:03}" for bot in lineup),
            )
            for lineup in lineups
        ]
        begun = self._ladder.begin_deals(self._season, new, now)
        batch: list[tuple[FinishedGame, bytes]] = []
        for deal, planned in zip(begun, new, strict=True):
            for rotation in range(PLAYERS):
                self._games += 1
                at = self._games * self._second
                game = replace(
                    next(self._results),
                    match_id=self._games,
                    deal_seed=deal.deal_seed,
                    bots=planned.bots[rotation:] + planned.bots[:rotation],
                    tournament_id=None,
                    position=None,
                    ladder=(deal.id, rotation),
                    created_at=at,
                    started_at=at,
                    finished_at=at,
                )
                batch.append((game, os.urandom(RECORD_BYTES)))
        self._store.add_games(batch)

    def _version(self, bot: int, now: float) -> int:
        """Return the version of a bot at a time, which connects when it is new."""
        name = f"bot-{bot:03}"
        number = int(now / YEAR * VERSIONS)
        key = f"{name} {number}"
        if key not in self._versions:
            profile = BotProfile(BotInfo(version=str(number)))
            self._versions[key] = self._ladder.enter_version(name, profile, now, owner=name).id
        return self._versions[key]


async def rate(store: Store) -> None:
    """Rate all deals that are not rated yet, and keep the ratings and their history."""
    async with AsyncStore(store) as async_store:
        ratings = Ratings(LadderConfig(), async_store, lambda: YEAR)
        await ratings.load()
        await ratings.catch_up()
        await ratings.save()
        ratings.close()


def sizes(path: Path) -> Sequence[tuple[str, int]]:
    """Return the tables of a SQLite store with their indexes and their bytes, the largest first."""
    query = """SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_schema USING (name)
               GROUP BY tbl_name ORDER BY 2 DESC"""
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=1_000_000, help="games of the year (%(default)s)")
    games = parser.parse_args().games
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "games.sqlite"
        with Store.create(f"sqlite:///{path}") as store:
            store.claim()
            growing = Growing(store, games, results(Path(name)))
            for step in range(1, STEPS + 1):
                played, began = games * step // STEPS, time.process_time()
                growing.play(played)
                written = time.process_time() - began
                asyncio.run(rate(store))
                rated = time.process_time() - began - written
                size, each = path.stat().st_size, games / STEPS
                print(
                    f"{played:,} games: {size / 1e6:,.0f} MB, {size / played:,.0f} bytes a game; "
                    f"CPU ms a game: {written / each * 1e3:.2f} to store, {rated / each * 1e3:.2f} to rate",
                    flush=True,
                )
        for table, size in sizes(path):
            print(f"  {table:18} {size / games:8,.1f} bytes a game")


if __name__ == "__main__":
    main()
