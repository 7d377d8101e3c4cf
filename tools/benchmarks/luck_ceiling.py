"""Measure how much of the luck of draws the evaluator sees, and what values from playouts would see.

The planner plays itself in the family game at two seats. After each card that could have come, playouts by
the planner give the expected place: by the evaluator when the seat's next turn begins, and by the end of the
game. All cards meet the same random numbers. As the planner leaves nothing to chance, the latter is the true
value, but for what is random in few playouts; so two halves of them are multiplied with each other.

"seen" is the share of the variance of a game's result that control variates with these values take off.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happycity import Card, Config, Deal, Game, Move
from happycity.rules.scoring import shared_places
from happycity_bots import PlannerBot
from happycity_evaluation.evaluator import Evaluator, ExpectedPlaces
from happycity_evaluation.luck import draws_of
from tools.training.games import chosen, seated

PLAYERS = 2
HALVES = 2

Floats = NDArray[np.float64]


class Values(NamedTuple):
    """The first seat's place after each card that a draw could have brought, less their mean."""

    weights: Floats
    """How likely each card is."""
    evaluator: Floats
    later: Floats
    """By the evaluator a round later: halves x cards."""
    end: Floats
    """At the end, alike."""


def play_out(game: Game, rng: random.Random, evaluator: Evaluator) -> tuple[float, float]:
    """Play an open game to its end; return the first seat's place a round later and at the end."""
    bots = [seated(PlannerBot, game.config, seat, seed=0) for seat in range(PLAYERS)]
    seat, played, later = game.seat, game.round, 0.0
    while game.outcome is None:
        if awaited := game.awaited:
            game.reveal(awaited[int(rng.random() * len(awaited))])
            continue
        if not later and game.seat == seat and game.round > played:
            later = evaluator.values(game)[0].place
        game.apply(chosen(bots[game.seat], game))
    end = shared_places(game.outcome.ranks)[0]
    return later or end, end


def values_of(
    known: Game, awaited: Sequence[Card], playouts: int, evaluator: Evaluator, *, seed: int
) -> Values:
    """Value the cards that an open game awaits."""
    cards = Counter(awaited)
    found = np.zeros((HALVES, len(cards), 2))
    for number, card in enumerate(cards):
        for playout in range(playouts):
            after = known.copy()
            after.reveal(card)
            rng = random.Random(f"{seed} {known.round} {known.seat} {known.centre} {playout}")
            found[playout % HALVES, number] += play_out(after, rng, evaluator)
    found *= HALVES / playouts
    weights = np.array(list(cards.values())) / cards.total()
    own = np.array([places[0] for places in evaluator.after_cards(known, list(cards))])
    later, end = np.moveaxis(found - (weights[:, None] * found).sum(1, keepdims=True), 2, 0)
    return Values(weights, own - (weights * own).sum(), later, end)


def valued_draws(deal: Deal, playouts: int, evaluator: Evaluator) -> list[Values]:
    """Play a deal, and return the values of what could have come at each draw."""
    game, moves, found = Game(deal), list[Move](), list[Values]()
    bots = [seated(PlannerBot, deal.config, seat, seed=0) for seat in range(PLAYERS)]
    while game.outcome is None:
        moves.append(chosen(bots[game.seat], game))
        game.apply(moves[-1])

    def noted(known: Game, awaited: Sequence[Card]) -> list[ExpectedPlaces]:
        found.append(values_of(known, awaited, playouts, evaluator, seed=deal.seed))
        return evaluator.after_cards(known, awaited)

    deque(draws_of(Game(deal), moves, noted), maxlen=0)
    return found


def seen(values: Values) -> tuple[float, float, float]:
    """Return what a draw's control variates take off the variance: evaluator, a round later, the end."""
    weights, own, later, end = values
    by_evaluator = weights @ (own * end.mean(0) * 2 - own**2)
    by_playouts = weights @ (later[0] * end[1] + later[1] * end[0] - later[0] * later[1])
    return float(by_evaluator), float(by_playouts), float(weights @ (end[0] * end[1]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--playouts", type=int, default=8, help="of each card that could have come; even")
    parser.add_argument("--seed", type=int, default=5 * 10**9, help="the seed of the first deal")
    options = parser.parse_args()
    if options.games < 2 or options.playouts < HALVES or options.playouts % HALVES:
        parser.error("--games: 2 or more; --playouts: an even number, 2 or more")
    evaluator, config = Evaluator(), Config(players=PLAYERS)
    games = []
    for number in range(options.games):
        draws = valued_draws(Deal.shuffle(config, seed=options.seed + number), options.playouts, evaluator)
        games.append(np.sum([seen(values) for values in draws], axis=0))
        print(f"{number + 1} of {options.games} games", end="\r", file=sys.stderr, flush=True)
    shares = np.array(games) * 4  # the variance of a place that is 1 or 2 is at most 1/4
    print(f"{options.games} games, {options.playouts} playouts a card, evaluator {evaluator.digest}")
    print("| values | seen |\n|---|---:|")
    errors = 1.96 * shares.std(0, ddof=1) / options.games**0.5
    for name, share, error in zip(("evaluator", "a round later", "end"), shares.mean(0), errors, strict=True):
        print(f"| {name} | {share:.2f} ±{error:.2f} |")


if __name__ == "__main__":
    main()
