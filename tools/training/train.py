"""Train the champion's network, for as long as the program runs.

Each generation plays games by the native engine (`make engine`), most seats by the newest weights, others by
older ones and the planner, and learns from the games of the last generations. Stop with Ctrl-C and continue
with the same command: every file of games and every generation's weights are kept in the folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from happycity import Config, Mode
from happycity_bots import PlannerBot
from happycity_bots.champion import ChampionBot
from happycity_bots.halving import TrialBudget
from happycity_evaluation.network import Network, quantise
from tools import ROOT
from tools.training.games import Positions, play_many
from tools.training.learner import RATE, Learner, fit, write_arrays, write_text
from tools.training.matches import compare

GENERATIONS_KEPT = 3
"""Generations whose games are learnt from."""
CURVE = "curve.jsonl"


def train(folder: Path, *, generations: int, files: int, games: int, epochs: int, deals: int) -> None:
    """Continue for a number of generations from what is in the folder.

    Each generation plays `files` files of `games` games.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = len(list(folder.glob("champion-*.npz")))
    for generation in range(first, first + generations):
        began = time.process_time()
        judge = Learner.load(weights_of(folder, generation - 1)) if generation else None
        networks = [Network.load(weights_of(folder, number)) for number in range(generation)]
        for number in range(generation * files, (generation + 1) * files):
            path = _games(folder, number)
            if not path.exists():
                write_arrays(path, list(play_many(networks, seed=number, games=games)))
        play_seconds = time.process_time() - began
        oldest = max(0, generation + 1 - GENERATIONS_KEPT)
        numbers = range(oldest * files, (generation + 1) * files)
        positions = Positions.joined([_read(_games(folder, number)) for number in numbers])
        rng = np.random.default_rng(generation)
        learner = Learner(judge.weights) if judge else Learner.fresh(rng)
        rate = RATE / 2 if judge else RATE
        loss = fit(learner, positions, epochs=epochs, rate=rate, rng=rng, judge=judge)
        point: dict[str, float | str] = {
            "generation": generation,
            "positions": len(positions.rows),
            "loss": round(loss, 4),
            "play_seconds": round(play_seconds, 1),
            "seconds": round(time.process_time() - began, 1),
        }
        weights = quantise(learner.weights)
        if deals:
            ChampionBot.network = Network(weights)
            bot = partial(ChampionBot, budget=TrialBudget())
            for mode in Mode:
                result = compare(bot, PlannerBot, Config(players=4, mode=mode), deals=deals, seed=10**9)
                point[mode.value] = result.lead
        curve = folder / CURVE
        points = curve.read_text(encoding="utf-8").splitlines()[:generation] if curve.exists() else []
        newest = json.dumps(point, ensure_ascii=False)
        write_text(curve, "".join(f"{line}\n" for line in [*points, newest]))
        write_arrays(weights_of(folder, generation), weights)  # the last: a generation with weights is whole
        sys.stderr.write(f"{newest}\n")


def weights_of(folder: Path, generation: int) -> Path:
    """Return the file of a generation's weights."""
    return folder / f"champion-{generation:03}.npz"


def _games(folder: Path, number: int) -> Path:
    return folder / f"games-{number:05}.npz"


def _read(path: Path) -> Positions:
    with np.load(path) as arrays:
        return Positions(*[arrays[name] for name in arrays.files])


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=ROOT / "build" / "training",
        help="where games, weights and the learning curve are kept; build/training by default",
    )
    parser.add_argument(
        "--generations", type=int, default=10**6, help="how many to play; any number by default"
    )
    parser.add_argument("--files", type=int, default=50, help="files of games of a generation")
    parser.add_argument("--games", type=int, default=200, help="games of a file")
    parser.add_argument(
        "--epochs", type=int, default=6, help="how often a generation learns from each position"
    )
    parser.add_argument(
        "--deals", type=int, default=100, help="deals of a generation's comparison with the planner; 0: none"
    )
    options = parser.parse_args()
    try:
        train(
            options.folder,
            generations=options.generations,
            files=options.files,
            games=options.games,
            epochs=options.epochs,
            deals=options.deals,
        )
    except ImportError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; the same command goes on: {options.folder}\n")
