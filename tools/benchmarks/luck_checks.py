"""Check the evaluator's places against those of games, and that taking luck off scores keeps their mean.

`reliability`: a row for each tenth of the predicted share of opponents that end behind a seat. Mixed bots
play; every fifth decision is valued for all seats. Errors are clustered by game.

`unbiased`: two bots take the seats in turn. `equal` are greedy bots; `different` are a greedy bot and one
that moves at random in a tenth of its decisions. The luck of the first one has to be 0 within its error.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from happycity import Config, Deal, Game, Mode, Move
from happycity.rules.scoring import shared_places
from happycity_bots import GreedyBot, PlannerBot, RandomBot
from happycity_bots.champion import ChampionBot
from happycity_bots.halving import TrialBudget
from happycity_client import Decision
from happycity_evaluation.evaluator import Evaluator
from tools.benchmarks.luck import ScoreWithLuck, play_game
from tools.training.games import BotFactory, chosen, seated

MIXED: tuple[BotFactory, ...] = (partial(ChampionBot, budget=TrialBudget()), PlannerBot, GreedyBot, RandomBot)
"""The bots of `reliability`, drawn for each seat; the champion plays without trials."""
STEP = 5
TENTHS = 10


class Tenth(NamedTuple):
    """The predictions of a tenth."""

    seats: int
    predicted: float
    actual: float
    error: float
    """The standard error of actual - predicted."""


class ClumsyBot(GreedyBot):
    """Greedy, but for a tenth of its decisions."""

    def choose(self, decision: Decision) -> Move:
        """Return the greedy move, or a random one."""
        if self.rng.random() < 1 / TENTHS:
            return self.rng.choice(decision.moves)
        return super().choose(decision)


def predictions(deal: Deal, evaluator: Evaluator) -> Iterator[tuple[float, float]]:
    """Play a game of mixed bots; yield predicted and actual shares of the opponents behind each seat."""
    rng, players = random.Random(deal.seed), deal.config.players
    game, kept = Game(deal), list[list[float]]()
    bots = [seated(rng.choice(MIXED), deal.config, seat, seed=deal.seed) for seat in range(players)]
    decisions = 0
    while game.outcome is None:
        decisions += 1
        if decisions % STEP == 0:
            kept.append([value.place for value in evaluator.values(game)])
        game.apply(chosen(bots[game.seat], game))
    ended = shared_places(game.outcome.ranks)
    for places in kept:
        for place, end in zip(places, ended, strict=True):
            yield (players - place) / (players - 1), (players - end) / (players - 1)


def reliability(mode: Mode, *, games: int, seed: int) -> list[Tenth]:
    """Return the tenths that have predictions, from games of two to five seats."""
    evaluator = Evaluator()
    found: defaultdict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for number in range(games):
        deal = Deal.shuffle(Config(players=2 + number % 4, mode=mode), seed=seed + number)
        for predicted, actual in predictions(deal, evaluator):
            found[min(TENTHS - 1, max(0, int(predicted * TENTHS)))].append((number, predicted, actual))
    tenths = []
    for _, rows in sorted(found.items()):
        of_game, predicted, actual = np.array(rows).T
        sums = np.bincount(of_game.astype(np.int64), (actual - predicted) - (actual - predicted).mean())
        error = float(np.sqrt((sums**2).sum())) / len(rows)
        tenths.append(Tenth(len(rows), float(predicted.mean()), float(actual.mean()), error))
    return tenths


def unbiased(second: BotFactory, config: Config, *, games: int, seed: int) -> list[ScoreWithLuck]:
    """Return the scores of a greedy bot against a second bot, game by game, each on a deal of its own."""
    evaluator = Evaluator()
    return [
        play_game(Deal.shuffle(config, seed=seed + number), (GreedyBot, second), evaluator, first=number % 2)
        for number in range(games)
    ]


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("check", choices=("reliability", "unbiased"))
    parser.add_argument("--games", type=int, default=0, help="for each mode 2000, or for each pair 10000")
    parser.add_argument("--seed", type=int, default=7 * 10**9, help="the seed of the first deal")
    options = parser.parse_args()
    print(f"evaluator {Evaluator().digest}")
    if options.check == "reliability":
        print("| mode | seats | predicted | actual | difference, points |\n|---|---:|---:|---:|---:|")
        for mode in Mode:
            for tenth in reliability(mode, games=options.games or 2000, seed=options.seed):
                apart = 100 * (tenth.actual - tenth.predicted)
                cells = f"{tenth.predicted:.3f} | {tenth.actual:.3f} | {apart:+.1f} ±{196 * tenth.error:.1f}"
                print(f"| {mode.value} | {tenth.seats} | {cells} |", flush=True)
        return
    print("| bots | seats | score | luck | without luck |\n|---|---:|---:|---:|---:|")
    pairs: tuple[tuple[str, BotFactory], ...] = (("equal", GreedyBot), ("different", ClumsyBot))
    for name, second in pairs:
        for players in (2, 4):
            count = (options.games or 10_000) // 2
            scores = unbiased(second, Config(players=players), games=count, seed=options.seed)
            won, luck, _ = np.array(scores).T
            cells = " | ".join(
                f"{values.mean():.4f} ±{1.96 * values.std(ddof=1) / count**0.5:.4f}"
                for values in (won, luck, won - luck)
            )
            print(f"| {name} | {players} | {cells} |", flush=True)
