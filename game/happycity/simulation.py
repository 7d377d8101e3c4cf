"""Games played in-process at engine speed, by random movers."""

from __future__ import annotations

import random
from collections.abc import Callable

from happycity.deals import Config, Deal
from happycity.game import Game
from happycity.records import Json, Recorder


def play_random_game(game: Game, rng: random.Random) -> int:
    """Play `game` to its end with uniformly random moves; return the number of decisions."""
    uniform, apply = rng.random, game.apply
    decisions = 0
    while moves := game.legal_moves:
        apply(moves[int(uniform() * len(moves))])
        decisions += 1
    return decisions


def record_random_game(
    deal: Deal, rng: random.Random, *, trace: Callable[[Game], Json] | None = None
) -> Json:
    """Play a game on `deal` with uniformly random moves and return its record."""
    game = Game(deal)
    recorder = Recorder(deal, trace=trace)
    while moves := game.legal_moves:
        move = moves[int(rng.random() * len(moves))]
        recorder.add(game, move)
        game.apply(move)
    return recorder.record(game)


def movers_rng(seed: int) -> random.Random:
    """Return the randomness of the movers in the game with this deal seed, apart from the deal's own."""
    return random.Random(f"happycity movers {seed}")


def random_deal(config: Config, *, seed: int, game: int) -> Deal:
    """Return the deal of the `game`-th game (from 0) of a simulation."""
    return Deal.shuffle(config, seed=seed + game)
