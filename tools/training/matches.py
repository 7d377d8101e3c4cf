"""Compare two reference bots on the same deals, in this process."""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

from happycity import Config, Deal, Game, Mode
from happycity_bots import BOTS
from happycity_bots.catalogue import factory_of
from happycity_bots.champion import ChampionBot
from happycity_bots.halving import TrialBudget
from happycity_evaluation.network import Network
from tools.training.games import BotFactory, chosen, seated


class FormerChampionBot(ChampionBot):
    """The champion as it was until it weighed draws by what is left in the decks, by its own weights."""

    network = Network.load(Path(__file__).with_name("former_champion.npz"))
    budget = TrialBudget(playouts=48)
    near = 0.1
    ahead = False


RIVALS: dict[str, BotFactory] = {**BOTS, "former-champion": FormerChampionBot}


class MatchComparison(NamedTuple):
    """How one bot did against another."""

    elo: float
    error: float
    """Half of the interval of 95%."""
    deals: int
    seconds: tuple[float, float]
    """CPU seconds of a decision of each bot, the mean."""

    @property
    def lead(self) -> str:
        """The difference in Elo with its interval, or that one bot won every pair."""
        if math.isinf(self.elo):
            return "wins every pair" if self.elo > 0 else "loses every pair"
        return f"{self.elo:+.0f} ±{self.error:.0f}"

    def __str__(self) -> str:
        own, other = self.seconds
        times = f"{own * 1e3:.2f} and {other * 1e3:.2f} ms CPU a decision"
        return f"{self.lead} Elo, {self.deals} deals, {times}"


class Cost:
    """What the decisions of one bot have cost."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.decisions = 0

    @property
    def mean(self) -> float:
        """CPU seconds of a decision."""
        return self.seconds / max(self.decisions, 1)


def compare(bot: BotFactory, rival: BotFactory, config: Config, *, deals: int, seed: int) -> MatchComparison:
    """Play each deal twice, the seats alternating between the two bots; count pairs of different bots."""
    scores: list[float] = []
    costs = (Cost(), Cost())
    for number in range(deals):
        deal = Deal.shuffle(config, seed=seed + number)
        total = pairs = 0.0
        for first in (0, 1):
            owner = [(seat + first) % 2 for seat in range(config.players)]
            ranks = _play(deal, (bot, rival), owner, costs)
            for own, own_rank in zip(owner, ranks, strict=True):
                for other, other_rank in zip(owner, ranks, strict=True):
                    if own == 0 and other == 1:
                        pairs += 1
                        total += (own_rank < other_rank) + (own_rank == other_rank) / 2
        scores.append(total / pairs)
    mean = sum(scores) / deals
    spread = (sum((score - mean) ** 2 for score in scores) / (deals - 1) / deals) ** 0.5
    seconds = (costs[0].mean, costs[1].mean)
    if mean in (0, 1):
        return MatchComparison(math.copysign(math.inf, mean - 0.5), math.inf, deals, seconds)
    slope = 400 / math.log(10) / (mean * (1 - mean))
    elo = 400 * math.log10(mean / (1 - mean))
    return MatchComparison(elo, 1.96 * spread * slope, deals, seconds)


def _play(
    deal: Deal, pair: tuple[BotFactory, BotFactory], owner: list[int], costs: tuple[Cost, Cost]
) -> tuple[int, ...]:
    game = Game(deal)
    bots = [seated(pair[of], deal.config, seat, seed=deal.seed) for seat, of in enumerate(owner)]
    events = [list(game.events) for _ in owner]  # by seat: for its next decision
    while game.outcome is None:
        seat = game.seat
        began = time.process_time()
        move = chosen(bots[seat], game, events[seat])
        cost = costs[owner[seat]]
        cost.seconds += time.process_time() - began
        cost.decisions += 1
        events[seat] = []
        game.apply(move)
        for pending in events:
            pending.extend(game.events)
    return game.outcome.ranks


def main() -> None:
    """Compare two reference bots and print the result."""
    parser = argparse.ArgumentParser(description="Compare two reference bots on the same deals.")
    parser.add_argument("bot", choices=BOTS)
    parser.add_argument("rival", choices=RIVALS)
    parser.add_argument("--budget", type=TrialBudget.parse, help="of the first bot, if it takes one")
    parser.add_argument("--seats", dest="players", type=int, default=4, choices=range(2, 6))
    parser.add_argument("--mode", type=Mode, default=Mode.FAMILY, choices=list(Mode))
    parser.add_argument(
        "--deals", type=int, default=100, help="each is played twice, with the seats exchanged"
    )
    parser.add_argument("--seed", type=int, default=10**9, help="the seed of the first deal")
    options = parser.parse_args()
    result = compare(
        factory_of(options.bot, options.budget),
        RIVALS[options.rival],
        Config(players=options.players, mode=options.mode),
        deals=options.deals,
        seed=options.seed,
    )
    sys.stdout.write(f"{options.bot} over {options.rival}: {result}\n")
