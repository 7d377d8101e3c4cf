"""Measure what a move costs here and in arenas and libraries of others, in one run, by turns.

A figure is CPU microseconds a move of all processes together, at a table that plays random or first legal
moves, so that nearly all of it is the system around the players; start and end are left out. What the rows
have in common, and what not, is in the last column. Others' packages are installed by uv into its cache.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import grpc

from happycity import Config, Game
from happycity.records.random_games import play_random_game
from tools.benchmarks.echo import echo
from tools.benchmarks.harness import LIGHT_BOTS, additions, parser, play_tournament

PLAYERS = 4
SECONDS = 4.0
GAMES_OF_OTHERS = Path(__file__).with_name("peer_games.py")


class MoveCost(NamedTuple):
    """What a move costs."""

    version: str
    microseconds: float


class Peer(NamedTuple):
    """What is measured, and how to read it."""

    what: str
    remark: str
    measure: Callable[[], MoveCost]


def engine() -> MoveCost:
    """Measure games by random moves, dealing included, in this process."""
    rng, moves, seed, began = random.Random(1), 0, 0, time.process_time()
    while time.process_time() - began < SECONDS:
        moves += play_random_game(Game.deal(Config(players=PLAYERS), seed=seed), rng)
        seed += 1
    return MoveCost("this tree", 1e6 * (time.process_time() - began) / moves)


def arena(rounds: int, *options: object) -> MoveCost:
    """Measure a tournament between light bots, with server, store, bots and command."""
    played = [
        play_tournament("--no-web", "--bots", LIGHT_BOTS, "--rounds", number, *options)
        for number in (1, 1 + rounds)
    ]
    short, whole = played
    return MoveCost("this tree", 1e6 * (whole.cpu - short.cpu) / (whole.decisions - short.decisions))


def wire(*, streaming: bool) -> MoveCost:
    """Measure a bare echo, both sides."""
    return MoveCost(grpc.__version__, echo(streaming=streaming).microseconds)


def openspiel() -> MoveCost:
    """Measure OpenSpiel's gin rummy with its tensors, through its Python interface."""
    import pyspiel  # noqa: PLC0415 - of the group `envs`, which the other rows don't need

    from tools.benchmarks.learners import openspiel as steps  # noqa: PLC0415

    return MoveCost(getattr(pyspiel, "__version__", "?"), 1e6 / steps("gin_rummy"))


def others(package: str, *more: str) -> MoveCost:
    """Measure a package in an environment that has it."""
    uv = Path(sys.executable).with_name("uv")
    packages = [word for name in (package, *more) for word in ("--with", name)]
    python = [uv, "run", "--quiet", "--no-project", "--python", "3.11", *packages, "python"]
    command = [*map(str, python), str(GAMES_OF_OTHERS), package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: {package}: {done.stderr}")
    return MoveCost(**json.loads(done.stdout.splitlines()[-1]))


ALONE = "game and rules alone, in one process"
PEERS = (
    Peer("Happy City: game", ALONE, engine),
    Peer("OpenSpiel: gin rummy", f"{ALONE}; in C++, with a tensor a move", openspiel),
    Peer(
        "PettingZoo: Connect Four", f"{ALONE}, with an array a move", partial(others, "pettingzoo", "pygame")
    ),
    Peer(
        "kaggle-environments: Connect X",
        "agents are functions in the process; state and observations as dictionaries, checked by a schema",
        partial(others, "kaggle-environments"),
    ),
    Peer(
        "python-chess: two UCI engines",
        "agents are processes, by pipes, a move a message; the text has all moves, rules on both sides",
        partial(others, "chess"),
    ),
    Peer(
        "gRPC: unary echo", "two processes, a message each way, nothing else", partial(wire, streaming=False)
    ),
    Peer("gRPC: streaming echo", "the same on open streams", partial(wire, streaming=True)),
    Peer(
        "Happy City: arena, a decision a message",
        "agents are processes, by gRPC; rules on both sides, clocks, store, records",
        partial(arena, 60, "--concurrency", 1),
    ),
    Peer("Happy City: arena, many games", "the same, with many decisions a message", partial(arena, 300)),
)


def main() -> None:
    """Measure all by turns, and print the table of medians."""
    options = parser(__doc__)
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    costs: dict[str, list[MoveCost]] = {peer.what: [] for peer in PEERS}
    loops = []
    for turn in range(given.turns):
        loops.append(additions())
        for peer in PEERS:
            print(f"turn {turn + 1} of {given.turns}: {peer.what} (Ctrl-C stops it)", file=sys.stderr)
            costs[peer.what].append(peer.measure())
    print(f"plain Python loop: {median(loops):.1f} million additions/s\n")
    print("| what | version | CPU us a move | what it is |\n|---|---|---:|---|")
    for what, remark, _ in PEERS:
        microseconds = median(cost.microseconds for cost in costs[what])
        print(f"| {what} | {costs[what][0].version} | {microseconds:,.1f} | {remark} |")


if __name__ == "__main__":
    main()
