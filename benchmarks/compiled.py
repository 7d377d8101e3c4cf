"""`python -m benchmarks.compiled`: what compiling the hot modules gains, by turns with pure Python.

The checkout is to be pure; the compiled code is that of `make test-compiled`. Times are CPU seconds, which a
busy machine disturbs least. Prints the median of each figure in both, and the median of the turns' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from happycity import Config, Game, Mode
from happycity.compiled import is_compiled
from happycity.records.random_games import play_random_game
from happycity_bots import GreedyBot, PlannerBot, RolloutBot
from happycity_client import Bot, Decision, GameStarted

TREE = Path(__file__).parents[1] / "build" / "compiled"
TURNS = 5
GAMES = 600
BOT_GAMES = 12
ROUNDS = 150
LIGHT_BOTS = "random,random2=random,greedy,greedy2=greedy"
DEFAULT_BOTS = "random,greedy,planner,rollout"


def engine(mode: Mode) -> float:
    """Return microseconds of a decision of random play by 4 seats, dealing included."""
    rng, config, started = random.Random(1), Config(mode=mode), time.process_time()
    decisions = sum(play_random_game(Game.deal(config, seed=seed), rng) for seed in range(GAMES))
    return (time.process_time() - started) / decisions * 1e6


def thinking(bot: type[Bot], mode: Mode) -> float:
    """Return microseconds that a bot in seat 0 needs for a decision, against greedy bots."""
    config, decisions, seconds = Config(mode=mode), 0, 0.0
    for seed in range(BOT_GAMES):
        game = Game.deal(config, seed=seed)
        bots = [
            kind(GameStarted(match_id=1, config=config, seat=seat, bots=("bot",) * 4, seed=seed))
            for seat, kind in enumerate((bot, GreedyBot, GreedyBot, GreedyBot))
        ]
        while game.outcome is None:
            decision, seat = Decision.of(game), game.seat
            started = time.process_time()
            move: Any = bots[seat].choose(decision)
            if seat == 0:
                seconds += time.process_time() - started
                decisions += 1
            game.apply(move)
    return seconds / decisions * 1e6


def arena(bots: str) -> float:
    """Return CPU microseconds of all processes of `tournament run` for a decision, start and end included."""
    command = [sys.executable, "-m", "happycity_tournament", "run", "--json", "--bots", bots]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, "--rounds", str(ROUNDS), "--seed", "1"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(seconds / json.loads(done.stdout)["decisions"] * 1e6)


FIGURES: dict[str, Callable[[], float]] = {
    "engine, family": lambda: engine(Mode.FAMILY),
    "engine, expert": lambda: engine(Mode.EXPERT),
    "planner, family": lambda: thinking(PlannerBot, Mode.FAMILY),
    "planner, expert": lambda: thinking(PlannerBot, Mode.EXPERT),
    "rollout, family": lambda: thinking(RolloutBot, Mode.FAMILY),
    "rollout, expert": lambda: thinking(RolloutBot, Mode.EXPERT),
    "tournament, light bots": lambda: arena(LIGHT_BOTS),
    "tournament, default bots": lambda: arena(DEFAULT_BOTS),
}


def measured(*, compiled: bool) -> dict[str, float]:
    """Measure all figures in a new process that runs pure or compiled code."""
    environment = {**os.environ, "PYTHONPATH": str(TREE) if compiled else ""}
    command = [sys.executable, "-m", "benchmarks.compiled", "--once"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    if figures.pop("compiled") != compiled:
        sys.exit("this compares pure with compiled code: run make pure, then make test-compiled")
    return figures


def main() -> None:
    """Measure by turns, pure first in every other one, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--once", action="store_true", help="measure the code that runs here, as JSON")
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps({"compiled": is_compiled(), **{name: run() for name, run in FIGURES.items()}}))
        return
    turns: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for turn in range(arguments.turns):
        print(f"turn {turn + 1} of {arguments.turns} (Ctrl-C stops it)", file=sys.stderr)
        for compiled in (False, True) if turn % 2 == 0 else (True, False):
            turns[compiled].append(measured(compiled=compiled))
    print(f"{'CPU us a decision':26}{'pure':>8}{'compiled':>10}{'ratio':>7}")
    for name in FIGURES:
        pure, fast = ([figures[name] for figures in turns[compiled]] for compiled in (False, True))
        ratio = median([before / after for before, after in zip(pure, fast, strict=True)])
        print(f"{name:26}{median(pure):8.2f}{median(fast):10.2f}{ratio:7.2f}")


if __name__ == "__main__":
    main()
