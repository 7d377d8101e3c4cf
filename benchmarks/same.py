"""Compare what two checkouts play: `python -m benchmarks.same TREE` compares this one with another.

Both play the same tournaments with their own interpreters (`.venv/bin/python`). All that must not depend on
speed has to be equal: who played which deal in which seat, the records but for their measured times, and the
standings.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from happycity_tournament.storage import Store

HERE = Path(__file__).parents[1]
TOURNAMENTS = (
    ("--rounds", "25", "--seed", "1"),
    ("--rounds", "10", "--seed", "2", "--mode", "expert"),
    ("--rounds", "10", "--seed", "3", "--seats", "2", "--format", "swiss", "--scoring", "sum"),
)


MEASURED = {"tournament", "created", "config", "seconds"}
"""Keys of a result that two equal tournaments need not share."""


def played(tree: Path, arguments: Sequence[str]) -> tuple[list[Any], Any]:
    """Play a tournament by a checkout; return its games in the schedule's order, and its standings."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/games.sqlite"
        command = [str(tree / ".venv/bin/python"), "-m", "happycity_tournament", "run", "--json"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [*command, "--store", store, *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        result = json.loads(done.stdout)
        with Store.existing(store) as opened:
            games = [
                (game.fixture, game.seats, timeless(record or ""))
                for game, record in opened.all_games(with_records=True)
            ]
    return games, {key: value for key, value in result.items() if key not in MEASURED}


def timeless(record: str) -> str:
    """Return a record's text without its measured times."""
    content = json.loads(record)
    del content["clock"]
    return json.dumps(content)


def main() -> None:
    """Play all tournaments with both checkouts; exit with status 1 at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path, help="another checkout with its .venv")
    tree = parser.parse_args().tree.resolve()
    for arguments in TOURNAMENTS:
        (games, result), (others, other) = played(HERE, arguments), played(tree, arguments)
        same = games == others and result == other
        count = f"{len(games)} games, {result['decisions']} decisions"
        print(f"{' '.join(arguments)}: {count}, {'equal' if same else 'different'}", flush=True)
        if not same:
            sys.exit(1)


if __name__ == "__main__":
    main()
