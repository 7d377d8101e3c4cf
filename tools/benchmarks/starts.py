"""Measure what commands cost before their first work, or a game, against another checkout, by turns.

CPU seconds of each command and of all that it starts, in an empty folder; with `--games`, in one with a run
of that number of games of random movers. What is printed is the median ratio to the other checkout with a 95%
interval: of nine pairs, the second smallest and the second largest ratio. Without another checkout, `--games`
runs each command once, and prints the memory that it took too.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from happycity import Config, Deal, Game
from happycity.match import seat_results
from happycity.records.random_games import random_move
from happycity.records.record import Recorder, clock_json, dumps
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.proof.commitment import Commitment
from happycity_tournament.schedule import Schedule, schedule_of
from happycity_tournament.storage.packing import Record, pack
from happycity_tournament.storage.store import Store
from tools import ROOT
from tools.benchmarks.harness import COMPILED, LIGHT_BOTS, interval, parser

COMMANDS = {
    "happycity --help": ("happycity", "--help"),
    "a usage error": ("tournament", "rate", "games.sqlite", "--bad"),
    "tournament list, no runs": ("tournament", "list"),
    "tournament list, one run": ("tournament", "list"),
    "tournament run, 1 round": ("tournament", "run", "--rounds", "1", "--seed", "1", "--no-web"),
    "the same, 2 workers": (
        "tournament",
        "run",
        "--rounds",
        "1",
        "--seed",
        "1",
        "--no-web",
        "--workers",
        "2",
    ),
    "tournament run, 8 rounds, light bots": (
        *("tournament", "run", "--rounds", "8", "--seed", "1", "--no-web", "--bots", LIGHT_BOTS),
    ),
}
"""What is measured; a run must come before the list of one."""
OF_GAMES = {
    "tournament publish": ("publish", "run", "published"),
    "tournament verify": ("verify", "published"),
    "tournament show": ("show", "run"),
    "tournament rate": ("rate", "run"),
    "tournament games": ("games", "run"),
    "tournament report": ("report", "run", "--out", "report.html"),
    "tournament export, csv": ("export", "run", "--format", "csv", "--out", "games.csv"),
    "tournament export, records": ("export", "run", "--format", "records", "--out", "games.jsonl"),
}
"""What is measured of a run with games; the first one is in the way of itself."""
LUCK = ("report", "run", "--out", "report.html", "--luck-adjusted")


class Used(NamedTuple):
    """What a command used with all that it started."""

    cpu: float
    """CPU seconds."""
    megabytes: float
    """The memory of the largest of its processes."""


def used(tree: Path, command: tuple[str, ...], folder: Path, path: str = "") -> Used:
    """Run a command of a checkout; `path` is what Python imports from before the checkout.

    Raises:
        SystemExit: it failed, but not by the usage error that is measured.
    """
    # Users keep bytecode. Without it, each process would compile all its sources at its start.
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [str(tree / ".venv/bin" / command[0]), *command[1:]]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode and "--bad" not in words:
            raise SystemExit(f"{words}: {said.read()}")
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def pairs_of(
    other: Path, command: tuple[str, ...], count: int, *, with_run: bool
) -> list[tuple[float, float]]:
    """Return the CPU seconds of both checkouts, this one first, after one pair that only writes bytecode."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as its_folder:
        places = {ROOT: Path(folder), other: Path(its_folder)}
        for tree, place in places.items():
            if with_run:
                used(tree, COMMANDS["tournament run, 1 round"], place)
            used(tree, command, place)
        for turn in range(count):
            order = (ROOT, other) if turn % 2 else (other, ROOT)
            found = {tree: used(tree, command, places[tree]).cpu for tree in order}
            pairs.append((found[ROOT], found[other]))
    return pairs


