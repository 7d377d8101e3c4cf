"""Two bots compared on the same deals, in this process."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from happycity import Config, Deal, Game
from training.games import BotFactory, chosen, seated


class Comparison(NamedTuple):
    """How one bot did against another."""

    elo: float
    error: float
    """Half of the interval of 95%."""
    deals: int
    seconds: tuple[float, float]
    """CPU seconds a game and seat of each bot."""

    def __str__(self) -> str:
        own, other = self.seconds
        times = f"{own * 1e3:.1f} and {other * 1e3:.1f} ms a game and seat"
        return f"{self.elo:+.0f} ±{self.error:.0f} Elo, {self.deals} deals, {times}"


def compare(bot: BotFactory, rival: BotFactory, config: Config, *, deals: int, seed: int) -> Comparison:
    """Play each deal twice, the seats alternating between the two bots; count pairs of different bots."""
    scores: list[float] = []
    spent = [0.0, 0.0]
    for number in range(deals):
        deal = Deal.shuffle(config, seed=seed + number)
        total = pairs = 0.0
        for first in (0, 1):
            owner = [(seat + first) % 2 for seat in range(config.players)]
            ranks = _play(deal, (bot, rival), owner, spent)
            for own, own_rank in zip(owner, ranks, strict=True):
                for other, other_rank in zip(owner, ranks, strict=True):
                    if own == 0 and other == 1:
                        pairs += 1
                        total += (own_rank < other_rank) + (own_rank == other_rank) / 2
        scores.append(total / pairs)
    mean = sum(scores) / deals
    spread = (sum((score - mean) ** 2 for score in scores) / (deals - 1) / deals) ** 0.5
    slope = 400 / math.log(10) / (mean * (1 - mean))
    elo = 400 * math.log10(mean / (1 - mean))
    games = deals * config.players
    return Comparison(elo, 1.96 * spread * slope, deals, (spent[0] / games, spent[1] / games))


def _play(
    deal: Deal, pair: tuple[BotFactory, BotFactory], owner: list[int], spent: list[float]
) -> tuple[int, ...]:
    game = Game(deal)
    bots = [seated(pair[of], deal.config, seat, seed=deal.seed) for seat, of in enumerate(owner)]
    while game.outcome is None:
        seat = game.seat
        began = time.process_time()
        move = chosen(bots[seat], game)
        spent[owner[seat]] += time.process_time() - began
        game.apply(move)
    return game.outcome.ranks
