"""`python -m benchmarks.backup`: a backup of a large store that is written to, and its restoring.

It prints how long both take and how long commits wait meanwhile.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median

from sqlalchemy import create_engine, insert

from benchmarks.models import League
from benchmarks.ratings import spread
from benchmarks.stored import rows
from happycity_tournament.games import FinishedGame
from happycity_tournament.storage import Store
from happycity_tournament.storage.schema import games, records

RECORD_BYTES = 1600
"""A record of a game at a table of four, compressed."""
GAMES_AT_ONCE = 25
"""Games in a commit: those of 50 ms where 500 games a second are finished."""
PAUSE_SECONDS = 0.05
"""Between two commits, as a server has them: it is the load that is measured, and waits for nothing."""
COMMITS = 200
"""Commits that are measured without a backup, for comparison."""


def fill(url: str, count: int) -> None:
    """Make a store of games with records, which are noise, as those of real games are compressed already."""
    Store.create(url).close()
    made = rows(League(spread(20, 150)), 4, count // 4)
    engine = create_engine(url)
    with engine.begin() as connection:
        while some := list(islice(made, 10_000)):
            connection.execute(insert(games), some)
            noise = [{"game_id": row["id"], "record": os.urandom(RECORD_BYTES)} for row in some]
            connection.execute(insert(records), noise)
    engine.dispose()


class Writer:
    """Commits games as a server does, and measures how long each commit takes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        game = store.game(1)
        assert game is not None
        self._game = game
        self._next_id = store.next_match_id()

    def commit(self) -> float:
        """Store some games; return the seconds that it took."""
        time.sleep(PAUSE_SECONDS)
        batch: list[tuple[FinishedGame, bytes]] = []
        for _ in range(GAMES_AT_ONCE):
            batch.append((replace(self._game, match_id=self._next_id), os.urandom(RECORD_BYTES)))
            self._next_id += 1
        started = time.perf_counter()
        self._store.add_games(batch)
        return time.perf_counter() - started


def show(name: str, seconds: list[float]) -> None:
    """Print how long commits took."""
    print(f"{name}: {len(seconds)} commits, median {median(seconds):.4f} s, longest {max(seconds):.3f} s")


class Command:
    """A command `happycity` that runs beside this process."""

    def __init__(self, *arguments: str) -> None:
        self._name = arguments[0]
        self._cpu_before = _cpu_of_children()
        self._started = time.perf_counter()
        self._process = subprocess.Popen([str(Path(sys.executable).parent / "happycity"), *arguments])

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def report(self) -> None:
        """Print how long it took, once it has ended.

        Raises:
            SystemExit: it has failed.
        """
        seconds, cpu = time.perf_counter() - self._started, _cpu_of_children() - self._cpu_before
        if self._process.returncode:
            raise SystemExit(self._process.returncode)
        print(f"the {self._name} took {seconds:.1f} s, {cpu:.1f} s of CPU")


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=1_000_000)
    count = parser.parse_args().games
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        url = f"sqlite:///{folder}/games.sqlite"
        fill(url, count)
        print(f"{count:,} games, {(folder / 'games.sqlite').stat().st_size / 1e6:,.0f} MB")
        with Store.create(url) as store:
            store.claim()
            writer = Writer(store)
            show("without a backup", [writer.commit() for _ in range(COMMITS)])
            for name, *arguments in (
                ("backup", f"{folder}/copy.sqlite", "--store", url),
                ("restore", f"{folder}/copy.sqlite", "--store", f"sqlite:///{folder}/restored.sqlite"),
            ):
                command, waited = Command(name, *arguments), list[float]()
                while command.runs:
                    waited.append(writer.commit())
                command.report()
                show(f"during the {name}", waited)
                print(f"the log grew to {(folder / 'games.sqlite-wal').stat().st_size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