def make_run(folder: Path, games: int, distinct: int) -> None:
    """Make the run of a tournament of random movers in a folder, as the project of this interpreter does.

    Games beyond the `distinct` ones are copies of them, in later rounds and under other seeds.
    """
    words = ("run", "--rounds", "1", "--seed", "1", "--no-web", "--bots", LIGHT_BOTS)
    used(Path(sys.prefix).parent, ("tournament", *words), folder)
    (played,) = (folder / "runs").iterdir()
    run = played.rename(folder / "run")
    bots = tuple(part.partition("=")[0] for part in LIGHT_BOTS.split(","))
    config = TournamentConfig(bots=bots, game=Config(), format=RandomRounds(rounds=games // 4), seed=1)
    Commitment.to(config, salt="a salt of the measurement").save(run)
    (run / "games.sqlite").unlink()
    plan = schedule_of(config)
    with Store.create(f"sqlite:///{run / 'games.sqlite'}") as store:
        store.create_tournament(config.json(), games_total=plan.total_games, created_at=0.0)
        made = islice(_random_games(plan), distinct or None)
        while some := list(islice(made, 1000)):
            store.add_games(some)
    with closing(sqlite3.connect(run / "games.sqlite")) as database, database:
        for copy in range(distinct, games, distinct) if distinct else ():
            _copy_games(database, distinct, copy)
        database.execute("UPDATE tournaments SET state = 'finished'")


def _copy_games(database: sqlite3.Connection, count: int, added: int) -> None:
    """Copy the first games of a store; `added` is what makes their ids, rounds and seeds other ones."""
    changed = {"id": "id +", "game_id": "game_id +", "round": "round +", "deal_seed": "deal_seed +"}
    for table, key in (("games", "id"), ("records", "game_id"), ("times", "game_id")):
        names = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
        if not names:  # an older checkout's store, which has no times
            continue
        values = ", ".join(f"{changed[name]} {added}" if name in changed else f'"{name}"' for name in names)
        copied = f"INSERT INTO {table} SELECT {values} FROM {table} WHERE {key} <= ?"  # noqa: S608
        database.execute(copied, (count,))


def _random_games(plan: Schedule) -> Iterator[tuple[FinishedGame, Record]]:
    """Yield the games of a schedule by random movers with their records."""
    rng, number = random.Random(1), 0
    for stage in plan.stages():
        for fixture in stage:
            number += 1
            deal = Deal.shuffle(Config(), seed=fixture.deal_seed)
            game, recorder = Game(deal), Recorder(deal)
            while game.outcome is None:
                move = random_move(game, rng)
                recorder.add(game, move)
                game.apply(move)
            times = [int(rng.lognormvariate(5, 1)) for _ in recorder.moves]
            clock = clock_json(think_us=times, round_trip_us=[200] * len(fixture.bots))
            finished = FinishedGame(
                match_id=number,
                tournament_id=1,
                position=fixture.position,
                deal_seed=fixture.deal_seed,
                config=deal.config,
                bots=fixture.bots,
                bot_seeds=fixture.bot_seeds,
                seats=seat_results(game.outcome),
                decisions=len(times),
                created_at=float(number),
                started_at=float(number),
                finished_at=float(number) + 1,
            )
            yield finished, pack(dumps(recorder.record(game, clock=clock)))


def measure_games(given: argparse.Namespace) -> None:
    """Measure the commands that read games, by turns with another checkout, or each once."""
    trees = [ROOT] if given.against is None else [ROOT, given.against.resolve()]
    paths = {tree: str(tree / COMPILED.relative_to(ROOT)) if given.compiled else "" for tree in trees}
    commands = {**OF_GAMES, **({"tournament report --luck-adjusted": LUCK} if given.luck else {})}
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folders = {tree: Path(place, str(number)) for number, tree in enumerate(trees)}
        for tree, folder in folders.items():
            folder.mkdir()
            python, module = str(tree / ".venv/bin/python"), "tools.benchmarks.starts"
            counts = ("--games", str(given.games), "--distinct", str(given.distinct))
            arguments = ("--make", str(folder), *counts)
            environment = {**os.environ, "PYTHONPATH": f"{paths[tree]}:{ROOT}"}
            subprocess.run([python, "-m", module, *arguments], cwd=folder, env=environment, check=True)
        for name, words in commands.items():
            if given.only not in name:
                continue
            found: dict[Path, list[Used]] = {tree: [] for tree in trees}
            for turn in range(given.pairs if len(trees) > 1 else 1):
                for tree in trees if turn % 2 else trees[::-1]:
                    if words[0] == "publish":
                        shutil.rmtree(folders[tree] / "published", ignore_errors=True)
                    found[tree].append(used(tree, ("tournament", *words), folders[tree], paths[tree]))
            if len(trees) > 1:
                here, there = ([each.cpu for each in every] for every in found.values())
                show(name, list(zip(here, there, strict=True)))
            else:
                (once,) = found[ROOT]
                print(f"{name:40}{once.cpu:8.2f} CPU s, at most {once.megabytes:.0f} MB", flush=True)


def show(name: str, pairs: list[tuple[float, float]]) -> None:
    """Print a line of the table: medians, and the ratio with its interval."""
    own, others = (median(column) for column in zip(*pairs, strict=True))
    ratios = [here / there for here, there in pairs]
    low, high = interval(ratios)
    print(f"{name:40}{own:8.3f}{others:8.3f}  {median(ratios):.2f} ({low:.2f} to {high:.2f})", flush=True)


def main() -> None:
    """Measure all commands by turns."""
    options = parser(__doc__)
    options.add_argument("--against", type=Path, help="the other checkout, after `make setup`")
    options.add_argument("--games", type=int, default=0, help="measure commands on a run of so many games")
    options.add_argument("--distinct", type=int, default=0, help="so many different games, copied")
    options.add_argument("--luck", action="store_true", help="with --games: also without the luck of draws")
    options.add_argument("--compiled", action="store_true", help="with --games: by build/compiled of both")
    options.add_argument("--folder", type=Path, help="where runs are made, for which /tmp is too small")
    options.add_argument("--make", type=Path, help="only make a run in this folder")
    options.add_argument("--pairs", type=int, default=9)
    options.add_argument("--only", default="", help="part of the name of what is measured")
    given = options.parse_args()
    if given.make is not None:
        make_run(given.make, given.games, given.distinct)
        return
    if not given.games and given.against is None:
        options.error("--against is missing")
    print(f"{'CPU s, medians':40}{'here':>8}{'there':>8}  ratio, 95% interval")
    if given.games:
        measure_games(given)
        return
    for name, command in COMMANDS.items():
        if given.only in name:
            pairs = pairs_of(given.against.resolve(), command, given.pairs, with_run="one run" in name)
            show(name, pairs)


if __name__ == "__main__":
    main()
