"""Measure how much less the difference of two bots varies without the luck of their cards.

Each deal is played twice, the two bots taking the seats in turn and exchanging them for the second game, so
the deal itself cancels already. A score is the share of pairs of different bots that the first one won, a tie
as half. The luck of its seats, by `happycity_evaluation.luck`, is taken off it. "less" is by what the
variance of a deal's score is divided, with its 95% error: the same error takes this many times fewer games.
"blocks" are those that sequential tests of 0 against 30 Elo take on average with and without the luck, on
deals drawn from these; as luck has the mean 0, all scores have the mean of those without it there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happycity import Config, Deal, Game, Mode
from happycity_bots import BOTS
from happycity_bots.champion import ChampionBot
from happycity_bots.halving import TrialBudget
from happycity_evaluation.luck import draws_of, total_luck
from happycity_tournament.config import SprtTest
from happycity_tournament.luck_adjusted import LuckEvaluator, luck_evaluator
from happycity_tournament.ratings.sprt import Sprt, Verdict
from tools.training.games import BotFactory, chosen, seated

CONTENDERS: dict[str, BotFactory] = {**BOTS, "network": partial(ChampionBot, budget=TrialBudget())}
"""Bots by name; `network` is the champion without trials."""


TESTS = 400


class ScoreWithLuck(NamedTuple):
    """How the first bot did in a game, or in the two games of a deal."""

    won: float
    """Share of the pairs of different bots that it won."""
    luck: float
    """What the cards added to that."""
    seconds: float
    """CPU time that the luck took to compute."""


def play_deal(deal: Deal, pair: Sequence[BotFactory], evaluator: LuckEvaluator) -> ScoreWithLuck:
    """Play a deal twice, the seats exchanged."""
    games = [play_game(deal, pair, evaluator, first=first) for first in (0, 1)]
    won, luck, seconds = map(sum, zip(*games, strict=True))
    return ScoreWithLuck(won / 2, luck / 2, seconds)


def play_game(
    deal: Deal, pair: Sequence[BotFactory], evaluator: LuckEvaluator, *, first: int
) -> ScoreWithLuck:
    """Play a deal once; `first` says which bot has seat 0, and the bots take the seats in turn."""
    owners = [(seat + first) % 2 for seat in range(deal.config.players)]
    game, moves = Game(deal), []
    bots = [seated(pair[owner], deal.config, seat, seed=deal.seed) for seat, owner in enumerate(owners)]
    while game.outcome is None:
        moves.append(chosen(bots[game.seat], game))
        game.apply(moves[-1])
    ranks, began = game.outcome.ranks, time.process_time()
    gains = total_luck(draws_of(Game(deal), moves, evaluator.after_cards), deal.config.players)
    seconds = time.process_time() - began
    own = [seat for seat, owner in enumerate(owners) if owner == 0]
    others = [seat for seat, owner in enumerate(owners) if owner == 1]
    won = sum((ranks[a] < ranks[b]) + (ranks[a] == ranks[b]) / 2 for a in own for b in others)
    luck = sum(gains[seat] for seat in own)  # what seats of one bot win of each other cancels
    pairs = len(own) * len(others)
    return ScoreWithLuck(won / pairs, luck / pairs, seconds)


def variance_ratio(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float]:
    """Return by what the variance of paired values is divided, and its standard error by the delta method."""
    squares = [(values - values.mean()) ** 2 for values in (before, after)]
    ratio = float(squares[0].mean() / squares[1].mean())
    relative = squares[0] / squares[0].mean() - squares[1] / squares[1].mean()
    return ratio, ratio * float(relative.std()) / len(before) ** 0.5


def mean_blocks(scores: Sequence[float], evaluator: str) -> float:
    """Return how many blocks a sequential test takes on average, whose blocks are drawn from these scores."""
    rng, total = np.random.default_rng(8), 0
    for _ in range(TESTS):
        test = Sprt(SprtTest(candidate="a", base="b", elo1=30.0, luck_evaluator=evaluator))
        while test.verdict is Verdict.RUNNING:
            test.add(float(rng.choice(scores)))
        total += test.blocks
    return total / TESTS


def main() -> None:
    """Print a row for each table and mode, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bots", nargs=2, choices=CONTENDERS, default=["network", "planner"], metavar="BOT")
    parser.add_argument("--seats", nargs="+", type=int, choices=range(2, 6), default=[2, 4], metavar="N")
    parser.add_argument("--modes", nargs="+", type=Mode, choices=list(Mode), default=list(Mode))
    parser.add_argument("--deals", type=int, default=200, help="each is played twice")
    parser.add_argument("--seed", type=int, default=6 * 10**9, help="the seed of the first deal")
    parser.add_argument("--luck-games", type=int, default=0, metavar="N", help="as of tournament rate")
    options = parser.parse_args()
    if options.deals < 2:
        parser.error(f"--deals {options.deals}: a variance takes 2 or more")
    if options.bots[0] == options.bots[1]:
        parser.error("--bots: the two are the same, so their difference doesn't vary")
    evaluator, pair = luck_evaluator(options.luck_games), [CONTENDERS[name] for name in options.bots]
    print(f"{' and '.join(options.bots)}, {options.deals} deals a row, evaluator {evaluator.digest}")
    print("| seats | mode | score | luck | without luck | less | blocks | without luck | ms CPU a game |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    for mode in options.modes:
        for players in options.seats:
            config = Config(players=players, mode=mode)
            scores = [
                play_deal(Deal.shuffle(config, seed=options.seed + number), pair, evaluator)
                for number in range(options.deals)
            ]
            won, luck, seconds = np.array(scores).T
            cells = [
                f"{values.mean():.3f} ±{1.96 * values.std(ddof=1) / options.deals**0.5:.3f}"
                for values in (won, luck, won - luck)
            ]
            less, error = variance_ratio(won, won - luck)
            blocks = " | ".join(
                f"{mean_blocks(won - taken_off, evaluator.digest):.0f}" for taken_off in (luck.mean(), luck)
            )
            print(
                f"| {players} | {mode.value} | {' | '.join(cells)} | {less:.2f}x ±{1.96 * error:.2f} "
                f"| {blocks} | {seconds.mean() / 2 * 1e3:.0f} |",
                flush=True,
            )
