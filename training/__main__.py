"""Train the champion's network: `make train`, or `python -m training FOLDER`.

Each generation plays games between the bots of the league, the champion with the newest weights among them,
and learns from the games of the last generations. Stop with Ctrl-C and go on with the same command: every
generation is kept in the folder.
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
from happycity_bots import GreedyBot, PlannerBot, RolloutBot
from happycity_bots.champion import ChampionBot
from happycity_bots.halving import Budget
from happycity_bots.network import Network, quantise
from training.games import Positions, play_many
from training.learner import RATE, Learner, fit, write_arrays
from training.matches import compare

GENERATIONS_KEPT = 60
"""Generations whose games are learnt from."""
COMPARED = 10
"""Generations between two comparisons with the planner."""
LEAGUE = (
    (0.55, partial(ChampionBot, budget=Budget())),
    (0.2, PlannerBot),
    (0.15, RolloutBot),
    (0.1, GreedyBot),
)
"""Bots with their shares; the champion plays without trials, as these would take most of the time."""
FIRST_LEAGUE = ((0.75, PlannerBot), (0.15, RolloutBot), (0.1, GreedyBot))
STORED = np.float16
"""The type of rows in files; nearly all of their numbers are small and whole, or known to a few per cent."""
CURVE = "curve.jsonl"
WEIGHTS = "champion.npz"


def train(folder: Path, *, generations: int, games: int, epochs: int, deals: int) -> None:
    """Play and learn so many generations on from what is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    done = sorted(folder.glob("games-*.npz"))
    number = int(done[-1].stem.partition("-")[2]) + 1 if done else 0
    window = [_read(path) for path in done[-GENERATIONS_KEPT:]]
    for generation in range(number, number + generations):
        began = time.process_time()
        learned = (folder / WEIGHTS).exists()
        if learned:
            ChampionBot.network = Network.load(folder / WEIGHTS)
        played = _as_stored(play_many(LEAGUE if learned else FIRST_LEAGUE, seed=generation, games=games))
        window = [*window, played][-GENERATIONS_KEPT:]
        play_seconds = time.process_time() - began
        rng = np.random.default_rng(generation)
        positions = Positions.joined(window)
        learner = Learner.load(folder / "learner.npz") if learned else Learner.fresh(rng)
        unseen = learner.loss(played)
        loss = fit(learner, positions, epochs=epochs, rate=RATE / 2 if learned else RATE, rng=rng)
        learner.save(folder / "learner.npz")
        write_arrays(folder / WEIGHTS, quantise(learner.weights))
        write_arrays(folder / f"games-{generation:05}.npz", [played.rows.astype(STORED), played.points])
        point: dict[str, float] = {
            "generation": generation,
            "positions": len(positions.rows),
            "loss": round(loss, 4),
            "unseen": round(unseen, 4),
            "play_seconds": round(play_seconds, 1),
            "seconds": round(time.process_time() - began, 1),
        }
        if deals and generation % COMPARED == COMPARED - 1:
            ChampionBot.network = Network.load(folder / WEIGHTS)
            bot = partial(ChampionBot, budget=Budget())
            for mode in Mode:
                result = compare(bot, PlannerBot, Config(players=4, mode=mode), deals=deals, seed=10**9)
                point[f"elo_{mode.value}"] = round(result.elo)
                point[f"error_{mode.value}"] = round(result.error)
        with (folder / CURVE).open("a") as curve:
            curve.write(json.dumps(point) + "\n")
        sys.stderr.write(f"{json.dumps(point)}\n")


def _as_stored(played: Positions) -> Positions:
    """Round rows as files do, or a training that was stopped would go on with other numbers."""
    return played._replace(rows=played.rows.astype(STORED).astype(np.float32))


def _read(path: Path) -> Positions:
    with np.load(path) as arrays:
        return Positions(arrays["arr_0"].astype(np.float32), arrays["arr_1"])


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(
        prog="python -m training", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="where games, weights and the learning curve are kept")
    parser.add_argument(
        "--generations", type=int, default=10**6, help="how many to play; any number by default"
    )
    parser.add_argument("--games", type=int, default=320, help="games of a generation")
    parser.add_argument(
        "--epochs", type=int, default=2, help="how often a generation learns from each position"
    )
    parser.add_argument(
        "--deals", type=int, default=40, help="deals of a comparison with the planner; 0: none"
    )
    options = parser.parse_args()
    try:
        train(
            options.folder,
            generations=options.generations,
            games=options.games,
            epochs=options.epochs,
            deals=options.deals,
        )
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; the same command goes on: {options.folder}\n")


if __name__ == "__main__":
    main()
