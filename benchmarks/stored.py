"""`python -m benchmarks.stored`: CPU seconds of `tournament rate` for 100,000 and 1,000,000 games."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import create_engine, insert

from benchmarks.models import League
from benchmarks.ratings import spread
from happycity_tournament.storage import Store
from happycity_tournament.storage.schema import games

FOUR = League(spread(20, 150))
TWO = League(spread(50, 150))


def rows(league: League, seats: int, deals: int) -> Iterator[dict[str, Any]]:
    """Yield rows of games of no tournament; what ratings don't use is the same in all."""
    rng = np.random.default_rng(5)
    table = league.games({seats: deals}, rng).tables[seats]
    seeds = rng.integers(0, 2**62, deals).tolist()
    columns = (table.bots.tolist(), table.places.tolist(), table.deals.tolist())
    for number, (bots, places, deal) in enumerate(zip(*columns, strict=True), start=1):
        names = [league.bots[bot] for bot in bots]
        same = dict.fromkeys(("bot_seeds", "inhabitants", "hearts"), [0] * seats)
        yield {
            **{"id": number, "deal_seed": str(seeds[deal]), "players": seats, "bots": names, **same},
            **{"mode": "family", "scoring": "product", "reasons": [], "decisions": 60},
            **{"points": [90 - place for place in places], "coins": [number % 97] * seats},
            **{"ranks": places, "places": places, "endings": ["finished"] * seats},
            **{"created_at": 0.0, "started_at": 0.0, "finished_at": 0.0},
        }


def seconds(path: Path) -> float:
    """Return the CPU seconds of rating a store, those of the start of Python included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(Path(sys.executable).parent / "tournament"), "rate", str(path), "--json", "-"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the games to make, to try it out")
    share = parser.parse_args().share
    for league, seats, deals in ((FOUR, 4, 25_000), (TWO, 2, 500_000)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "games.sqlite"
            Store.create(f"sqlite:///{path}").close()
            made = rows(league, seats, int(deals * share))
            engine = create_engine(f"sqlite:///{path}")
            with engine.begin() as connection:
                while some := list(islice(made, 10_000)):
                    connection.execute(insert(games), some)
            count = int(deals * share) * seats
            print(f"{count:>9,} games, {seats} seats, {len(league.elos)} bots: {seconds(path):5.2f} CPU s")


if __name__ == "__main__":
    main()
