"""Policies that play a game to its end, by name, for the playouts of a search; and games of random movers."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from happycity.playout.quick import quick_move
from happycity.records.record import Json, Recorder
from happycity.rules.deals import Deal
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome

Policy = Callable[[Game, random.Random], Move]
"""Chooses one of a game's legal moves, of which there are two or more, by nothing that a view would hide."""


def play_to_end(game: Game, policy: Policy, rng: random.Random) -> Outcome:
    """Play `game` to its end, all seats by `policy`, and return the outcome."""
    apply = game.apply
    while game.outcome is None:
        apply(policy(game, rng))
    return game.outcome


def random_move(game: Game, rng: random.Random) -> Move:
    """Return any legal move, each as likely as the others."""
    moves = game.legal_moves
    return moves[int(rng.random() * len(moves))]


POLICIES: Mapping[str, Policy] = {"quick": lambda game, rng: quick_move(game), "random": random_move}


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
