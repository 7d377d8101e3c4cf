"""Games of random movers."""

from __future__ import annotations

import random
from collections.abc import Callable

from happycity.records.record import Json, Recorder
from happycity.rules.deals import Deal
from happycity.rules.game import Game
from happycity.rules.moves import Move


def random_move(game: Game, rng: random.Random) -> Move:
    """Return any legal move, each as likely as the others."""
    moves = game.legal_moves
    return moves[int(rng.random() * len(moves))]


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
    while game.outcome is None:
        move = random_move(game, rng)
        recorder.add(game, move)
        game.apply(move)
    return recorder.record(game)


def movers_rng(seed: int) -> random.Random:
    """Return the randomness of the movers in the game with this deal seed, apart from the deal's own."""
    return random.Random(f"happycity movers {seed}")
